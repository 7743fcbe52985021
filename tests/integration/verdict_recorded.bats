#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What holds a block, contents of lost blocks and bad frees: two tools watch the same process, one of which records. The recording says the same as the other.
# bats file_tags=beside

load lib.bash
load recording.bash

# A list that gets longer, blocks that are lost, each with its number in it, and blocks that are freed twice and in their middle.
build_program() {
	cat >"$D/program.c" <<-'EOF'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>
		static struct node { struct node *next; char *text; } *volatile list;
		static char *volatile cache;
		static void *volatile freed;
		static void extend(void)
		{
			struct node *node = malloc(sizeof(*node));

			node->next = list;
			node->text = NULL;
			list = node;
		}
		static void lose(int number)
		{
			char *volatile block = malloc(100);

			memset(block, 0, 100);
			snprintf(block, 100, "letter number %d", number);
			block = NULL;
		}
		static void fill(void) { free(cache), cache = malloc(5000); }
		static void put(void *p) { free(p); }
		static void put_again(void *p) { free(p); }
		static void put_inside(char *p) { free(p + 8); }
		static void step(int number)
		{
			for (int i = 0; i < 9; i++)
				extend();
			lose(number);
			fill();
			freed = malloc(40);
			put(freed), put_again(freed);
			if (number == 2)
				put_inside(cache);
			freed = NULL;
		}
		int main(void)
		{
			char line[64];

			printf("ready %d\n", (int)getpid());
			fflush(stdout);
			for (int number = 1; fgets(line, sizeof(line), stdin); number++) {
				line[strcspn(line, "\n")] = 0;
				if (!strcmp(line, "go"))
					step(number);
				printf("{\"phase\":\"%s\",\n", line);
				fflush(stdout);
			}
			return 0;
		}
	EOF
	gcc -g -O1 -fno-inline -fno-builtin "$D/program.c" -o "$D/program"
}

# snapped LINES FILE: has the live tool written so many?
snapped() {
	[[ $(wc -l <"$2") -ge $1 ]]
}

# What is compared, without what two watchers see differently: times, the ids of stacks, the order of stacks of which as much is live,
# and how many blocks of a list lead to the youngest one, as their clocks may call different ones the youngest.
compared() {
	jq -S 'def each_once: reduce (.[] | select(test("^… [0-9]+ more blocks …$") | not)) as $step
			([]; if .[-1] == $step then . else . + [$step] end);
		select(.pid == $pid) | {final, bad_frees, verdict: (.verdict | del(.pause_ms, .total_ms, .read_bytes, .unknown_bytes)),
		stacks: [.stacks[] | {frames, verdict, held_by: (.held_by | values |= each_once), contents}] | sort_by(tostring)}' --argjson pid "$T_PID" "$1"
}

watched_twice() {
	local n live

	build_program
	# It never takes a block back, and survives.
	T_ENV=(LD_PRELOAD="$TARGETS/noop_free.so")
	start_target "$D/program"
	tool_into "$D/live" -f json -T 1000 "$@" --max-pause 1m
	live=$TOOL_PID
	tool_into "$D/rec" record "$@" --max-pause 1m
	for n in 1 2 3; do
		tell go
		kill -USR1 "$live"
		until_true "$DEADLINE" snapped "$n" "$D/live" || fail "no snapshot number $n"
		kill -USR1 "$TOOL_PID"
		until_true "$DEADLINE" recorded "$n" || fail "no snapshot number $n in the recording"
	done
	tool_stops
	TOOL_PID=$live
	tool_stops
	report "$D/rec" -f json -T 1000
	echo "$REPORT" >"$D/reported"
	compared "$D/live" >"$D/live.compared"
	compared "$D/reported" >"$D/reported.compared"
	diff -u "$D/live.compared" "$D/reported.compared" >&2 || fail 'they differ'
	echo >&"$T_IN"
}

# snapshot NUMBER FILTER: does it hold of what the recording says?
says() {
	sed -n "$1p" "$D/reported" | jq -e "$2" >/dev/null || fail "snapshot $1: not $2: $(sed -n "$1p" "$D/reported" | cut -c1-4000)"
}

@test "held_by, contents and bad frees: as while tracing, snapshot by snapshot" {
	watched_twice --verdict --contents 32 --check-frees
	# And they are what the program has done.
	# Which of the nine is the youngest the clock's ticks decide.
	says 3 '.stacks[] | select(.frames[1].function == "extend") | .held_by[0] == "list (program)" and (.held_by | length > 1)
		and all(.held_by[1:][]; . == "a block of 16 B from extend" or test("^… ([2-9]|[0-9]{2,}) more blocks …$"))'
	says 1 '.stacks[] | select(.frames[1].function == "fill") | .held_by == ["cache (program)"]'
	says 1 '.stacks[] | select(.frames[1].function == "lose") | .contents == "6c6574746572206e756d6265722031" + "00" * 17'
	says 3 '.stacks[] | select(.frames[1].function == "lose") | .contents | startswith("6c6574746572206e756d62657220")'
	says 1 '[.bad_frees[] | [.kind, .count, .free[1].function]] == [["double_free", 1, "put_again"]]'
	says 3 '[.bad_frees[] | [.kind, .count, .free[1].function]] == [["double_free", 3, "put_again"], ["inside_block", 1, "put_inside"]]'
	# The text has them where that of a living process has.
	report "$D/rec" -v
	[[ $REPORT == *'held by list (program)'* && $REPORT == *'contents 6c 65 74 74'* && $REPORT == *'bad    double free, 3 times'* ]] || fail "$REPORT"
	# A suppression for them is the report's.
	printf '{\n  the second\n  Memcheck:Free\n  ...\n  fun:put_again\n}\n' >"$D/supp"
	REPORT=$("$TOOL" report "$D/rec" --suppressions "$D/supp" 2>"$D/report.err") || fail "$(<"$D/report.err")"
	[[ $REPORT == *'suppressed: 3 bad frees'* && $REPORT != *'double free'* ]] || fail "$REPORT"
}

@test "a recording has no parts that nobody asked for" {
	watched_twice --verdict
	says 3 'has("bad_frees") | not'
	says 3 'all(.stacks[]; has("contents") | not)'
	report "$D/rec"
	[[ $REPORT != *letter* ]] || fail 'contents'
	! grep -aq letter "$D/rec" || fail 'private data in the file'
	! grep -aq put_again "$D/rec" || fail 'bad frees in the file'
}
