#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What CPython and PHP map for objects of theirs, against their own books: each arena is a live block, with the stack that needed it.
# bats file_tags=beside

load lib.bash

setup() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
	fresh
}

# Bytes and number of arenas that are live, were mapped and unmapped, by the stacks that say so. Stacks of which nothing is live are there (--sort alloc).
arenas_by_stack='[.stacks[] | select(.frames[0].kind == "arena")] |
	{live: map(.live.bytes) | add, count: map(.live.count) | add, mapped: map(.alloc.count) | add, unmapped: map(.free.count) | add}'

need_pymalloc() {
	/usr/bin/python3 -c 'import sys; sys._debugmallocstats()' 2>/dev/null || skip 'this python3 has no arenas'
	/usr/bin/python3 -c 'import sys; sys.exit(not (3, 10) <= sys.version_info < (3, 15))' || skip 'this python3 is not one of 3.10 to 3.14'
}

# books NAME: what CPython had at that time.
books() {
	jq ".books.$1" <<<"$TRUTH"
}

# start_python [OPTION…]: python3 as target, which has some arenas already. BEFORE: what its books say then.
start_python() {
	need_pymalloc
	start_target /usr/bin/python3 "$HERE/arenas.py"
	attach "$@"
	tell before
	BEFORE=$TRUTH
}

