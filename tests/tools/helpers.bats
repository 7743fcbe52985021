#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What the integration tests wait by, and which attach modes they go through (tests/integration/lib.bash). No tool and no root is needed.

# Those of a machine that has all of them, whatever this run was asked for.
unset MODES NIGHTLY
load ../integration/lib.bash
MODES='session multi single gate'

setup() {
	fresh
}

# A failure of which bash takes note.
not() {
	if "$@"; then
		return 1
	fi
}

# as_tool COMMAND…: in the tool's place.
as_tool() {
	"$@" >"$D/json" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	exec {J_OUT}<"$D/json"
}

# A machine that gives it no time: stopped for longer than it may take.
@test "a tool that gets no processor time is waited for" {
	TOOL_SECONDS=1 DEADLINE=1000
	as_tool "$BASH" -c 'sleep 2; echo "it works" >&2; sleep 2; printf "half a "; sleep 2; echo line'
	tool_says '^it works$'
	json_line
	[ "$LINE" = 'half a line' ]
	not json_line
}

@test "a tool that takes processor time and does not come to an end is not" {
	TOOL_SECONDS=1 DEADLINE=1000
	as_tool "$BASH" -c 'while :; do :; done'
	run tool_says never
	[ "$status" -eq 1 ]
	[[ "$output" == *"FAILED: the tool did not say 'never'"* ]]
	run json_line
	[[ "$output" == *'FAILED: no snapshot'* ]]
	not until_true 1000 false
}

@test "a tool that hangs is not, either" {
	DEADLINE=1
	as_tool sleep 1000
	run tool_says never
	[[ "$output" == *"FAILED: the tool did not say 'never'"* ]]
	run json_line
	[[ "$output" == *'FAILED: no snapshot'* ]]
	not until_true 1 false
}

@test "what others take of the processors is no time of the tool's" {
	local busy

	TOOL_SECONDS=1 DEADLINE=1000
	"$BASH" -c 'while :; do :; done' 3>&- &
	busy=$!
	PIDS+=("$busy")
	as_tool sleep 1000
	wait_begins
	taken() {
		processor_ticks "$busy"
		[[ $TICKS -gt 200 ]]
	}
	until taken; do pause; done
	not waited_enough
}

note_mode() {
	printf '%s/%s ' "$MODE" "$MODES" >>"$BATS_TEST_TMPDIR/modes"
}

# modes_of_weeks FUNCTION: what a month of weeks has of it.
modes_of_weeks() {
	local week

	: >"$BATS_TEST_TMPDIR/modes"
	for week in 2950 2951 2952 2953; do
		TESTS_WEEK=$week "$1" note_mode
	done
	tr ' ' '\n' <"$BATS_TEST_TMPDIR/modes" | sort | xargs
}

@test "one attach mode a week, and all of them in a month" {
	[ "$(modes_of_weeks each_mode)" = 'gate/gate multi/multi session/session single/single' ]
	# Of three modes one comes twice.
	[ "$(modes_of_weeks each_way | tr ' ' '\n' | sort -u | xargs)" = 'gate/gate session/session single/single' ]
	probe_modes
	[ "$(modes_of_weeks each_mode | tr ' ' '\n' | sort -u | xargs)" = 'multi/multi session/session single/single' ]
}

@test "all attach modes: in files that say so, by night, and if they are asked for" {
	local all='session multi single gate' said

	printf -v said 'session/%s multi/%s single/%s gate/%s ' "$all" "$all" "$all" "$all"
	ALL_MODES=1 each_mode note_mode
	NIGHTLY=1 each_mode note_mode
	MODES_WANTED=$all each_mode note_mode
	[ "$(<"$BATS_TEST_TMPDIR/modes")" = "$said$said$said" ]
}
