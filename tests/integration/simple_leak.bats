#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# One block, lost when main returns: found whatever the compiler and the linker made of main. What the functions that end a process leave in their
# frames used to hold it, with frames of some sizes and not of others.
# bats file_tags=beside

load lib.bash

# leaks_in PROGRAM [ARG]: does the tool find a leak in it? Every other end is a failure.
leaks_in() {
	run_tool --leak-only --max-pause 1m --error-exitcode 77 -- "$@"
	[[ $STATUS -eq 0 || $STATUS -eq 77 ]] || fail "$*: status $STATUS; $ERR"
	[[ $STATUS -eq 77 ]]
}

@test "a string lost when main returns: frame sizes, -O0 to -O2, lazily bound, bound at once, hardened: all found" {
	local program missed=() count=0

	fresh
	for program in "$TARGETS"/simple_leak.*; do
		count=$((count + 1))
		leaks_in "$program" || missed+=("${program##*/}")
	done
	[[ $count -eq 54 ]] || fail "$count programs, not 54"
	[[ ${#missed[@]} -eq 0 ]] || fail "not found in ${#missed[@]} of $count: ${missed[*]}"
}

@test "exit() called in main: blocks held by main's locals are held" {
	local program wrong=()

	fresh
	for program in "$TARGETS"/simple_leak.{1,72,520}.O?.{lazy,hardened}; do
		! leaks_in "$program" exit || wrong+=("${program##*/}")
	done
	[[ ${#wrong[@]} -eq 0 ]] || fail "held, and called a leak: ${wrong[*]}"
}
