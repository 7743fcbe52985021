#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Verdicts against the truth: each program (tests/targets/verdict_*) says of each of its sites which blocks are in which class,
# and the tool has to say exactly the same. Stale copies of pointers get no tolerance: tests/targets/verdict.h says how the
# programs leave none.
# bats file_tags=beside

load lib.bash

# truthful PROGRAM COMMAND [OPTION…]: judged twice: looking changes nothing.
truthful() {
	high "$1"
	start_target "${HIGH[@]}" "$TARGETS/$1"
	attach --verdict "${@:3}"
	tell "$2"
	snap
	judged
	snap
	judged
	end_target
	tool_ends
	clean
}

# Every program with and without frame pointers.
both() {
	local kind

	for kind in '' .nofp; do
		fresh
		truthful "$1$kind" all
	done
}

@test "--snapshot=fork gives the same verdicts in every case" {
	local program

	for program in verdict_heap verdict_roots verdict_threads verdict_dl verdict_cxx; do
		fresh
		truthful "$program.nofp" all --snapshot=fork -v
		grep -q 'of it for the copy' "$D/tool.err" || fail 'not from a copy'
	done
}

# bats test_tags=quick
@test "lost blocks, chains, rings, interior pointers, tags, freed memory, blocks from before" {
	both verdict_heap
}

@test "blocks held by globals, statics, thread-local variables and mappings are reachable" {
	both verdict_roots
}

@test "stacks, registers, keys, signal and coroutine stacks, exited threads" {
	both verdict_threads
}

@test "a library that is loaded later: its data, its TLS; and unloaded" {
	both verdict_dl
}

@test "C++: containers, shared pointers, arrays, several bases" {
	both verdict_cxx
}

@test "--leak-check-heuristics none: blocks that only heuristics find are possibly lost" {
	truthful verdict_cxx.nofp unknown --leak-check-heuristics none
}

@test "--leak-check-heuristics: each by its name" {
	local name site

	start_target "$TARGETS/verdict_cxx"
	for name in newarray multipleinheritance length64; do
		attach --verdict --leak-check-heuristics "$name"
		tell unknown
		snap
		stop_tool
		holds '[.stacks[] | select(.verdict.reachable.count == 64) | .frames[].function // empty
			| capture("^(?<site>new_array|new_stream|new_sized)").site] | . == ["'"$(
			case $name in
			newarray) echo new_array ;;
			multipleinheritance) echo new_stream ;;
			length64) echo new_sized ;;
			esac
		)"'"]'
	done
}

@test "--tagged: bits of the high byte and the low three are not part of the address" {
	truthful verdict_heap.nofp tagged --tagged
}

@test "a forked child has verdicts of its own" {
	start_target "$TARGETS/verdict_fork"
	attach --verdict
	tell before
	snap
	judged
	parent=$T_PID
	printf 'fork\n' >&"$T_IN"
	truth fork
	child=$(field .pid "$TRUTH")
	[[ $child != "$parent" ]] || fail 'no child answers'
	attached "$child"
	tell child
	snap "$child"
	judged
	printf 'quit\n' >&"$T_IN"
	truth quit
	truth fork # the parent's, now that the child is gone
	snap
	judged
	end_target
	tool_ends
}

# At the end of a command that was launched everything is known: nothing is from before.
run_to_its_end() {
	high "$1"
	printf 'all\nquit\n' | "${HIGH[@]}" timeout "$DEADLINE" "$TOOL" --verdict --max-pause 1m -f json -T 100000 -o "$D/out.json" -- "$TARGETS/$1" >"$D/run.out" \
		2>"$D/tool.err" 3>&- || fail "status $?"
	TRUTH=$(grep '"phase":"quit"' "$D/run.out")
	SNAP=$(jq -c 'select(.final)' "$D/out.json")
	judged
	holds '.verdict.unknown_bytes == 0'
}

@test "run mode: the verdict at the end of the command" {
	run_to_its_end verdict_heap.nofp
	run_to_its_end verdict_roots.nofp
	run_to_its_end verdict_threads.nofp
	run_to_its_end verdict_cxx.nofp
}

# ---- Other allocators ------------------------------------------------------------------------------------------------------

