#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Two processes in one memory, neither a thread of the other: clone(CLONE_VM) without CLONE_THREAD. Blocks belong to the memory.
# bats file_tags=beside

load lib.bash

# What both have done is in one snapshot, and nothing else is there.
both_right() {
	tell go
	snap
	same
	holds '.unknown_frees == 0 and .verdict.definite.count == 0'
	tell hold
	snap
	same
	holds '.verdict.definite.count == 0 and .verdict.indirect.count == 0'
	tell stop
	snap
	same
	end_target
	tool_ends
	final
	same
	[[ $(printf '%s\n' "${SNAPS[@]}" | jq -r .pid | sort -u) == "$T_PID" ]] || fail 'other targets'
}

there_before() { # OPTION…
	start_target "$TARGETS/sharer" first
	attach --verdict "$@"
	both_right
}

@test "an earlier process in the target's memory is counted and judged as one with it" {
	each_way there_before
}

@test "the same with --children exact, and with --no-follow" {
	there_before --children exact
	clean
	fresh
	there_before --no-follow
}

made_later() { # OPTION…
	start_target "$TARGETS/sharer"
	attach --verdict -v "$@"
	tell share
	child=$(field .child "$TRUTH")
	# Links are for one process: it gets some of its own, and what it has done before is not known. A gate is in the memory, and
	# nothing is waited for.
	if [[ $MODE != single && $MODE != gate && $# -eq 0 ]]; then
		tool_says "process $child runs in the memory of process $T_PID"
		snap
		holds '.lost.late_probes == 1'
		SHIFT='.lost.late_probes -= 1'
	fi
	both_right
}

# The loss that made_later has seen is no difference.
same() {
	local differences

	differences=$(compare "$TRUTH" "$(jq -c "${SHIFT:-.}" <<<"$SNAP")") || fail 'compare.jq failed'
	[[ -z $differences ]] || fail "$differences"
}

@test "a later process in the target's memory is counted and judged as one with it" {
	each_way made_later
}

# bats test_tags=alone
@test "the same with --children exact-systemwide: nothing of it is lost" {
	made_later --children exact-systemwide
}

# By links for one process nothing is seen of them, which is counted; else all.
brief() { # OPTION…
	start_target "$TARGETS/sharer"
	attach "$@"
	tell brief
	snap
	if [[ $MODE == single || $MODE == gate ]]; then
		holds '.live.count == 2000 and .live.bytes == 100000 and .lost.late_probes == 0'
	else
		holds '.live.count == 0 and .lost.late_probes == 20'
	fi
	stop_tool
	end_target
}

@test "processes in the target's memory that end at once: each is seen, or counted as missed" {
	each_way brief
	MODE=multi brief --children exact
}

outlives() {
	start_target "$TARGETS/sharer" first
	attach
	tell go
	child=$(field .child "$TRUTH")
	PIDS+=("$child")
	tell outlive
	end_target
	tool_says "process $T_PID \\(sharer\\) has ended; process $child, which runs in its memory, goes on and is no longer watched"
	tool_ends
	final
	same
	kill "$child"
}

@test "the target ends while a process in its memory goes on: a line says so" {
	each_way outlives
}

@test "both processes of one memory are named: they are one target" {
	start_target "$TARGETS/sharer" first
	tell hold
	child=$(field .child "$TRUTH")
	start_tool -p "$child,$T_PID"
	attached "$child"
	snap "$child"
	stop_tool
	[[ $(grep -c 'attached to' "$D/tool.err") -eq 1 ]] || fail 'attached twice'
	tell stop
	end_target
}
