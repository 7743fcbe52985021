#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Whatever a program does while its allocator has a gate: it lives, no byte of its blocks changes, and the numbers are right.
# bats file_tags=beside

load lib
load gate_safety.bash

at_work() {
	start_ledger 4
	gate
	books
	stop_tool
	end_ledger
}

@test "four threads at work do not notice a gate that comes and goes" {
	ALL_MODES=1 both at_work
}

# children_of LOSS OPTION…: each child and its child take a thousand steps and more.
children_of() {
	local loss=$1 _

	shift
	start_ledger 2
	gate "$@"
	# Read what the tool says of each, or it waits for its reader.
	for _ in {1..6}; do
		tell 'fork 1'
		snap
	done
	tell 'vfork 100'
	snap
	tell 'spawn 3'
	books "$loss"
	tell 'clone 100'
	books short_children
	stop_tool
	end_ledger
}

@test "fork, vfork, posix_spawn and clone(CLONE_VM) amid samples; children that go on allocating, and theirs" {
	both children_of '' --children none
	both children_of short_children --children late
}

@test "the same, each child with a gate of its own from its beginning" {
	need_hold
	both children_of '' --children exact
}

strict_thread() {
	start_ledger 1
	tell strict-thread
	comes_twice
	end_ledger
}

# stat FIELD: of the target, now.
stat() {
	tell stat
	field "$1" "$TRUTH"
}

works_on() {
	[[ $(stat "$1") -gt $2 ]]
}

@test "a thread in strict seccomp mode lives on with a gate" {
	both strict_thread
}

strict_process() {
	start_target "$TARGETS/ledger" 0
	tell 'steps 100'
	"$@"
	tell 'steps 20000'
	stop_tool
	tell 'steps 100'
	kill -KILL "$T_PID"
}

strict_before() {
	tell strict
	gate
}

strict_after() {
	gate
	tell strict
}

@test "seccomp: the process in strict mode, before and after the attach" {
	both strict_process strict_before
	both strict_process strict_after
}

filter_before() {
	start_ledger 2
	tell filter
	gate
	books
	stop_tool
	end_ledger
}

filter_after() {
	start_ledger 2
	gate
	tell filter
	books
	stop_tool
	comes_twice
	end_ledger
}

@test "seccomp: a filter that kills for memfd_create, before and after the attach" {
	both filter_before
	both filter_after
}

# in_signals COMMAND COUNT: with handlers that run so often, before, during and after a gate.
in_signals() {
	local handled

	tell "$1"
	gate
	handled=$(stat .handled)
	until_true "$DEADLINE" works_on .handled $((handled + $2)) || fail 'there are no signals'
	stop_tool
	handled=$(stat .handled)
	until_true "$DEADLINE" works_on .handled $((handled + 20)) || fail 'there are no signals'
	gate
	tell still
	books short_children
	stop_tool
}

profiled() {
	start_ledger 3
	in_signals profile 300
	end_ledger
}

@test "signal handlers that call backtrace() run on with a gate" {
	both profiled
}

forks_in_handlers() {
	start_ledger 1
	in_signals forks-in-handlers 200
	end_ledger
}

@test "signals: a handler that forks amid malloc and free; the child goes on from there" {
	both forks_in_handlers
}

allocates_in_handlers() {
	T_ENV=("LD_PRELOAD=$TARGETS/signal_safe.so")
	start_target "$TARGETS/ledger" 3
	tell small
	tell go
	in_signals handlers 2000
	text_as_file "$TARGETS/signal_safe.so"
	tell calm
	end_target
}

@test "signals: a handler that allocates amid malloc and free" {
	both allocates_in_handlers
}

comes_and_goes() {
	start_ledger 2
	tell 'crowd 1000'
	gate
	tell mob-ends
	books
	tell 'crowd 1000'
	stop_tool
	tell mob-ends
	end_ledger
}

@test "threads that come and go, 1,000 of them, as it attaches and ends" {
	both comes_and_goes
}

mob() {
	start_ledger 2
	tell 'mob 1000'
	gate
	tell mob-ends
	books
	tell 'mob 1000'
	stop_tool
	tell mob-ends
	end_ledger
}

@test "1,000 threads do not notice a gate that comes and goes" {
	both mob
}
