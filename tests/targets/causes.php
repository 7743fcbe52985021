<?php
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
// As causes.c, of PHP. It ends by a signal: at its exit PHP frees what it has.
ini_set('memory_limit', '1G');
$cache = [];

function remember($i)
{
	global $cache;
	$cache[$i] = str_repeat('x', 3000000); // cause: map
}

for ($i = 0; $i < 40; $i++)
	remember($i);
posix_kill(posix_getpid(), 9);
