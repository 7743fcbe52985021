#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The kernel's stacks against backtrace()'s, frame by frame (tests/unwind/harness.c).
# bats file_tags=beside

load lib.bash

setup() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
	UNWIND=$BUILD/tests/unwind
}

# all_of COUNT PREFIX: at least so many builds whose names begin so; prints what differs.
all_of() {
	local program count=0

	for program in "$UNWIND/$2"*; do
		[[ -x $program ]] || continue
		timeout "$DEADLINE" "$UNWIND/harness" "$program" || return 1
		count=$((count + 1))
	done
	[[ $count -ge $1 ]]
}

@test "stacks of every kind of C frame are backtrace()'s, gcc at all levels" {
	all_of 7 shapes-gcc-
}

@test "stacks of every kind of C frame are backtrace()'s, clang at all levels" {
	all_of 7 shapes-clang-
}

@test "stacks through libstdc++: containers, threads, exceptions, before main and after it" {
	all_of 5 cxx-gcc_
	all_of 2 cxx-clang_
}

@test "stacks through libc++ are those of backtrace()" {
	[[ -x $UNWIND/cxx-libcxx_O2 ]] || skip 'no libc++ to build with'
	all_of 2 cxx-libcxx_
}

@test "stacks of Rust programs are those of backtrace(), in panics too" {
	[[ -x $UNWIND/rust-O2 ]] || skip 'no rustc'
	all_of 3 rust-O
}

# All frames are as libgcc finds them, and main's and the threads' stacks are complete. musl's own code has no unwind tables, so neither side
# sees what lies beyond it: four calls back from qsort and bsearch, two allocations of strdup and strndup, four signals amid its system calls.
@test "stacks of a program on musl, up to musl's own code" {
	local of

	[[ -x $UNWIND/musl/shapes ]] || skip 'no musl-gcc'
	of=$(timeout "$DEADLINE" "$UNWIND/harness" -e 'no rows' "$UNWIND/musl/shapes")
	[[ $of =~ complete\ ([0-9]+)\ truncated\ 1\ no\ rows\ ([0-9]+) ]]
	[[ ${BASH_REMATCH[1]} -ge 20 && ${BASH_REMATCH[2]} -le 10 ]]
}

@test "stacks from a constructor, before main, are those of backtrace()" {
	TRUTH_CONSTRUCTOR=1 timeout "$DEADLINE" "$UNWIND/harness" "$UNWIND/shapes-gcc-O2"
}

@test "stacks through plugins that take each other's addresses" {
	timeout "$DEADLINE" "$UNWIND/harness" "$UNWIND/plugins" "$UNWIND"
}
