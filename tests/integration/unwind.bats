#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The kernel's stacks against backtrace()'s, frame by frame (tests/unwind/harness.c).

load lib.bash

setup() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
	UNWIND=$BUILD/tests/unwind
}

# Every build of shapes.c by one compiler; prints what differs.
all_shapes() {
	local program count=0

	for program in "$UNWIND/shapes-$1"-*; do
		timeout "$DEADLINE" "$UNWIND/harness" "$program" || return 1
		count=$((count + 1))
	done
	[[ $count -ge 7 ]]
}

@test "stacks of every kind of C frame are backtrace()'s, gcc at all levels" {
	all_shapes gcc
}

@test "stacks of every kind of C frame are backtrace()'s, clang at all levels" {
	all_shapes clang
}

@test "stacks from a constructor, before main" {
	TRUTH_CONSTRUCTOR=1 timeout "$DEADLINE" "$UNWIND/harness" "$UNWIND/shapes-gcc-O2"
}

@test "stacks through plugins that take each other's addresses" {
	timeout "$DEADLINE" "$UNWIND/harness" "$UNWIND/plugins" "$UNWIND"
}
