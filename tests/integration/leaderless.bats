#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Processes whose main thread has ended while others go on.
# bats file_tags=beside

load lib.bash

# The target has a C library of its own: what tools of other tests do, which may have ended a while ago, takes no probes out here.
start_leaderless() {
	own_libc
	start_target "$TARGETS/leaderless" "$@"
}

# Another tool comes to a process with the same C library and goes: the kernel looks anew where probes belong. It does so for some time after
# the tool's end: its programs go when that is done.
another_tracer() {
	local ids other

	env "${T_ENV[@]}" sleep 1000 3>&- {T_IN}>&- {T_OUT}<&- &
	OTHER=$!
	PIDS+=("$OTHER")
	until_true "$DEADLINE" grep -q "$D/lib/" "/proc/$OTHER/maps" || fail 'no other process'
	: >"$D/other.err" # now, so that nobody reads what an earlier one said
	env --default-signal=INT "$TOOL" -f json -i 1h -p "$OTHER" >"$D/other.json" 2>"$D/other.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	other=$!
	PIDS+=("$other")
	until_true "$DEADLINE" grep -q 'attached to' "$D/other.err" || fail "the other tool: $(<"$D/other.err")"
	ids=$(bpf_ids "$other" | grep ^prog)
	kill -INT "$other"
	wait "$other" || fail "the other tool ended with status $?"
	gone() {
		! bpf_any_left <<<"$ids"
	}
	until_true "$DEADLINE" gone || fail 'the other tool has left programs behind'
	kill "$OTHER"
}

# next_thread: the thread that obeys is another one from now on.
next_thread() {
	local before

	before=$(ls "/proc/$T_PID/task")
	printf 'next\n' >&"$T_IN"
	changed() {
		[[ $(ls "/proc/$T_PID/task") != "$before" && $(find "/proc/$T_PID/task" -mindepth 1 -maxdepth 1 | wc -l) -eq 2 ]]
	}
	until_true "$DEADLINE" changed || fail 'no other thread'
}

leaderless() {
	start_leaderless first
	attach -v --verdict
	another_tracer
	next_thread
	tool_says 'its probes hang on thread'
	another_tracer
	tell go
	snap
	holds '.pid == '"$T_PID"' and .comm == "leaderless" and .cmdline[0] != null '
	if [[ $MODE == single ]]; then
		SNAP=$(jq -c '.lost.removed_probes = 0' <<<"$SNAP")
	fi
	same any
	holds '[.stacks[] | select(.frames[1].function == "leak_lost") | .verdict.definite.count] == [50]'
	holds '[.stacks[] | select(.frames[1].function == "leak_held") | .verdict.reachable.count] == [50]'
	end_target
	tool_ends
	final
	[[ $MODE == single ]] || same any
}

@test "the main thread has ended before the tool comes, other tracers come and go: all is counted, and judged" {
	each_way leaderless
}

@test "--children exact where the main thread has ended" {
	start_leaderless first
	attach --children exact
	another_tracer
	tell go
	snap
	same
	end_target
	tool_ends
}

leaves() {
	start_leaderless
	attach -v
	tell leave
	if [[ $MODE == single ]]; then
		# Put in anew by a thread that lives. Meanwhile none had an effect.
		tool_says 'its probes hang on thread'
		another_tracer
		tell go
		snap
		holds '.lost.removed_probes > 0'
		SNAP=$(jq -c '.lost.removed_probes = 0' <<<"$SNAP")
		same any
		end_target
		tool_ends
		return
	fi
	# For links that takes a privilege which the tool has given up by then.
	tool_says 'its main thread has ended, so the kernel may take our probes out'
	tell go
	snap
	same any
	another_tracer
	snap
	holds '.lost.removed_probes > 0'
	# Attached anew they stay.
	stop_tool
	attach
	another_tracer
	snap
	holds '.lost.removed_probes == 0'
	end_target
	tool_ends
}

@test "the main thread ends while the tool watches, another tracer comes and goes: counted, or said" {
	probe_modes # a gate is in the memory, whoever has ended
	each_way leaves
}

exec_by_thread() {
	start_leaderless
	attach
	printf 'exec\n' >&"$T_IN"
	target_line 'ready '
	again() {
		[[ $(grep -c "attached to $T_PID " "$D/tool.err") -eq 2 ]]
	}
	until_true "$DEADLINE" again || fail 'not attached to the new program'
	tell go
	snap
	# They were put in when it ran already.
	holds '.lost.late_probes > 0'
	SNAP=$(jq -c '.lost.late_probes = 0' <<<"$SNAP")
	same any
	end_target
	tool_ends
}

@test "a thread other than the main one executes another program, which is traced" {
	each_way exec_by_thread
}

# The main thread is one of the first to go, and nearly always not the last.
@test "a process that ends as a whole: nothing is said of its main thread" {
	local i

	for ((i = 0; i < 10; i++)); do
		fresh
		start_leaderless
		attach -v
		tell crowd
		end_target
		tool_ends
		! grep -e 'main thread has ended' -e 'its probes hang on' "$D/tool.err" || fail "round $i: it says that the process goes on"
		clean
	done
}
