#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# --guard=1: guarded blocks are in the books like any others, to the byte and the block, by probes and by a gate; and a COMMAND's
# are guarded from its first one on.

load lib.bash

setup() {
	[[ -x $TOOL ]] || fail "no $TOOL: run make first"
	need_gate # the same machine code
	fresh
}

# books TARGET OPTION…: twice, of a target that was there before.
books() {
	local target=$1

	shift
	fresh
	start_target "$TARGETS/$target"
	start_tool -p "$T_PID" --guard=1 -v "$@"
	attached "$T_PID"
	# Before that is said, so that nobody has to wait for them.
	grep -q "^memleakbpf: process $T_PID .*: guards before" "$D/tool.err" || fail 'it had no guards when it was attached to'
	tell go
	snap
	same
	holds '.guard.guarded > 100 and .guard.freed >= 50'
	tell go
	snap
	same
	holds '.bad_accesses == []'
	end_target
	tool_ends
	final
	same
	clean
}

@test "by probes of each kind: each site's sums are the truth" {
	books realloc.nofp --attach session
	books realloc.nofp --attach multi
	books leaf.nofp --attach single
}

@test "by a gate, exact and with every byte a sample: each site's sums are the truth" {
	books realloc.nofp --attach gate
	books realloc.nofp --attach gate -s 1
}

# Every call that was told has been drawn: guarded, or counted among those that could not be.
command() {
	env "${T_ENV[@]}" "$TOOL" -v -f json -T 1000 --sort alloc --guard=1 "$@" -- "$TARGETS/short" >"$D/both" 2>"$D/tool.err" 3>&- || fail "status $?"
	TRUTH=$(grep '"phase":"exit"' "$D/both")
	SNAP=$(grep '"version":1' "$D/both" | tail -n 1)
	same any
	holds '.guard.guarded + .guard.full + .guard.passed + .guard.unfit == .alloc.count and .guard.guarded > 20'
	grep -q 'guards before .*; it waited, and stood still for' "$D/tool.err" || fail "$(cat "$D/tool.err")"
}

# bats test_tags=quick
@test "a COMMAND is guarded from its first block on, by probes and by a gate" {
	command
	command --gate
}

@test "a COMMAND's end is failure where a bad access was seen, however soon it came" {
	local options

	for options in '' --gate; do
		run_tool --guard=1 $options --error-exitcode 9 -f json -- "$TARGETS/guarded.nofp" bugs
		[[ $STATUS -eq 9 ]] || fail "status $STATUS"
		holds '[.bad_accesses[].kind] | unique == ["double_free", "invalid_free", "overflow", "slack_overwrite", "underflow", "use_after_free"]' "$OUT"
	done
}
