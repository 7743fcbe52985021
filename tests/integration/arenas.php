<?php
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// A target of arenas.bats: keeps strings, which PHP has in chunks of its own, and says how much it has mapped for them.

$held = [];
$arrays = [];

function keep(int $count): void
{
	global $held;

	for ($i = 0; $i < $count; $i++)
		$held[] = str_repeat('x', 1000) . $i;
}

printf("ready %d\n", getmypid());
while (($line = fgets(STDIN)) !== false) {
	$command = trim($line);
	if ($command == 'grow') {
		keep(20000);
	} elseif ($command == 'huge') {
		// A mapping of its own, which has to begin at a multiple of 2 MiB: what is too much is cut off.
		for ($i = 0; $i < 4; $i++)
			$held[] = str_repeat('y', 5000000);
	} elseif ($command == 'huge-arrays') {
		// Two, so that the first is not the thread's latest mapping when it changes its size.
		for ($i = 0; $i < 2; $i++)
			$arrays[] = new SplFixedArray(300000);
	} elseif ($command == 'append' || $command == 'shrink' || $command == 'outgrow') {
		// Where they are: what lies behind a mapping up to the next multiple of 2 MiB is free.
		foreach ($arrays as $array)
			$array->setSize(['append' => 330000, 'shrink' => 280000, 'outgrow' => 900000][$command]);
	} elseif ($command == 'drop') {
		$arrays = [];
		$held = [];
		gc_mem_caches();
	}
	printf("{\"phase\":\"%s\",\"mapped\":%d}\n", $command, memory_get_usage(true));
	if ($command == 'quit')
		break;
}
