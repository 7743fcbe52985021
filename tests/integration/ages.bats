#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The age of the oldest block: of every target of a round, and where it is left out it is said.
# bats file_tags=beside

load lib.bash

# Two processes with N live blocks, in FIFOs 1 and 2.
start_holders() { # N
	cat >"$D/holds.c" <<-'EOF'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		static void *volatile last;
		int main(int argc, char **argv)
		{
			printf("ready %d\n", (int)getpid());
			fflush(stdout);
			getchar();
			for (int i = 0; i < atoi(argv[argc - 1]); i++)
				last = malloc(40);
			printf("{\"phase\":\"go\",\n");
			fflush(stdout);
			pause();
		}
	EOF
	gcc -g -O1 "$D/holds.c" -o "$D/holds"
	start_target "$D/holds" "$1"
}

@test "each target of a round has the ages of its blocks" {
	local first first_in first_out

	start_holders 1000
	first=$T_PID first_in=$T_IN first_out=$T_OUT
	rm "$D/in" "$D/out"
	mkfifo "$D/in" "$D/out"
	start_target "$D/holds" 1000
	start_tool -p "$first,$T_PID"
	attached "$first"
	attached "$T_PID"
	echo go >&"$first_in"
	tell go
	IFS= read -r -t "$DEADLINE" -u "$first_out" LINE
	for round in 1 2 3; do
		for pid in "$first" "$T_PID"; do
			if [[ $pid == "$first" ]]; then
				snap "$pid"
			else
				# Of the same round.
				json_line
				SNAP=$LINE
				[[ $(field .pid "$SNAP") == "$pid" ]] || fail "a snapshot of another: $(field .pid "$SNAP")"
			fi
			[[ $(field '[.stacks[] | select(.live.count > 0 and (.oldest_ms | type) != "number")] | length' "$SNAP") == 0 ]] ||
				fail "round $round, $pid: $(jq -c '[.ages_unread_blocks, [.stacks[].oldest_ms]]' <<<"$SNAP")"
		done
	done
}

@test "too many blocks for ages: the report says so, and --older looks all the same" {
	start_holders 300000
	attach
	tell go
	snap
	[[ $(field .ages_unread_blocks "$SNAP") -ge 300000 ]] || fail "ages_unread_blocks: $(field .ages_unread_blocks "$SNAP")"
	[[ $(field '[.stacks[] | select(.oldest_ms)] | length' "$SNAP") == 0 ]] || fail 'an age that nobody has read'
	stop_tool
	attach --older 1s
	snap
	[[ $(field 'has("ages_unread_blocks")' "$SNAP") == false ]] || fail 'with --older all are looked at'
}