# same_arenas: the snapshot has the arenas that CPython has mapped since BEFORE and not given back, each once, and says how many bytes of the live ones they are.
same_arenas() {
	snap
	jq -e --argjson before "$BEFORE" --argjson now "$TRUTH" '. as $snap |
		($snap | '"$arenas_by_stack"') as $seen | ($now.books.mapped - $before.books.mapped) as $mapped |
		($now.books.unmapped - $before.books.unmapped) as $unmapped |
		$mapped > 0 and $seen.mapped == $mapped and $seen.unmapped == $unmapped and
		$seen.count == $mapped - $unmapped and $seen.live == $seen.count * $now.books.size and
		($snap.arenas // {bytes: 0, count: 0}) == {bytes: $seen.live, count: $seen.count} and
		$snap.live.bytes == ([$snap.stacks[].live.bytes] | add) and
		([$snap.lost[]] | add) == 0' <<<"$SNAP" >/dev/null ||
		fail "$(jq -c "[($arenas_by_stack), .arenas, .live, .lost]" <<<"$SNAP"), then: $BEFORE"
}

python_arenas() {
	start_python --no-default-suppressions
	tell grow
	same_arenas
	# The function for whose objects there was no room, and its line.
	jq -e '[.stacks[] | select(.frames[0].kind == "arena") | select(any(.frames[]; .kind == "python" and .function == "keep" and .line > 0)) | .live.count] | add >= 10' \
		<<<"$SNAP" >/dev/null || [[ $PYTHON_FRAMES == no ]] || fail "$(jq -c '[.stacks[] | select(.frames[0].kind == "arena").frames | map(.function)]' <<<"$SNAP")"
	tell drop
	[[ $(books unmapped) -gt 0 ]] || fail 'CPython has kept its arenas'
	same_arenas
	end_target
}

@test "CPython's arenas are live blocks, as many as CPython itself counts" {
	/usr/bin/python3 -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || PYTHON_FRAMES=no
	[[ $STACKS != fp ]] || PYTHON_FRAMES=no
	each_mode python_arenas
}

at_work=('/usr/bin/python3' "$BATS_TEST_DIRNAME/arenas.py")

started() {
	printf 'grow\nquit\n' | timeout "$((4 * DEADLINE))" "$TOOL" -f json -i 1h -T 100000 --sort alloc --attach "$MODE" -o "$D/result" -- "${at_work[@]}" >"$D/said" 2>"$D/tool.err" 3>&- || fail "status $?"
	TRUTH=$(tail -n 1 "$D/said")
	SNAP=$(tail -n 1 "$D/result")
	jq -e --argjson now "$TRUTH" '. as $snap | ($snap | '"$arenas_by_stack"') as $seen |
		$seen.mapped == $now.books.mapped and $seen.count == $now.books.mapped - $now.books.unmapped and $snap.arenas.bytes == $seen.count * $now.books.size' <<<"$SNAP" >/dev/null ||
		fail "$(jq -c "[($arenas_by_stack), .arenas, .lost]" <<<"$SNAP"), not $TRUTH"
}

@test "a program that the tool starts has all of its arenas" {
	need_pymalloc
	probe_modes
	each_mode started
}

@test "other mappings of CPython's process are no arenas" {
	start_python
	tell others
	snap
	[[ $(field '.arenas' "$SNAP") == null ]] || fail "$(field .arenas "$SNAP")"
	end_target
}

# with_options OPTION…: nothing counts twice, and arenas under sampling as what they are.
with_options() {
	start_python --no-default-suppressions "$@"
	tell large
	tell grow
	same_arenas
	end_target
}

@test "with --mmap an arena counts once" {
	with_options --mmap
	# What malloc maps for large blocks is not there a second time.
	[[ $(field '.live.bytes' "$SNAP") -lt $(field '.arenas.bytes + 8 * 1048576 + 4 * 1048576' "$SNAP") ]] || fail "$(field .live "$SNAP")"
}

@test "under sampling each arena counts once, with its own size" {
	with_options -s 64K
	[[ $(field '[.stacks[] | select(.frames[0].kind == "arena").error_bytes // 0] | add' "$SNAP") == 0 ]] || fail 'they have an error'
}

@test "under sparse sampling each arena counts once, too" {
	with_options -s 64M
}

php_chunks() {
	start_target php "$HERE/arenas.php"
	attach
	tell before
	BEFORE=$(field .mapped "$TRUTH")
	for command in grow huge grow drop; do
		tell "$command"
		snap
		[[ $(field '.arenas.bytes // 0' "$SNAP") -eq $(($(field .mapped "$TRUTH") - BEFORE)) ]] || fail "$command: $(field .arenas "$SNAP"), not $(field .mapped "$TRUTH") - $BEFORE"
		[[ $command != grow || $(field '.arenas.bytes' "$SNAP") -gt 20000000 ]] || fail "$command: $(field .arenas "$SNAP")"
		jq -e "$arenas_by_stack"'.live == '"$(field '.arenas.bytes // 0' "$SNAP")" <<<"$SNAP" >/dev/null || fail "$(jq -c "$arenas_by_stack" <<<"$SNAP")"
		[[ $(field '[.lost[]] | add' "$SNAP") == 0 ]] || fail "$(field .lost "$SNAP")"
		# Who needed them: the line is that of str_repeat(), or of what puts the string together.
		[[ $command != grow || $(uname -m) != x86_64 || $(php -r 'echo PHP_VERSION;') != 8.2.* ]] ||
			holds '[.stacks[] | select(.frames[0].kind == "arena") | [.frames[] | select(.kind == "php") | [.function, .line]]] |
				any(.[-2:] == [["keep", 13], ["{main}", 20]])'
	done
	end_target
}

# php_resizes COMMAND…: as many bytes as PHP has after each, in as many blocks, and what was mapped and unmapped says the same.
php_resizes() {
	for command in "$@"; do
		tell "$command"
		snap
		jq -e --argjson bytes "$(($(field .mapped "$TRUTH") - BEFORE))" '. as $snap | (.arenas.bytes // 0) == $bytes and ([.lost[]] | add) == 0 and
			([.stacks[] | select(.frames[0].kind == "arena") | .alloc.bytes - .free.bytes, -.live.bytes] | add // 0) == 0 and
			([.stacks[] | select(.frames[0].kind == "arena") | .error_bytes // 0] | add // 0) == 0' <<<"$SNAP" >/dev/null ||
			fail "$command: $(jq -c "[($arenas_by_stack), .arenas, .lost]" <<<"$SNAP"), not $(field .mapped "$TRUTH") - $BEFORE"
	done
}

# php_huge [OPTION…]: huge blocks that grow and shrink where they are.
php_huge() {
	local count

	start_target php "$HERE/arenas.php"
	attach --no-default-suppressions "$@"
	tell before
	BEFORE=$(field .mapped "$TRUTH")
	php_resizes huge-arrays
	count=$(field .arenas.count "$SNAP")
	php_resizes append shrink append shrink
	[[ $(field .arenas.count "$SNAP") == "$count" ]] || fail "$(field .arenas "$SNAP"), not $count"
	# Where that is not possible the block is a new one, and the attempt has changed nothing.
	php_resizes outgrow drop
	end_target
}

@test "PHP's huge blocks grow and shrink in place" {
	need php
	each_mode php_huge
}

@test "a resized arena counts once, with its new size, with --mmap and under sampling" {
	need php
	php_huge --mmap
	php_huge -s 64M
	php_huge --mmap -s 64M
}

@test "PHP's chunks and huge blocks add up to memory_get_usage()" {
	need php
	each_mode php_chunks
}

# A runtime that has what names PHP, two files of it; a program that has one of them at a time.
moving_runtime() {
	mkdir -p "$D/a" "$D/b"
	cat >"$D/runtime.c" <<-'EOF'
		#include <sys/mman.h>
		void zend_mm_gc(void) {}
		void *volatile last;
		void map_one(void) { last = mmap(0, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }
	EOF
	gcc -g -O1 -shared -fPIC -o "$D/a/runtime.so" "$D/runtime.c"
	cp "$D/a/runtime.so" "$D/b/runtime.so"
	cat >"$D/moving.c" <<-'EOF'
		#include <dlfcn.h>
		#include <stdio.h>
		#include <string.h>
		#include <unistd.h>
		int main(int argc, char **argv)
		{
			void *first = dlopen(argv[1], RTLD_NOW), *second = NULL;
			char line[64];

			setvbuf(stdout, NULL, _IOLBF, 0);
			printf("ready %d\n", argc > 2 && first ? (int)getpid() : 0);
			while (fgets(line, sizeof(line), stdin)) {
				line[strcspn(line, "\n")] = 0;
				if (!strcmp(line, "move")) {
					second = dlopen(argv[2], RTLD_NOW);
					dlclose(first);
					dlopen("libm.so.6", RTLD_NOW);
				} else if (!strcmp(line, "map")) {
					((void (*)(void))dlsym(second ? second : first, "map_one"))();
				}
				printf("{\"phase\":\"%s\",\"mapped\":%d}\n", line, second != NULL);
				if (!strcmp(line, "quit"))
					return 0;
			}
		}
	EOF
	gcc -O1 -o "$D/moving" "$D/moving.c"
}

@test "a runtime that is closed and comes back elsewhere has its arenas" {
	need gcc
	moving_runtime
	start_target "$D/moving" "$D/a/runtime.so" "$D/b/runtime.so"
	attach
	tell map
	snap
	[[ $(field '.arenas.count' "$SNAP") == 1 ]] || fail "$(field .arenas "$SNAP")"
	tell move
	# It is not held as it loads: the look that finds it follows.
	snap
	for ((i = 2; i < 2 + 3; i++)); do
		tell map
		snap
		[[ $(field '.arenas.count' "$SNAP") == "$i" ]] || fail "$(field .arenas "$SNAP"), not $i"
	done
	end_target
}

@test "a verdict: arenas are reachable, and their contents count once" {
	start_python --verdict --no-default-suppressions
	tell grow
	same_arenas
	jq -e '. as $snap | ($snap.verdict | [.definite, .indirect, .possible, .reachable] | map(.bytes) | add) == $snap.live.bytes and
		([$snap.stacks[] | select(.frames[0].kind == "arena") | .verdict.reachable.bytes] | add) == $snap.arenas.bytes and
		$snap.verdict.before_attach.reachable.bytes < 8 * 1048576' <<<"$SNAP" >/dev/null || fail "$(jq -c '[.live, .arenas, .verdict]' <<<"$SNAP")"
	end_target
}

@test "an inspection of a traced process counts each byte once" {
	start_python --verdict --inspect --no-default-suppressions
	tell grow
	snap
	json_line
	jq -e --argjson live "$(field .live.bytes "$SNAP")" '[.groups[].live.bytes] | add | . <= $live + 8 * 1048576 or error("\(.) of \($live)")' <<<"$LINE" >/dev/null || fail "$LINE"
	jq -e '(.verdict | [.definite, .indirect, .possible, .reachable] | map(.bytes) | add) < .memory.rss_anon_bytes' <<<"$LINE" >/dev/null || fail "$(jq -c '[.verdict, .memory]' <<<"$LINE")"
	end_target
}

@test "a forked child has arenas of its own" {
	local child

	need_hold
	start_python --children exact --no-default-suppressions
	tell fork
	truth child
	child=$(field .pid "$TRUTH")
	PIDS+=("$child")
	snap "$child"
	jq -e --argjson truth "$TRUTH" '. as $snap | ($snap | '"$arenas_by_stack"') as $seen |
		$seen.mapped == $truth.books.mapped - $truth.before.mapped and $seen.mapped > 10 and $snap.arenas.count == $seen.count' <<<"$SNAP" >/dev/null ||
		fail "$(jq -c "[($arenas_by_stack), .arenas, .lost]" <<<"$SNAP"), not $TRUTH"
	kill -KILL "$child"
	end_target
}

# recorded NAME COMMANDS: a recording of a python3 that does so, and TRUTH.
recorded() {
	printf "$2" | timeout "$((4 * DEADLINE))" "$TOOL" record -i 1h -o "$D/$1.mlb" -- "${at_work[@]}" >"$D/said" 2>"$D/tool.err" 3>&- || fail "status $?"
	TRUTH=$(tail -n 1 "$D/said")
}

@test "a recording, its report, other formats and diff have the arenas" {
	local label='arena growth, sampled: one per MiB'

	need_pymalloc
	recorded less 'quit\n'
	recorded more 'grow\nquit\n'
	"$TOOL" report -f json -T 100000 "$D/more.mlb" >"$D/result"
	jq -e --argjson now "$TRUTH" '.arenas.count == $now.books.mapped - $now.books.unmapped and .arenas.bytes == .arenas.count * $now.books.size and
		([.stacks[] | select(.frames[0].kind == "arena") | .live.bytes] | add) == .arenas.bytes' <(tail -n 1 "$D/result") >/dev/null || fail "$(tail -n 1 "$D/result" | jq -c .arenas), not $TRUTH"
	"$TOOL" report "$D/more.mlb" >"$D/text"
	grep -Eq '^arenas [0-9.]+ MiB of live in [0-9]+: a runtime' "$D/text" || fail "$(head -n 5 "$D/text")"
	grep -Fq "    $label  " "$D/text" || fail "$(head -n 40 "$D/text")"
	"$TOOL" report -f folded "$D/more.mlb" | grep -Fq "$label" || fail 'nothing of it in folded stacks'
	"$TOOL" report -f pprof -o "$D/of.pprof" "$D/more.mlb"
	zcat "$D/of.pprof" | grep -aFq "$label" || fail 'nothing of it in a profile'
	"$TOOL" diff "$D/less.mlb" "$D/more.mlb" >"$D/text"
	grep -Fq "$label" "$D/text" || fail "$(head -n 40 "$D/text")"
}

@test "the sum of several processes has their arenas" {
	need_pymalloc
	cat >"$D/two.sh" <<-'EOF'
		printf 'grow\nquit\n' | "$@" >"$D/said.1" &
		printf 'grow\ngrow\nquit\n' | "$@" >"$D/said.2"
		wait
	EOF
	export D
	timeout "$((4 * DEADLINE))" "$TOOL" --merge -f json -i 1h -T 100000 -o "$D/result" -- bash "$D/two.sh" "${at_work[@]}" 2>"$D/tool.err" 3>&- || fail "status $?"
	jq -se --slurpfile one <(tail -n 1 "$D/said.1") --slurpfile two <(tail -n 1 "$D/said.2") '
		[.[] | select(.arenas)][-1] | .processes == 2 and .arenas.count == $one[0].books.mapped + $two[0].books.mapped - $one[0].books.unmapped - $two[0].books.unmapped' \
		"$D/result" >/dev/null || fail "$(jq -c '[.pid, .comm, .processes, .arenas]' "$D/result"), not $(tail -qn 1 "$D"/said.?)"
}
