#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Threads that have ended and that nobody has joined: their stacks stay with the process.
# bats file_tags=beside

load lib.bash

setup_file() {
	[[ $(uname -m) == x86_64 ]] || skip 'ended threads are known on x86-64'
}

# "lose N" begins N threads that nobody can join, by reconnect(); "keep N" N more, by pool(), whose pthread_t is in a table; "join" joins these;
# "other" begins and ends threads as they should be. Each answers when the threads have ended.
build_threads() {
	cat >"$D/threads.c" <<-'EOF2'
		#include <dirent.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>
		#define NOINLINE __attribute__((noinline, noclone))
		static pthread_t table[64];
		static int kept;
		static void *session(void *a)
		{
			volatile char stack[20000];

			for (size_t i = 0; i < sizeof(stack); i++)
				stack[i] = 1;
			return a;
		}
		static NOINLINE void reconnect(void)
		{
			pthread_t t;

			pthread_create(&t, NULL, session, NULL);
			*(volatile pthread_t *)&t = 0;
		}
		static NOINLINE void pool(void) { pthread_create(&table[kept++], NULL, session, NULL); __asm__ volatile(""); }
		static NOINLINE void others(void)
		{
			pthread_t t[2];

			pthread_create(&t[0], NULL, session, NULL);
			pthread_create(&t[1], NULL, session, NULL);
			pthread_detach(t[0]);
			pthread_join(t[1], NULL);
			memset((void *)(volatile pthread_t *)t, 0, sizeof(t));
		}
		static NOINLINE void scrub(void)
		{
			volatile char stack[65536];

			for (size_t i = 0; i < sizeof(stack); i++)
				stack[i] = 0;
		}
		static NOINLINE int threads(void)
		{
			DIR *d = opendir("/proc/self/task");
			int n = 0;

			while (readdir(d))
				n++;
			closedir(d);
			return n - 2;
		}
		int main(void)
		{
			char line[64], what[16];

			printf("ready %d\n", (int)getpid());
			fflush(stdout);
			while (fgets(line, sizeof(line), stdin)) {
				int n = 1;

				sscanf(line, "%15s %d", what, &n);
				for (int i = 0; i < n; i++) {
					if (!strcmp(what, "lose"))
						reconnect();
					else if (!strcmp(what, "keep"))
						pool();
					else if (!strcmp(what, "join"))
						pthread_join(table[--kept], NULL);
					else
						others();
				}
				while (threads() > 1)
					usleep(1000);
				scrub();
				printf("{\"phase\":\"%s\",\n", strtok(line, "\n"));
				fflush(stdout);
			}
			return 0;
		}
	EOF2
	gcc -g -O1 -pthread "$D/threads.c" -o "$D/threads"
}

# resident: of the mappings that are stacks of 8 MiB, what the kernel says.
resident() {
	awk '/^Size:/ { size = $2 } /^Rss:/ && size == 8192 { sum += $2 } END { print 1024 * sum }' "/proc/$T_PID/smaps"
}

unjoined() {
	jq -c '[.stacks[] | select(any(.frames[]; .function == "'"$1"'")) | .unjoined_threads] | map(select(.))' <<<"$SNAP"
}

@test "addresses that nobody uses any more are told without a verdict" {
	build_threads
	start_target "$D/threads"
	attach
	tell other
	snap
	[[ $(field '.address_space_growth_bytes // 0' "$SNAP") == 0 ]] || fail "$SNAP"
	tell 'lose 20'
	snap
	[[ $(field '.address_space_growth_bytes >= 167772160 and .resident_growth_bytes * 8 <= .address_space_growth_bytes' "$SNAP") == true ]] ||
		fail "$(field '"\(.address_space_growth_bytes) \(.resident_growth_bytes)"' "$SNAP")"
	stop_tool
	"$TOOL" -p "$T_PID" -o "$D/text" 3>&- 2>"$D/text.err" &
	PIDS+=("$!")
	until_true "$DEADLINE" grep -q 'attached to' "$D/text.err" || fail "$(<"$D/text.err")"
	tell 'lose 9'
	kill -INT "${PIDS[-1]}"
	wait "${PIDS[-1]}" || fail "status $?"
	grep -q '^\* its addresses (VmSize) grew by .* MiB, what it has in memory by .*: stacks of threads that nobody joined (--verdict tells)' "$D/text" ||
		fail "$(<"$D/text")"
	exec {T_IN}>&-
}

@test "threads that ended and cannot be joined any more: their number, creator and stacks" {
	local found

	build_threads
	start_target "$D/threads"
	attach --verdict --error-exitcode 9
	tell 'lose 20'
	found=$(resident)
	tell 'keep 3'
	tell other
	snap
	[[ $(unjoined reconnect) == '[{"count":20,"stack_bytes":167772160,"resident_bytes":'"$found"',"held":0}]' ]] ||
		fail "reconnect: $(unjoined reconnect), resident $found"
	[[ $(jq -c '[.stacks[] | select(.unjoined_threads.held == 0) | .verdict.definite.count]' <<<"$SNAP") == '[20]' ]] || fail 'their blocks are not lost'
	[[ $(unjoined others) == '[]' ]] || fail "others: $(unjoined others)"
	[[ $(field '.verdict.unjoined_threads | "\(.count) \(.held)"' "$SNAP") == '23 3' ]] || fail "in all: $(field .verdict "$SNAP")"
	"$TOOL" inspect -p "$T_PID" --max-pause 1m >"$D/inspection"
	grep -q '^  23 threads have ended and were not joined: 184.0 MiB of stacks (.* of it in memory); the program still has the pthread_t of 3$' "$D/inspection" ||
		fail "$(<"$D/inspection")"
	exec {T_IN}>&-
	tool_ends
	[[ $TOOL_STATUS -eq 9 ]] || fail "status $TOOL_STATUS"
}

@test "threads that are joined later are no leak" {
	build_threads
	start_target "$D/threads"
	attach --verdict --error-exitcode 9
	tell other
	tell 'keep 5'
	snap
	[[ $(field '.verdict.unjoined_threads | "\(.count) \(.held)"' "$SNAP") == '5 5' ]] || fail "before: $(field .verdict "$SNAP")"
	[[ $(field .verdict.definite.count "$SNAP") == 0 ]] || fail "lost: $(field .verdict "$SNAP")"
	tell 'join 5'
	snap
	[[ $(field .verdict.unjoined_threads "$SNAP") == null ]] || fail "after: $(field .verdict "$SNAP")"
	exec {T_IN}>&-
	tool_ends
	[[ $TOOL_STATUS -eq 0 ]] || fail "status $TOOL_STATUS"
}

@test "a recording has threads that were not joined" {
	build_threads
	start_target "$D/threads"
	"$TOOL" record --verdict --max-pause 1m -o "$D/file" -p "$T_PID" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	attached "$T_PID"
	tell 'lose 4'
	exec {T_IN}>&-
	wait "$TOOL_PID"
	"$TOOL" report -f json "$D/file" >"$D/report"
	SNAP=$(tail -n 1 "$D/report")
	[[ $(unjoined reconnect | jq -c 'map([.count, .stack_bytes, .held])') == '[[4,33554432,0]]' ]] || fail "$SNAP"
	[[ $(field .verdict.unjoined_threads.count "$SNAP") == 4 ]] || fail "$SNAP"
	"$TOOL" report "$D/file" | grep -q '^ *4 threads have ended and were not joined: 32.0 MiB of stacks (' || fail "$("$TOOL" report "$D/file")"
}
