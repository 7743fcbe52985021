#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Memory that comes through no traced function: where nothing was seen there is no all-clear. What an allocator keeps of freed blocks is seen.

load lib.bash

# "pool N": N MiB of mappings of its own, which it cuts up itself. "kept N": N MiB of small blocks, all freed but the last, so that malloc keeps them. "arena N": the
# same by another thread. "blocks N": N MiB of live blocks.
build_grower() {
	cat >"$D/grower.c" <<-'EOF'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		static void *volatile last;
		static void *keep(void *mib)
		{
			size_t n = (size_t)mib * 1024;
			char **v = malloc(n * sizeof(*v));

			for (size_t i = 0; i < n; i++)
				v[i] = memset(malloc(1000), 1, 1000);
			last = malloc(1000);
			for (size_t i = 0; i < n; i++)
				free(v[i]);
			free(v);
			return NULL;
		}
		static void obey(const char *what, size_t mib)
		{
			pthread_t thread;

			if (!strcmp(what, "pool"))
				memset(mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, mib << 20);
			else if (!strcmp(what, "kept"))
				keep((void *)mib);
			else if (!strcmp(what, "arena") && !pthread_create(&thread, NULL, keep, (void *)mib))
				pthread_join(thread, NULL);
			else if (!strcmp(what, "blocks"))
				for (size_t i = 0; i < mib * 16; i++)
					last = memset(malloc(65536), 1, 65536);
		}
		int main(int argc, char **argv)
		{
			char line[64], what[16];
			size_t mib;

			setvbuf(stdout, NULL, _IOLBF, 0);
			if (argc > 2) {
				obey(argv[1], atoi(argv[2]));
				_exit(0);
			}
			printf("ready %d\n", (int)getpid());
			while (fgets(line, sizeof(line), stdin) && sscanf(line, "%15s %zu", what, &mib) == 2) {
				obey(what, mib);
				printf("{\"phase\":\"%s %zu\",\n", what, mib);
			}
			return 0;
		}
	EOF
	gcc -g -O1 -pthread "$D/grower.c" -o "$D/grower"
}

# grown LEAST MOST: what the snapshot says of it, in MiB; 0 0: nothing.
grown() {
	local mib

	mib=$(jq '(.untraced_growth_bytes // 0) / 1048576 | floor' <<<"$SNAP")
	[[ $mib -ge $1 && $mib -le $2 ]] || fail "untraced growth of $mib MiB, not $1 to $2: $(jq -c 'del(.stacks)' <<<"$SNAP")"
}

@test "a program's own mappings are growth beside the live blocks" {
	build_grower
	start_target "$D/grower"
	attach
	snap
	grown 0 0
	tell 'pool 32'
	snap
	grown 32 33
	[[ $(field '.grown_mappings[0]' "$SNAP") == '32.'*' MiB in new anonymous memory'* ]] || fail "$(field '.grown_mappings' "$SNAP")"
	tell 'blocks 8'
	snap
	grown 32 33
}

@test "freed memory that malloc keeps is no growth beside the live blocks" {
	build_grower
	start_target "$D/grower"
	attach
	tell 'blocks 40'
	tell 'kept 40'
	tell 'arena 40'
	snap
	[[ $(field '.live.bytes > 40 * 1048576' "$SNAP") == true ]] || fail 'blocks are missing'
	# It is there, and would be called untraced if only live blocks were looked at.
	[[ $(awk '/^RssAnon/ { print int($2 / 1024) }' "/proc/$T_PID/status") -ge 110 ]] || fail 'malloc has kept nothing'
	grown 0 0
	# All that was ever allocated is more than that by now: what tells is that malloc leaves nothing there.
	tell 'pool 96'
	snap
	grown 170 190
	[[ $(field '.grown_mappings | map(select(test("new anonymous memory|\\[heap\\]|arenas"))) | length' "$SNAP") == 3 ]] ||
		fail "$(field '.grown_mappings' "$SNAP")"
}

@test "with --mmap a program's own mappings are blocks" {
	build_grower
	start_target "$D/grower"
	attach --mmap
	tell 'pool 32'
	snap
	grown 0 0
	[[ $(field '.live.bytes' "$SNAP") == 33554432 ]] || fail "live: $(field .live "$SNAP")"
}

@test "a recording's report has the growth, too" {
	build_grower
	"$TOOL" record -i 1h -o "$D/grown.mlb" --verdict --max-pause 1m -- "$D/grower" pool 24 2>"$D/tool.err"
	"$TOOL" report "$D/grown.mlb" >"$D/report"
	grep -q '^no live allocations since attach$' "$D/report" || fail "$(<"$D/report")"
	grep -Eq '^\* its memory grew by 24\.[0-9] MiB since the attach, 24\.[0-9] MiB of it no live blocks' "$D/report" || fail "$(<"$D/report")"
	grep -Eq '^       24\.[0-9] MiB in new anonymous memory' "$D/report" || fail "$(<"$D/report")"
	SNAP=$("$TOOL" report -f json "$D/grown.mlb" | tail -n 1)
	grown 24 25
}

