#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Verdicts on a process with guarded blocks: what one of them points to is held as by any other block, as long as it is not freed.
# bats file_tags=beside

load lib.bash

setup() {
	[[ -x $TOOL ]] || fail "no $TOOL: run make first"
	need_gate # the same machine code
	fresh
}

# verdicts PROGRAM: each case of it, its blocks guarded where they fit, as far as a site's share goes.
verdicts() {
	start_target "$TARGETS/$1"
	start_tool -p "$T_PID" --guard=1 --guard-slots=4096 --verdict -v
	attached "$T_PID"
	tool_says "^memleakbpf: process $T_PID .*: guards before"
	tell all
	snap
	judged
	holds '.guard.on and .guard.in_use > 100 and .bad_accesses == []'
	end_target
	tool_ends
	clean
}

@test "verdicts are the same with each block guarded as without guards" {
	local program

	for program in verdict_heap.nofp verdict_cxx.nofp; do
		verdicts "$program"
	done
}
