#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Verdicts against the truth: each program (tests/targets/verdict_*) says of each of its sites which blocks are in which class,
# and the tool has to say exactly the same. Stale copies of pointers get no tolerance: tests/targets/verdict.h says how the
# programs leave none.

load lib.bash

# truthful PROGRAM COMMAND [OPTION…]: judged twice: looking changes nothing.
truthful() {
	start_target "$TARGETS/$1"
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

@test "lost blocks, chains, rings, interior pointers, tags, freed memory, blocks from before" {
	both verdict_heap
}

@test "globals, statics, TLS, mappings" {
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

@test "--leak-check-heuristics none: what only the heuristics know is possibly lost" {
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
	printf 'all\nquit\n' | timeout "$DEADLINE" "$TOOL" --verdict -f json -T 100000 -o "$D/out.json" -- "$TARGETS/$1" >"$D/run.out" \
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

@test "static glibc" {
	truthful verdict_heap.static all
	fresh
	truthful verdict_roots.static all
	fresh
	truthful verdict_threads.static all
}

musl() {
	[[ -x $TARGETS/verdict_heap.$1 ]] || skip 'no musl-gcc'
	fresh
	truthful "verdict_heap.$1" all
	fresh
	truthful "verdict_roots.$1" all
	fresh
	truthful "verdict_threads.$1" all
}

@test "dynamic musl" {
	musl musl
}

@test "static musl" {
	musl musl-static
}

# preloaded LIBRARY PROGRAM COMMAND
preloaded() {
	[[ -e $LIBDIR/$1 ]] || skip "no $1"
	fresh
	T_ENV=("LD_PRELOAD=$LIBDIR/$1")
	truthful "$2.nofp" "$3"
}

all_preloaded() {
	local program

	for program in verdict_heap verdict_roots verdict_threads verdict_dl verdict_cxx; do
		preloaded "$1" "$program" all
	done
}

@test "jemalloc" {
	all_preloaded libjemalloc.so.2
}

@test "tcmalloc" {
	all_preloaded libtcmalloc_minimal.so.4
}

@test "mimalloc" {
	all_preloaded libmimalloc.so.2
}
