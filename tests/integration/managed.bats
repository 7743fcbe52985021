#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stacks of programs that have a runtime of their own, against what that runtime says of them.

load lib.bash

setup() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
	fresh
}

# go_stacks PROGRAM [C_FUNCTION…]: found in each stack that C has called back from.
go_stacks() {
	[[ -x $TARGETS/$1 ]] || skip 'no go to build with'
	timeout "$DEADLINE" "$TOOL" ${MODE:+--attach "$MODE"} -f json -o "$D/result" -- "$TARGETS/$1" >"$D/truth" 2>"$D/tool.err" || fail "status $?"
	"$HERE/managed.py" "$D/truth" "$D/result" "${@:2}" || fail "$1"
}

# bats test_tags=quick
@test "Go: from main, goroutines and a callback from C, each frame with its line" {
	each_mode go_stacks leak_go call_back crosscall2
}

@test "Go: position-independent" {
	go_stacks leak_go.pie call_back crosscall2
}

@test "Go: without DWARF" {
	go_stacks leak_go.w call_back crosscall2
}

# Of C's functions only those have a name that are visible to the dynamic linker.
@test "Go: without DWARF and symbols" {
	go_stacks leak_go.s crosscall2
}
