#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# inspect: programs that nobody has watched. What they say of themselves (tests/targets/verdict.h) is compared with what is found in their
# memory: how many blocks of each class have come between two looks.
# bats file_tags=beside

load lib.bash

# look [OPTION…]: LOOK, one inspection of T_PID as JSON.
look() {
	run_tool inspect -p "$T_PID" -f json -T 1000000 "$@"
	[[ $STATUS -eq 0 ]] || fail "status $STATUS: $ERR"
	LOOK=$OUT
}

# adds_up PERCENT: the parts of the memory are what the kernel says, but for so much.
adds_up() {
	holds '.memory | (.rss_anon_bytes + .swap_bytes) as $all
		| ([.slack_bytes, .allocator_free_bytes, .allocator_books_bytes, .unbelieved_bytes, .stacks_bytes,
			.other_anonymous_bytes, .file_private_bytes, .in_use.bytes] | add) as $known
		| ($known - $all | if . < 0 then -. else . end) * 100 <= $all * '"$1" "$LOOK"
}

# come CLASS: how many blocks of that class there are more in LOOK than in BEFORE.
come() {
	jq -n --argjson now "$LOOK" --argjson before "$BEFORE" '$now.verdict.'"$1"'.count - $before.verdict.'"$1"'.count'
}

told() {
	jq "[.verdict[].$1.count] | add" <<<"$TRUTH"
}