@test "verdicts of static programs with glibc are right" {
	truthful verdict_heap.static all
	fresh
	truthful verdict_roots.static all
	fresh
	truthful verdict_threads.static all
}

musl() {
	local program

	[[ -x $TARGETS/verdict_heap.$1 ]] || skip 'no musl-gcc'
	for program in verdict_heap verdict_roots verdict_threads; do
		fresh
		truthful "$program.$1" all
	done
}

@test "verdicts of programs with musl are right" {
	musl musl
}

@test "verdicts of static programs with musl are right" {
	musl musl-static
}

# preloaded LIBRARY
preloaded() {
	local program

	[[ -e $LIBDIR/$1 ]] || skip "no $1"
	for program in verdict_heap verdict_roots verdict_threads verdict_dl verdict_cxx; do
		fresh
		T_ENV=("LD_PRELOAD=$LIBDIR/$1")
		truthful "$program.nofp" all
	done
}

# run_with ALLOCATOR: in its memory, what is not a live block is free.
run_with() {
	local program

	[[ -x $TARGETS/verdict_heap.$1 ]] || skip "no $1"
	for program in verdict_heap verdict_roots verdict_threads verdict_cxx; do
		[[ -x $TARGETS/$program.$1 ]] || continue # no C++ with musl
		fresh
		run_to_its_end "$program.$1"
	done
}

@test "verdicts with jemalloc preloaded are right" {
	preloaded libjemalloc.so.2
}

@test "a command with musl gets a right verdict at its end" {
	run_with musl
	run_with musl-static
}

@test "a command with jemalloc gets a right verdict at its end" {
	run_with jemalloc
}

@test "verdicts with tcmalloc preloaded are right" {
	preloaded libtcmalloc_minimal.so.4
}

@test "a command with tcmalloc gets a right verdict at its end" {
	run_with tcmalloc
}

@test "verdicts with mimalloc preloaded are right" {
	preloaded libmimalloc.so.2
}

@test "a command with mimalloc gets a right verdict at its end" {
	run_with mimalloc
}

# ---- Beside others ---------------------------------------------------------------------------------------------------------

# agreement PROGRAM: one table: each site's truth, and what we, memcheck and LeakSanitizer say of the same program in the same state.
agreement() {
	local commands='all\nreport\nquit\n' logs

	fresh
	start_target "$TARGETS/$1.nofp"
	attach --verdict
	tell all
	snap
	printf '%s\n' "$TRUTH" >"$D/truth"
	printf '%s\n' "$SNAP" >"$D/ours"
	end_target
	tool_ends
	printf "$commands" | timeout $((4 * DEADLINE)) valgrind -q --num-callers=50 --leak-check=full --show-leak-kinds=all --xml=yes \
		--xml-file="$D/memcheck" "$TARGETS/$1.nofp" >"$D/memcheck.out" 2>&1 3>&- || fail "memcheck: $(<"$D/memcheck.out")"
	printf "$commands" | LSAN_OPTIONS="log_path=$D/lsan:leak_check_at_exit=0:fast_unwind_on_malloc=0" timeout $((4 * DEADLINE)) "$TARGETS/$1.lsan" >"$D/lsan.out" 2>&1 3>&- ||
		fail "LeakSanitizer: $(<"$D/lsan.out")"
	logs=("$D"/lsan.[0-9]*)
	[[ -s ${logs[0]} ]] || fail "LeakSanitizer reported nothing: $(<"$D/lsan.out")"
	"$HERE/agreement.py" "$D/truth" --ours "$D/ours" --memcheck "$D/memcheck" --lsan "${logs[0]}" --title "$1" 2>&1
}

@test "beside memcheck and LeakSanitizer: the table of agreement" {
	local table=$BUILD/tests/verdict-agreement.txt program failed=''

	command -v valgrind >/dev/null || skip 'no valgrind'
	printf 'D definitely lost, I indirectly, P possibly, R reachable\n' >"$table"
	for program in verdict_heap verdict_roots verdict_threads verdict_dl verdict_cxx; do
		printf '\n' >>"$table"
		agreement "$program" >>"$table" || failed+=" $program"
		clean
	done
	sed 's/^/# /' "$table" >&3
	[[ -z $failed ]] || fail "differs from the truth:$failed"
}
