#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# --guard=1: guarded blocks are in the books like any others, to the byte and the block, by probes and by a gate; and a COMMAND's
# are guarded from its first one on.
# bats file_tags=beside

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
	# None of its blocks is so small that it might be no sample by chance (SMALLEST of tests/targets/realloc.c).
	books realloc.nofp --attach gate -s 1
}

# Blocks are guarded all the time, by the guards of a tool that was killed: probes sit where they see them.
@test "of a process in which another tool has left its guards: each site's sums are the truth without any" {
	local mode

	for mode in session multi single; do
		fresh
		start_target "$TARGETS/leaf.nofp"
		start_tool -p "$T_PID" --guard=1
		attached "$T_PID"
		kill -KILL "$TOOL_PID"
		wait "$TOOL_PID" || :
		start_tool -p "$T_PID" --attach "$mode"
		attached "$T_PID"
		tell go
		snap
		same
		grep -q memleakbpf-guard "/proc/$T_PID/maps" || fail 'it has no guards'
		stop_tool
		end_target
	done
}

# An operator new is left at its own instructions, by which a block that its stub gives would not come: beside probes it has none.
@test "operator new of jemalloc and tcmalloc: each site's blocks are the truth, by probes and by a gate, also when a later tool takes over" {
	local library modes mode round

	for library in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
		[[ -e $LIBDIR/$library ]] || continue
		for modes in 'session session gate' gate; do
			fresh
			T_ENV+=("LD_PRELOAD=$LIBDIR/$library")
			start_target "$TARGETS/exceptions"
			round=0
			for mode in $modes; do
				start_tool -p "$T_PID" --guard=1 --attach "$mode"
				attached "$T_PID"
				tell go
				snap
				holds ".attach == \"$mode\" and .guard.on and .guard.guarded > 50 and ([.lost[]] | add) == 0"
				jq -e --argjson truth "$TRUTH" --argjson round "$((++round))" '([.stacks[] | select(any(.frames[]; .function == "leak_new_deep"))] | map(.live.count) | add)
					== $truth.live.leak_new_deep.count / $round' <<<"$SNAP" >/dev/null || fail "leak_new_deep with $library, $mode, tool $round: $SNAP"
				stop_tool
			done
			end_target
		done
	done
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