# agrees PROGRAM COMMAND [CLASS…]: that many blocks of these classes have come as the program says; all four without.
agrees() {
	local class classes=("${@:3}")

	[[ ${#classes[@]} -gt 0 ]] || classes=(definite indirect possible reachable)
	high "$1"
	start_target "${HIGH[@]}" "$TARGETS/$1"
	look
	BEFORE=$LOOK
	tell "$2"
	look
	for class in "${classes[@]}"; do
		[[ $(come "$class") -eq $(told "$class") ]] ||
			fail "$1 $2: $(come "$class") blocks more are $class, and it says $(told "$class")"
	done
	[[ $(jq -r '[.allocators[] | select(.believed | not)] | length' <<<"$LOOK") -eq 0 ]] || fail "not believed: $LOOK"
	end_target
	clean
}

# bats test_tags=quick
@test "lost blocks of a program that nobody has attached to before" {
	# Behind what was asked for lies what was there before, which glibc's books do not tell apart: there a block may hang on another.
	start_target "$TARGETS/verdict_heap"
	look
	BEFORE=$LOOK
	tell lost
	look
	[[ $(($(come definite) + $(come indirect))) -eq $(told definite) && $(come reachable) -eq 0 ]] || fail "not so: $LOOK"
	end_target
	clean
	fresh
	agrees verdict_heap structures
	fresh
	agrees verdict_heap held
	fresh
	agrees verdict_roots.nofp all definite indirect
}

@test "inspect agrees with the truth with jemalloc, tcmalloc and mimalloc" {
	local name

	for name in jemalloc.so.2 tcmalloc_minimal.so.4 mimalloc.so.2.0; do
		[[ -e $LIBDIR/lib$name ]] || skip "no lib$name"
		fresh
		T_ENV=("LD_PRELOAD=$LIBDIR/lib$name")
		agrees verdict_heap structures definite indirect
	done
}

@test "inspect agrees with the truth with musl, dynamic and static" {
	local program

	[[ -x $TARGETS/verdict_heap.musl ]] || skip 'no musl-gcc'
	for program in verdict_heap.musl verdict_heap.musl-static; do
		fresh
		agrees "$program" structures
		[[ $(jq -r '.allocators[].name' <<<"$LOOK") == musl ]] || fail "not musl's: $LOOK"
	done
}

@test "by a copy and while it stands still; the same" {
	start_target "$TARGETS/verdict_heap"
	tell lost
	look --snapshot=fork -v
	grep -q 'ms to fork' <<<"$ERR" || fail "no fork: $ERR"
	BEFORE=$LOOK
	look --snapshot=stop
	[[ $(come definite) -eq 0 && $(come indirect) -eq 0 ]] || fail "not the same: $LOOK"
	end_target
}

@test "the parts of a process's memory add up to the kernel's count" {
	start_target "$TARGETS/verdict_heap"
	tell lost
	look
	adds_up 2
	holds '.memory.in_use.bytes > 4000000 and .memory.rest_bytes * 50 < .memory.rss_anon_bytes' "$LOOK"
	holds '.allocators[0] | .name == "glibc" and .believed and .in_use.count > 200' "$LOOK"
	holds ".allocators[0].version == \"$(getconf GNU_LIBC_VERSION | cut -d' ' -f2)\"" "$LOOK"
	holds '([.groups[].live.bytes] | add) == ([.verdict | .definite, .indirect, .possible, .reachable | .bytes] | add)' "$LOOK"
	holds '([.groups[].verdict.definite.count] | add) == .verdict.definite.count' "$LOOK"
	end_target
}

@test "a lost block's line has the blocks that hang on it; kinds of blocks add up to the losses" {
	start_target "$TARGETS/verdict_heap"
	tell structures
	look
	holds '([.losses[].lost.count] | add) == .verdict.definite.count' "$LOOK"
	holds '([.losses[].kept.count] | add) == .verdict.indirect.count' "$LOOK"
	holds '.verdict.indirect.count > 0' "$LOOK"
	end_target
}

# Blocks of 10,000 bytes and more, each by what holds it: two stacks, thread-local variables of the program, of a library, and of one opened late.
build_places() {
	cat >"$D/library.c" <<-'EOF2'
		#include <stdlib.h>
		static __thread long fill[3];
		static __thread void *volatile hidden[4];
		void in_library(size_t n) { hidden[fill[0] + 2] = malloc(n); }
	EOF2
	cat >"$D/places.c" <<-'EOF2'
		#include <dlfcn.h>
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>
		static __thread struct { long fill[2]; void *volatile entry; } own;
		void in_library(size_t n);
		static pthread_barrier_t up;
		/* What the calls have left behind on the stack. */
		static void __attribute__((noinline)) scrub(void)
		{
			volatile char stack[65536];

			memset((void *)stack, 0, sizeof(stack));
		}
		static void *worker(void *unused)
		{
			void *volatile kept[3] = {0};

			kept[1] = malloc(20000);
			in_library(30000);
			scrub();
			pthread_barrier_wait(&up);
			pause(); /* the worker's */
			return kept[1];
		}
		int main(void)
		{
			void *volatile kept[5] = {0};
			void *late = dlopen("liblate.so", RTLD_NOW);
			void (*in_late)(size_t) = dlsym(late, "in_library");
			pthread_t thread;

			kept[2] = malloc(10000);
			own.entry = malloc(40000);
			in_late(50000);
			pthread_barrier_init(&up, NULL, 2);
			pthread_create(&thread, NULL, worker, NULL);
			scrub();
			pthread_barrier_wait(&up);
			printf("ready %d\n", (int)getpid());
			fflush(stdout);
			return !getchar() && kept[2]; /* the main thread's */
		}
	EOF2
	gcc -g -O2 -shared -fPIC "$D/library.c" -o "$D/libplaces.so"
	cp "$D/libplaces.so" "$D/liblate.so"
	gcc -g -O2 -pthread "$D/places.c" -o "$D/places" -L"$D" -lplaces -Wl,-rpath,"$D"
}

@test "a block's holder may be a function's frame or a thread's own variable" {
	local held line

	build_places
	start_target "$D/places"
	look
	line() {
		grep -n "$1" "$D/places.c" | cut -d: -f1
	}
	held=$(jq -r '[.groups[] | select(.held_by and .live.count == 1 and .live.bytes >= 10000 and .live.bytes < 51000)] | sort_by(.live.bytes)[]
		| "\(.live.bytes / 10000 | floor) \(.held_by[0])"' <<<"$LOOK" | sed "s/thread $T_PID\$/thread MAIN/; s/thread [0-9]*\$/thread N/")
	[[ $held == "1 main at places.c:$(line "the main thread's") (places), on the stack of thread MAIN
2 worker at places.c:$(line "the worker's") (places), on the stack of thread N
3 hidden (libplaces.so), thread-local data of thread N
4 own (places), thread-local data of thread MAIN
5 hidden (liblate.so), thread-local data of thread MAIN" ]] || fail "$held"
}

@test "what hangs on what: each variable has what the program has put behind it, though memory was full of other pointers" {
	local wrong

	run_target "$TARGETS/hangs.nofp"
	target_line '{'
	printf '%s\n' "$LINE" >"$D/truth"
	[[ $(jq length "$D/truth") == 17 ]] || fail "$(<"$D/truth")"
	look
	wrong=$(jq -c --slurpfile truth "$D/truth" '
		([.ways[] | select(has("up") | not)] | group_by(.name | split(" (")[0]) |
		 map({(.[0].name | split(" (")[0]): (map(.retained.bytes) | add)}) | add) as $found |
		$truth[0] | to_entries | map(.found = ($found[.key] // 0)) |
		map(select((.found - .value | fabs) > .value / 50))' <<<"$LOOK")
	[[ $wrong == '[]' ]] || fail "$wrong"
	# What hangs on a way is its own and that of the ways behind it; the roots have all of it but crumbs.
	holds '.ways as $ways | [range($ways | length)] | all(. as $n | $ways[$n].retained.bytes >= ($ways[$n].own.bytes // 0) +
		([$ways[] | select(.up == $n).retained.bytes] | add // 0))' "$LOOK"
	holds '([.ways[] | select(has("up") | not).retained.bytes] | add) as $sum | ([.verdict[] | objects.bytes?] | add) as $all |
		$sum <= $all and $sum > $all * 0.99' "$LOOK"
	holds '.groups[0] | ([.holders[].bytes] | add) <= .live.bytes and (.holders[0].path == .held_by)' "$LOOK"
}

@test "what hangs on what: an object of Python is called as its module calls it" {
	need python3
	run_target python3 -c 'import sys; S = {i: [object(), str(i) * 20] for i in range(5000)}; LOG = ["%d" % i for i in range(9000)]; print("ready", flush=True); sys.stdin.readline()'
	target_line ready
	look
	holds '[.ways[].name] | index("Python dict \"__main__.S\"") and index("Python list \"__main__.LOG\"")' "$LOOK"
	holds '[.groups[] | select(.name == "str").holders[].path[] | select(endswith("__main__.LOG\""))] | length == 1' "$LOOK"
}

# gives NAME SLACK: what inspect says that a call gives back is what it gives, to the page; SLACK: bytes of its own that the call may take.
gives() {
	local said gave

	look
	holds '.keepers | all((.by | map(.kept_bytes) | add // 0) == .kept_bytes and .kept_bytes + .cached_bytes + .untold_bytes <= .free_resident_bytes and
		all(.by[]; .alone_bytes <= .kept_bytes))' "$LOOK"
	said=$(jq '[.keepers[].helps[] | select(.what == "'"$1"'") | .bytes // .bytes_at_most] | add' <<<"$LOOK")
	tell give
	gave=$(field .gave "$TRUTH")
	((gave <= said && gave >= said - $2)) || fail "${T_ENV[*]} $3: $gave B were given back, and $said B said: $(jq -c .keepers <<<"$LOOK")"
}

# keeps COUNT SIZE: that many blocks of the size keep nearly all that is kept, and nobody beside them.
keeps() {
	holds '.keepers[0] | (.by[0] | .blocks_of.size == '"$2"' and .count >= '"$1"' * 0.99 and .count <= '"$1"') and
		.by[0].alone_bytes > .kept_bytes * 0.95 and .kept_bytes > 1000000' "$LOOK"
}

@test "what keeps free memory, and what gives it back: said before, and then done" {
	local shape library kept

	start_target "$TARGETS/holes.nofp"
	for shape in fill fast top arenas large; do
		tell "$shape"
		kept=$(field .kept "$TRUTH")
		gives malloc_trim 0 "$shape"
		[[ $shape != fill ]] || keeps "$kept" 248
	done
	look
	# As a flame graph: all that is free, to the byte, and all blocks but those of the smallest ways.
	run_tool inspect -p "$T_PID" -f folded=kept
	[[ $STATUS -eq 0 && $(awk '{ s += $NF } END { printf "%d\n", s }' <<<"$OUT") == $(jq '[.keepers[].free_resident_bytes] | add' <<<"$LOOK") ]] ||
		fail "$STATUS $OUT $ERR"
	[[ $OUT == *"holes.nofp-$T_PID;glibc;[kept];blocks of 248 B "* ]] || fail "$OUT"
	run_tool inspect -p "$T_PID" -f folded=retained
	[[ $STATUS -eq 0 && $(awk '{ s += $NF } END { printf "%d\n", s }' <<<"$OUT") == $(jq '[.ways[] | select(has("up") | not).retained.bytes] | add' <<<"$LOOK") ]] ||
		fail "$STATUS $OUT $ERR"
	[[ $OUT == *"holes.nofp-$T_PID;kept (holes.nofp);blocks of "* ]] || fail "$OUT"
	# A mapping of 20 MiB was freed.
	holds '[.keepers[].helps[] | select(.what == "mmap_threshold")][0] | .mmap_threshold_bytes > 20000000 and .trim_threshold_bytes == 2 * .mmap_threshold_bytes' "$LOOK"
	end_target
	for library in libtcmalloc_minimal.so.4 libjemalloc.so.2; do
		[[ -e $LIBDIR/$library ]] || continue
		fresh
		T_ENV=("LD_PRELOAD=$LIBDIR/$library")
		start_target "$TARGETS/holes.nofp"
		tell fill
		case $library in
		libtcmalloc*) gives release_free_memory 0 fill ;;
		# A call takes some pages for itself.
		*) gives purge 262144 fill ;;
		esac
		end_target
	done
}

# first_look: of two by one tool, through the FIFO $D/looks: LOOK.
first_look() {
	"$TOOL" inspect --max-pause 1m -p "$T_PID" -i 1h -n 2 -f json >"$D/looks" 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	exec {looks}<"$D/looks"
	read -r -t "$DEADLINE" -u "$looks" LOOK || fail 'no first look'
}

# second_look: as soon as it is asked for, and the last: LOOK.
second_look() {
	kill -USR1 "$TOOL_PID"
	read -r -t "$DEADLINE" -u "$looks" LOOK || fail 'no second look'
	exec {looks}<&-
	wait "$TOOL_PID" || fail 'it failed'
}

@test "a process that becomes another program is inspected as that, and not compared with the one before" {
	[[ ${SANITIZE-} != 1 ]] || skip 'AddressSanitizer must be loaded first'
	mkfifo "$D/go" "$D/looks"
	run_target "$BASH" -c "echo ready; read -r _ <'$D/go'; exec '$TARGETS/verdict_heap'"
	target_line ready
	LD_PRELOAD=$TARGETS/exec_meanwhile.so MEANWHILE_AT=stop MEANWHILE_PID=$T_PID MEANWHILE_GO=$D/go look
	target_line 'ready '
	holds '.comm == "verdict_heap" and (.cmdline[0] | test("verdict_heap$")) and .memory.in_use.count > 0 and .memory.rss_anon_bytes > 0' "$LOOK"
	end_target
	# Between two looks.
	run_target "$BASH" -c "echo ready; read -r _ <'$D/go'; exec '$TARGETS/verdict_heap'"
	target_line ready
	first_look
	holds '.comm == "bash"' "$LOOK"
	echo >"$D/go"
	target_line 'ready '
	second_look
	holds '.comm == "verdict_heap" and .elapsed_ms == 0 and all(.groups[]; .growth_bytes_per_s == null)' "$LOOK"
	grep -q "process $T_PID has become another program (verdict_heap)" "$D/tool.err" || fail "$(<"$D/tool.err")"
	end_target
}

@test "-i -n: growing groups come first, and diff compares a recording of them" {
	start_target "$TARGETS/verdict_heap"
	run_tool inspect -p "$T_PID" -o "$D/old.mlb"
	[[ $STATUS -eq 0 ]] || fail "$ERR"
	mkfifo "$D/looks"
	first_look
	holds '.final == false and .elapsed_ms == 0' "$LOOK"
	tell lost
	second_look
	# Four blocks of 1 MiB are most of it.
	holds '.final and .groups[0].growth_bytes_per_s > 0' "$LOOK"
	run_tool inspect -p "$T_PID" -o "$D/new.mlb"
	run_tool diff "$D/old.mlb" "$D/new.mlb" -f json
	[[ $STATUS -eq 0 ]] || fail "$ERR"
	holds '.delta.bytes > 4194304 and .stacks[0].change != "shrank"' "$OUT"
	run_tool report "$D/new.mlb" -f json
	holds '.verdict.definite.count + .verdict.indirect.count >= 264 and .pid == '"$T_PID" "$OUT"
	run_tool report "$D/new.mlb"
	grep -q 'What is lost' <<<"$OUT" || fail "no report: $OUT"
	run_tool report "$D/new.mlb" -f html
	refused 1 "'html' cannot show it, give one of text, json"
	end_target
}

@test "--error-exitcode, --contents, and nothing private without" {
	start_target "$TARGETS/verdict_heap"
	tell held
	look
	run_tool inspect -p "$T_PID" --error-exitcode 9
	[[ $STATUS -eq $(jq 'if .verdict.definite.count > 0 then 9 else 0 end' <<<"$LOOK") ]] || fail "status $STATUS: $LOOK"
	tell lost
	run_tool inspect -p "$T_PID" --error-exitcode 9
	[[ $STATUS -eq 9 ]] || fail "status $STATUS"
	! grep -q contents <<<"$OUT" || fail 'contents that nobody has asked for'
	run_tool inspect -p "$T_PID" --contents 8 -T 100
	[[ $STATUS -eq 0 ]] || fail "status $STATUS"
	grep -q 'contents 00 00 00 00 00 00 00 00' <<<"$OUT" || fail "no contents: $OUT"
	end_target
}

@test "no root, no BPF: one's own processes" {
	local pid

	[[ $(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0) -eq 0 ]] || skip "Yama forbids it"
	chmod 755 "$D" "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
	cp "$TOOL" "$D/tool"
	chmod 755 "$D/tool"
	setpriv --reuid 65534 --regid 65534 --clear-groups sleep 1000 3>&- &
	pid=$!
	PIDS+=("$pid")
	until_true "$DEADLINE" eval '[[ $(awk "{ print \$2, \$3 }" "/proc/$pid/stat") == "(sleep) S" ]]' || fail 'it does not sleep'
	STATUS=0
	setpriv --reuid 65534 --regid 65534 --clear-groups "$D/tool" inspect -p "$pid" >"$D/run.out" 2>"$D/run.err" || STATUS=$?
	[[ $STATUS -eq 0 ]] || fail "status $STATUS: $(<"$D/run.err")"
	grep -q 'What it is made of' "$D/run.out" || fail "$(<"$D/run.out")"
	# Another's is refused in one line, which says what to do.
	STATUS=0
	setpriv --reuid 65533 --regid 65533 --clear-groups "$D/tool" inspect -p "$pid" >"$D/run.out" 2>"$D/run.err" || STATUS=$?
	OUT=$(<"$D/run.out") ERR=$(<"$D/run.err")
	refused 1 'no permission; run memleakbpf as root \(sudo\), or with CAP_SYS_PTRACE'
}

@test "no memory to inspect one process: a line says so, and the next one is inspected" {
	local blocks megabytes step most small said=()

	read -r blocks megabytes step most < <(by_day '1000000 64 4 200' '4000000 176 2 400')
	[[ ${SANITIZE-} != 1 ]] || skip "AddressSanitizer's shadow needs terabytes of address space"
	start_target "$TARGETS/million" "$blocks"
	tell go
	sleep 1000 3>&- &
	small=$!
	PIDS+=("$small")
	# Before that it has no memory to be looked at.
	until_true "$DEADLINE" eval '[[ $(awk "{ print \$2, \$3 }" "/proc/$small/stat") == "(sleep) S" ]]' || fail 'it does not sleep'
	# Not even for a copy of it; then perhaps for that and no more, where the blocks take more than what the copy gives back; then for all.
	for (( ; megabytes <= most; megabytes += step)); do
		STATUS=0
		timeout "$DEADLINE" prlimit "--as=$((megabytes << 20))" "$TOOL" inspect --max-pause 1m -f json -p "$T_PID,$small" \
			>"$D/run.out" 2>"$D/run.err" 3>&- || STATUS=$?
		[[ $(jq -r .pid "$D/run.out" | tail -1) == "$small" ]] || fail "$megabytes MiB, status $STATUS: $(<"$D/run.err")"
		[[ $STATUS -eq 1 ]] || break
		[[ $(wc -l <"$D/run.out") -eq 1 ]] || fail "$megabytes MiB: $(<"$D/run.out")"
		[[ $(<"$D/run.err") =~ ^"memleakbpf: process $T_PID (million): not inspected: "(.*)$ ]] || fail "$(<"$D/run.err")"
		said+=("${BASH_REMATCH[1]}")
		[[ ${said[-1]} == *'no memory for a copy of it'* || ${said[-1]} == *'not enough memory to go through its blocks'* ]] || fail "${said[-1]}"
	done
	[[ ${#said[@]} -gt 0 && $STATUS -eq 0 ]] || fail "status $STATUS at last: ${said[*]}"
	end_target
}

@test "a process that cannot be inspected is refused in one line" {
	run_tool inspect -p 4194303
	refused 1 'no process 4194303'
	run_tool inspect
	refused 2 'nothing to inspect'
	run_tool inspect -p 1 -f html
	refused 2 "'html' is not a format of inspect; give one of text, json"
	run_tool inspect -p 1 --sort alloc
	refused 2 'give one of live, count, growth'
	run_tool inspect "$TARGETS/leaf" --duration 1s
	refused 2 '--duration: a core file stays as it is'
}

@test "--duration: it looks again and again, and once more at its end, which is the last" {
	local began

	start_target "$TARGETS/verdict_heap"
	began=$EPOCHSECONDS
	run_tool inspect --max-pause 1m -p "$T_PID" -i 100ms --duration 2s -f json
	[[ $STATUS -eq 0 ]] || fail "$STATUS $ERR"
	# However late a busy machine has the first one, the last is when that time is over.
	[[ $(jq -s --argjson began "$began" 'length > 1 and (last | .time[:19] + "Z" | fromdate) >= $began + 2
		and [.[].final] == [(.[:-1][] | false), true]' <<<"$OUT") == true ]] || fail "$began $OUT"
	run_tool inspect --max-pause 1m -p "$T_PID" -i 1h --duration 100ms -f json
	[[ $(jq -sc '[.[].final]' <<<"$OUT") == '[false,true]' ]] || fail "$OUT"
	end_target
}

# inspect_with LIBRARY COMMAND…: LOOK, of the program by the allocator, when it has said that it is ready.
inspect_with() {
	[[ -e $LIBDIR/$1 ]] || skip "no $1"
	run_target env LD_PRELOAD="$LIBDIR/$1" "${@:2}"
	target_line ready
	look
}

@test "blocks that a library loses by design make no error status: tcmalloc's extension" {
	cat >"$D/idle.cc" <<-'EOF2'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			if (argc > 1)
				*(void *volatile *)malloc(100) = nullptr;
			puts("ready"), fflush(stdout);
			for (;;)
				pause();
		}
	EOF2
	g++ -O1 "$D/idle.cc" -o "$D/idle"
	inspect_with libtcmalloc_minimal.so.4 "$D/idle"
	[[ $(jq -r '[.losses[].suppressed] | join(",")' <<<"$LOOK") == 'tcmalloc: its default extension' ]] || fail "losses: $(jq -c .losses <<<"$LOOK")"
	run_tool inspect -p "$T_PID" --error-exitcode 9
	[[ $STATUS -eq 0 ]] || fail "status $STATUS: $OUT"
	grep -q '^What is lost: .* still reachable$' <<<"$OUT" || fail "$OUT"
	! grep -q '^What is lost: .*definitely' <<<"$OUT" || fail "the sum has it: $OUT"
}

@test "mimalloc: pointers to an aligned block's beginning hold it" {
	cat >"$D/aligned.c" <<-'EOF2'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <unistd.h>
		void *held[1000];
		int main(void)
		{
			for (int i = 0; i < 1000; i++) {
				if (posix_memalign(&held[i], i % 2 ? 64 : 256, 24))
					abort();
				memset(held[i], 0, 24);
			}
			puts("ready"), fflush(stdout);
			for (;;)
				pause();
		}
	EOF2
	gcc -O1 "$D/aligned.c" -o "$D/aligned"
	inspect_with libmimalloc.so.2 "$D/aligned"
	holds '.verdict.possible.count == 0 and .verdict.reachable.count >= 1000' "$LOOK"
}

@test "PHP: the contents of hash tables are reachable" {
	need php
	run_target php -r 'echo "ready\n"; fgets(STDIN);'
	target_line ready
	look
	# Nearly all hangs on tables of functions, classes and strings, and on what functions take.
	holds '.verdict.possible.count == 0 and .verdict.definite.count == 0 and .verdict.reachable.count > 10000' "$LOOK"
}