@test "--error-exitcode: without a leak, a line says that more memory has come than was traced" {
	build_grower
	"$TOOL" -i 1h --verdict --max-pause 1m --error-exitcode 7 -- "$D/grower" pool 24 >"$D/report" 2>"$D/tool.err" || fail "status $?"
	grep -q 'no leak was found in what is traced, but more memory' "$D/tool.err" || fail 'nothing is said of the rest'
	"$TOOL" -i 1h --verdict --max-pause 1m --error-exitcode 7 -- "$D/grower" pool 1 >"$D/report" 2>"$D/tool.err" || fail "status $?"
	! grep -q 'no leak was found' "$D/tool.err" || fail 'a few pages are made much of'
}

@test "a process that has ended has its growth, where the kernel tells" {
	build_grower
	[[ $(uname -r | awk -F. '{ print $1 * 1000 + $2 }') -ge 6016 ]] || skip 'the kernel has given its memory back by then'
	"$TOOL" -i 1h -f json -- "$D/grower" pool 24 >"$D/report" 2>"$D/tool.err"
	SNAP=$(tail -n 1 "$D/report")
	grown 24 25
}

# heap_of RUNTIME: bytes of it, as the last snapshot has them; "unknown": it says that it is there.
heap_of() {
	field "[.untraced_heaps[]? | select(.runtime == \"$1\") | .bytes // \"unknown\"][0]" "$SNAP"
}

# heap_reaches RUNTIME BYTES: in some snapshot. For a while they say what an earlier look has found.
heap_reaches() {
	local end=$((SECONDS + DEADLINE))

	until
		snap
		[[ $(heap_of "$1") -ge $2 ]]
	do
		[[ $SECONDS -lt $end ]] || fail "not $2 bytes of $1: $(field .untraced_heaps "$SNAP")"
	done
}

# Bytes of the target's anonymous memory.
anonymous() {
	awk '/^RssAnon|^VmSwap/ { sum += $2 } END { print sum * 1024 }' "/proc/$T_PID/status"
}

@test "Java: a line says that its own heap is untraced, and how large" {
	need javac
	cat >"$D/Heap.java" <<-'EOF'
		public class Heap {
			static byte[][] held = new byte[50][];

			public static void main(String[] arguments) throws Exception {
				System.out.println("ready " + ProcessHandle.current().pid());
				System.in.read();
				for (int i = 0; i < held.length; i++) {
					held[i] = new byte[1 << 20];
					java.util.Arrays.fill(held[i], (byte)1);
				}
				System.out.println("{\"phase\":\"held\",");
				while (System.in.read() >= 0)
					;
			}
		}
	EOF
	javac -d "$D" "$D/Heap.java"
	start_target java -Xmx256m -cp "$D" Heap
	attach
	snap
	[[ $(heap_of java) -gt 0 && $(heap_of java) -lt $((50 << 20)) ]] || fail "at first: $(field .untraced_heaps "$SNAP")"
	echo >&"$T_IN"
	truth held
	heap_reaches java $((50 << 20))
	[[ $(heap_of java) -le $(anonymous) ]] || fail "$(field .untraced_heaps "$SNAP"), $(anonymous) in all"
}

@test "Node: V8's own heap has the size that process.memoryUsage() gives" {
	need "${NODE:-node}"
	cat >"$D/heap.js" <<-'EOF'
		const held = [];
		for (let i = 0; i < 200000; i++)
			held.push({i, name: 'n' + i});
		console.log('ready ' + process.pid);
		process.stdin.on('data', () => console.log(JSON.stringify({phase: 'now', ...process.memoryUsage(), held: held.length})));
	EOF
	start_target "${NODE:-node}" "$D/heap.js"
	attach
	tell now
	snap
	# What is used is there; of the rest some has never been touched. A collection may come in between.
	jq -en --argjson said "$TRUTH" --argjson seen "$(heap_of v8)" '$seen > $said.heapUsed * 0.7 and $seen < $said.heapTotal * 1.3' >/dev/null || fail "$(heap_of v8), not $TRUTH"
}

@test "a verdict keeps the size that was read for a heap" {
	need "${NODE:-node}"
	start_target "${NODE:-node}" -e "console.log('ready ' + process.pid); process.stdin.resume()"
	attach --verdict
	snap
	[[ $(field '.verdict | has("definite")' "$SNAP") == true ]] || fail "no verdict: $(field .verdict "$SNAP")"
	[[ $(heap_of v8) -gt 1000000 ]] || fail "$(field .untraced_heaps "$SNAP")"
}

