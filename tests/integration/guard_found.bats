#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# How long it takes until a bug that few allocations hit is found, by tests/soak/found: those of its rows that take seconds.
# bats file_tags=beside

load lib.bash

setup() {
	[[ -x $TOOL ]] || fail "no $TOOL: run make first"
	need_gate # the same machine code
	fresh
}

@test "a bug is found as soon as chance picks its block, and every visible one is told" {
	BUILD=$BUILD MEMLEAKBPF=$TOOL "$BATS_TEST_DIRNAME/../soak/found" quick >"$D/found" 2>&1 || fail "$(<"$D/found")"
	[[ $(grep -c '^| [rwf]' "$D/found") -eq 3 ]] || fail "$(<"$D/found")"
}
