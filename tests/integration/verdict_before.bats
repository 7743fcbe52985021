#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Blocks from before the attach in verdicts: judged as the others are, and no roots that hide leaks.
# bats file_tags=beside

load lib.bash

# late PROGRAM: it has done everything before the tool comes, and says what of it is lost. How large blocks were asked for is not known of any.
late() {
	local expected

	start_target "$TARGETS/$1"
	tell all
	expected=$TRUTH
	attach --verdict
	snap
	jq -e --argjson truth "$expected" '
		def sum($class): [$truth.verdict[][$class].count] | add;
		.verdict.before_attach as $before
		| $before.definite.count == sum("definite") and $before.indirect.count == sum("indirect")
		and $before.possible.count >= sum("possible") and $before.possible.count < sum("possible") + 8
		and $before.reachable.count >= sum("reachable")' <<<"$SNAP" >/dev/null ||
		fail "$1: $(jq -c .verdict <<<"$SNAP"), in truth $(jq -c '.verdict | with_entries(.value |= map_values(.count))' <<<"$expected")"
	end_target
	tool_ends
	clean
}

@test "blocks lost before the attach are found as if the tool had watched" {
	local program

	for program in verdict_roots verdict_threads verdict_dl verdict_cxx; do
		fresh
		late "$program"
		fresh
		late "$program.nofp"
	done
}

# A table from before, which is filled while we watch, and then nothing holds the table.
build_table() {
	cat >"$D/table.c" <<-'EOF'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>
		static void **volatile lost, **volatile kept;
		__attribute__((noipa)) static void *into_lost(void) { return malloc(1000); }
		__attribute__((noipa)) static void *into_kept(void) { return malloc(1000); }
		__attribute__((noipa)) static void fill(void)
		{
			for (int i = 0; i < 60; i++) {
				lost[i] = into_lost();
				kept[i] = into_kept();
			}
			lost = NULL;
		}
		__attribute__((noipa)) static void scrub(void)
		{
			volatile char stack[65536];

			for (size_t i = 0; i < sizeof(stack); i++)
				stack[i] = 0;
		}
		int main(void)
		{
			char line[64];

			lost = calloc(64, sizeof(void *));
			kept = calloc(64, sizeof(void *));
			printf("ready %d\n", (int)getpid());
			fflush(stdout);
			fgets(line, sizeof(line), stdin);
			fill();
			scrub();
			printf("{\"phase\":\"go\",\n");
			fflush(stdout);
			return !fgets(line, sizeof(line), stdin);
		}
	EOF
	gcc -g -O1 "$D/table.c" -o "$D/table"
}

# bats test_tags=quick
@test "a block held only by an earlier lost block is lost; one held by a held block names it" {
	build_table
	start_target "$D/table"
	attach --verdict
	tell go
	snap
	holds '[.stacks[] | select(.frames[].function == "into_lost") | .verdict.indirect.count] == [60]'
	holds '[.stacks[] | select(.frames[].function == "into_kept") | .verdict.reachable.count] == [60]'
	holds '.verdict.before_attach.definite == {"bytes": 520, "count": 1}'
	holds '[.stacks[] | select(.frames[].function == "into_kept") | .held_by] == [["kept (table)", "a block of 520 B from before the attach"]]'
	holds '.verdict.unknown_bytes < 65536'
	echo >&"$T_IN"
	tool_ends
	clean
}

@test "CPython: a cycle that only the collector's list leads to is possibly lost, in verdicts as in inspections" {
	local count

	need /usr/bin/python3
	cat >"$D/cycles.py" <<-'EOF2'
		import gc, os, sys

		gc.disable()
		class Node:
		    def __init__(self):
		        self.me = self
		        self.data = bytearray(3000)
		kept = []
		print("ready", os.getpid(), flush=True)
		for line in sys.stdin:
		    for i in range(1000):
		        Node()
		    for i in range(100):
		        kept.append(bytearray(4000))
		    print('{"phase":"%s",' % line.strip(), flush=True)
	EOF2
	start_target /usr/bin/python3 "$D/cycles.py"
	attach --verdict --max-pause 1m
	tell go
	snap
	# Registers and stale words of the stack may still have some.
	count=$(jq '[.stacks[] | select(.live.count > 0 and .live.bytes / .live.count > 2900 and .live.bytes / .live.count < 3100) | .verdict.possible.count] | add' <<<"$SNAP")
	[[ $count -ge 990 ]] || fail "$count of 1000 cycles: $(jq -c .verdict <<<"$SNAP")"
	count=$(jq '[.stacks[] | select(.live.count > 0 and .live.bytes / .live.count > 3900 and .live.bytes / .live.count < 4100) | .verdict.reachable.count] | add' <<<"$SNAP")
	[[ $count -ge 100 ]] || fail "$count of 100 that are held: $(jq -c .verdict <<<"$SNAP")"
	stop_tool
	"$TOOL" inspect -p "$T_PID" -f json --max-pause 1m >"$D/inspection"
	[[ $(jq .verdict.possible.count "$D/inspection") -ge 1980 ]] || fail "an inspection: $(jq -c .verdict "$D/inspection")"
}