@test "Go: its own heap has the size of its arenas, as the kernel counts" {
	local there

	[[ -x $TARGETS/leak_go ]] || skip 'no go to build with'
	start_target "$TARGETS/leak_go"
	attach
	snap
	# 64 MiB at 0xc000000000 (aarch64: 0x4000000000), in KiB.
	there=$(awk '/^[0-9a-f]+-/ { arena = /^(c|4)0[0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f][0-9a-f]-/ && $2 ~ /^rw/ } arena && /^(Rss|Swap):/ { sum += $2 } END { print sum * 1024 }' "/proc/$T_PID/smaps")
	[[ $there -gt 0 && $(heap_of go) -gt $((there - (1 << 20))) && $(heap_of go) -lt $((there + (1 << 20))) ]] || fail "$(heap_of go), not $there"
}

@test "--error-exitcode and a recording's report: a heap that is not traced is no all-clear" {
	local status=0

	[[ -x $TARGETS/leak_go ]] || skip 'no go to build with'
	# It ends by a system call of its own: there is no verdict, for which the status is 1.
	"$TOOL" record -i 1h -o "$D/go.mlb" --verdict --error-exitcode 7 -- "$TARGETS/leak_go" </dev/null >"$D/said" 2>"$D/tool.err" || status=$?
	[[ $status -eq 1 ]] || fail "status $status"
	grep -q "no leak was found in what is traced; a runtime's own heap is not" "$D/tool.err" || fail 'nothing is said of the heap'
	"$TOOL" report "$D/go.mlb" >"$D/report"
	grep -q "^\* Go's own heap is not traced, and what leaks there not seen: " "$D/report" || fail "$(head -n 5 "$D/report")"
	SNAP=$("$TOOL" report -f json "$D/go.mlb" | tail -n 1)
	[[ $(heap_of go) != null ]] || fail "$(field .untraced_heaps "$SNAP")"
}

@test "valgrind and its program are left alone, and a line says so" {
	need valgrind
	start_target valgrind -q "$TARGETS/figures"
	run_tool -p "$T_PID"
	[[ $STATUS -eq 1 && $ERR == *"process $T_PID (memcheck-"*") runs under valgrind, and is not traced"* ]] || fail "$STATUS $ERR"
	tell 'all 20'
	end_target
	# One that becomes it, with probes from before.
	run_tool -- sh -c "valgrind -q '$TARGETS/figures' 'all 20' && echo is well"
	[[ $STATUS -eq 0 && $OUT == *'is well'* && $ERR == *') runs under valgrind, and is not traced'* ]] || fail "$STATUS $OUT $ERR"
}

# It is found behind an environment that is larger than a megabyte; and held children that become it go on.
@test "valgrind: with a large environment, as a held child, and in a survey" {
	local word i

	need valgrind
	printf -v word '%*s' 100000 ''
	(
		for i in {1..12}; do export "LARGE$i=${word// /x}"; done
		exec valgrind -q "$TARGETS/figures" <"$D/in" >"$D/out" 3>&-
	) &
	PIDS+=("$!")
	T_PID=$!
	exec {T_IN}>"$D/in" {T_OUT}<"$D/out"
	target_line 'ready '
	run_tool -p "$T_PID"
	[[ $STATUS -eq 1 && $ERR == *"process $T_PID (memcheck-"*") runs under valgrind, and is not traced"* ]] || fail "$STATUS $ERR"
	need_gate
	# It is looked at once.
	run_tool survey -f json -n 1 --gate --keep comm=memcheck-amd64- --no-drill
	[[ $STATUS -eq 0 ]] || fail "$STATUS $ERR"
	jq -e --argjson pid "$T_PID" 'first(.processes[] | select(.pid == $pid)).kept.reason == "it runs under valgrind, or is a 32-bit or foreign program"' "$D/run.out" || fail "$(<"$D/run.out")"
	tell 'all 20'
	end_target
	need_hold
	run_tool --children exact -- sh -c "valgrind -q '$TARGETS/figures' 'all 20' && echo is well; true"
	[[ $STATUS -eq 0 && $OUT == *'is well'* && $ERR == *') runs under valgrind, and is not traced'* ]] || fail "$STATUS $OUT $ERR"
}

# Programs of valgrind's users, at fixed addresses, with a loader and without.
@test "a program with valgrind's variable that is no valgrind is traced" {
	local how

	for how in '' -static; do
		fresh
		build_grower
		gcc -g -O1 -pthread -no-pie $how "$D/grower.c" -o "$D/fixed"
		T_ENV=(VALGRIND_LAUNCHER=/usr/bin/valgrind.bin)
		start_target "$D/fixed"
		attach
		tell 'blocks 2'
		snap
		[[ $(field '.live.bytes' "$SNAP") == 2097152 ]] || fail "$how: $(field .live "$SNAP")"
		clean
	done
}
