#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# --verdict as a user meets it. Whether it is true is in verdict_truth.bats, what it does to the process in verdict_safety.bats, and that a
# process goes on when the tool is killed 200 times while it holds it in tests/unit/freeze/test_stop.c.
# bats file_tags=beside

load lib.bash

# The classes add up to what is live, of each stack and of all.
adds_up() {
	holds 'def sum: [.definite, .indirect, .possible, .reachable] | {bytes: (map(.bytes) | add), count: (map(.count) | add)};
		(.verdict | sum) == .live and ([.stacks[] | select((.verdict | sum) != .live)] == [])'
	holds '.verdict.pause_ms > 0 and .verdict.total_ms >= .verdict.pause_ms and .verdict.approximate == false'
}

@test "threads at work: the classes of every stack add up to its live blocks" {
	start_target "$TARGETS/busy" 4
	# However long its threads have to wait for their turn to stop.
	attach --verdict --max-pause 20s
	for _ in 1 2 3 4 5; do
		snap
		adds_up
	done
	tell stat
	end_target
	tool_ends
}

# What is freed and allocated while the table is read belongs to another moment.
@test "--snapshot=fork: the same, of the moment of the copy, though the process goes on before all is read" {
	start_target "$TARGETS/busy" 4
	attach --verdict --max-pause 20s --snapshot=fork -v
	for _ in 1 2 3 4 5; do
		snap
		adds_up
	done
	[[ $(grep -c 'of it for the copy' "$D/tool.err") -eq 5 ]] || fail 'not from copies'
	tell stat
	end_target
	tool_ends
}

@test "--snapshot=fork of a process with a seccomp filter: said once, and judged the ordinary way" {
	start_target "$TARGETS/sandbox"
	attach --verdict --snapshot=fork
	tell go
	snap
	holds '.verdict.definite != null'
	snap
	holds '.verdict.definite != null'
	[[ $(grep -c 'is not possible: a seccomp filter' "$D/tool.err") -eq 1 ]] || fail 'not said, or not once'
	end_target
	tool_ends
}

@test "without --verdict there is no verdict until SIGUSR2 asks for one" {
	start_target "$TARGETS/leaf"
	attach
	snap
	holds '.verdict == null and ([.stacks[] | select(.verdict)] == [])'
	kill -USR2 "$TOOL_PID"
	json_line
	SNAP=$LINE
	adds_up
	snap
	holds '.verdict == null'
	end_target
	tool_ends
}

@test "a limit on the pause that cannot be kept: approximate, and said" {
	start_target "$TARGETS/million"
	attach --verdict --max-pause 1ms
	tell go
	snap
	holds '.verdict.approximate or (.verdict.refused | test("did not stop"))'
	end_target
	tool_ends
}

@test "recorded and shown again: the same verdict" {
	start_target "$TARGETS/busy" 2
	: >"$D/tool.err"
	"$TOOL" record -p "$T_PID" -i 1h --verdict --max-pause 1m -o "$D/recording" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	attached "$T_PID"
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?"
	run_tool report "$D/recording" -f json -T 1000 --sort alloc
	SNAP=$OUT
	adds_up
	run_tool report "$D/recording"
	grep -q '^verdict ' <<<"$OUT" || fail "no verdict in: $OUT"
	end_target
}

held() {
	grep -qs '^TracerPid:[[:space:]]*[1-9]' /proc/"$T_PID"/task/*/status
}

let_go() {
	! held
}

# Waits for that, looking all the time: with pauses the looks could keep step with the verdicts, and always come between two.
until_held() {
	local end=$((SECONDS + DEADLINE))

	until held; do
		[[ $SECONDS -lt $end ]] || fail 'it was never seen held'
	done
}

# So much memory that each pause is long enough to be seen; and a thread that is not left asleep. VERDICT_KILLS: how often.
@test "killed in the middle of a verdict: the process goes on" {
	local kills=${VERDICT_KILLS:-5} i

	start_target "$TARGETS/million" 1000 beside
	for ((i = 0; i < kills; i++)); do
		# Nobody reads its reports, and it must not wait for that.
		attach --verdict --max-pause 10m -i 10ms -o /dev/null
		until_held
		kill -KILL "$TOOL_PID"
		wait "$TOOL_PID" || :
		exec {J_OUT}<&-
		# Who holds it is a child of the tool's, and ends with it; by itself it would let go after --max-pause.
		until_true "$DEADLINE" let_go || fail 'still traced'
		tell go
	done
	printf '# killed %d times\n' "$kills" >&3
	end_target
}
