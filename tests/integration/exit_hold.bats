#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The last verdict of a process that ends: it is held after its exit handlers and before its memory goes, and ends as it would have.
# bats file_tags=beside

load lib.bash

# 50 blocks of 100 + 101 + … + 149 bytes are lost. A register or a slot of the stack that nobody has written to since may still hold the address of the last one.
LOST='(. == {"bytes":6225,"count":50} or . == {"bytes":6076,"count":49})'

# ended HOW STATUS [FILTER…]: run mode; the tool's status is the program's, and the final snapshot's verdict is the truth.
ended() {
	local how=$1 status=$2

	shift 2
	run_tool --verdict -f json -o "$D/result" -- "$TARGETS/ending" "$how"
	[[ $STATUS -eq $status ]] || fail "$how: status $STATUS, not $status; $ERR"
	SNAP=$(jq -c 'select(.final and .comm == "ending")' "$D/result")
	[[ -n $SNAP && $SNAP != *$'\n'* ]] || fail "$how: not one final snapshot but: $SNAP"
}

classes() {
	holds '.verdict.refused == null'
	holds ".verdict.definite | $LOST"
	holds '.verdict.indirect.count == 0'
	holds "[.stacks[] | select(any(.frames[]; .function == \"lose\"))] | length == 1 and (.[0].verdict.definite | $LOST)"
	holds '[.stacks[] | select(any(.frames[]; .function == "hold")) | .verdict.reachable] == [{"bytes":4096,"count":1}]'
	holds '.exited'
}

@test "return from main, exit, _exit, quick_exit: the verdict is that of the end, the status the program's" {
	ended return 2
	classes
	holds '.verdict.unknown_bytes == 0'
	ended exit 3
	classes
	ended _exit 4
	classes
	ended quick_exit 5
	classes
}

@test "threads: a block that only another thread's stack holds is held, since no thread has been killed yet" {
	ended threads 2
	classes
	holds '[.stacks[] | select(any(.frames[]; .function == "thread_main")) | .verdict.reachable.bytes] == [777]'
}

@test "a forked child that ends by _exit is held too, and has its own verdict" {
	run_tool --verdict -f json -o "$D/result" -- "$TARGETS/ending" fork
	[[ $STATUS -eq 9 ]] || fail "status $STATUS; $ERR"
	SNAP=$(jq -c 'select(.final and .live.count > 50)' "$D/result")
	classes
}

@test "exec in the middle: the program that remains is judged, the shell before it is not" {
	run_tool --leak-only --error-exitcode 77 -f json -o "$D/result" -- sh -c "exec $TARGETS/ending _exit"
	[[ $STATUS -eq 77 ]] || fail "status $STATUS; $ERR"
	SNAP=$(jq -c 'select(.final and .comm == "ending")' "$D/result")
	holds ".verdict.definite | $LOST"
	SNAP=$(jq -c 'select(.execed)' "$D/result")
	holds '.verdict.refused != null'
}

@test "an end by a signal or a raw system call: no verdict, and a line says so; the status is kept" {
	ended term $((128 + 15))
	holds '.verdict.refused != null'
	ended abort $((128 + 6))
	holds '.verdict.refused != null'
	ended syscall 6
	holds '.verdict.refused != null'
	run_tool --verdict --error-exitcode 77 -- "$TARGETS/ending" syscall
	[[ $STATUS -eq 6 && $ERR == *'not every process has a verdict'* ]] || fail "status $STATUS; $ERR"
}

@test "--error-exitcode: lost blocks count, reachable and suppressed ones do not" {
	run_tool --verdict --error-exitcode 77 -- "$TARGETS/ending" exit
	[[ $STATUS -eq 77 ]] || fail "status $STATUS; $ERR"
	printf 'leak:^lose$\n' >"$D/supp"
	run_tool --verdict --error-exitcode 77 --suppressions "$D/supp" -- "$TARGETS/ending" exit
	[[ $STATUS -eq 3 ]] || fail "status $STATUS; $ERR"
	[[ $OUT == *'50 blocks of 1 stack: ^lose$'* ]] || fail "not said: $OUT"
	run_tool --leak-only --suppressions "$D/supp" -f json -- "$TARGETS/ending" exit
	holds '.stacks == [] and .live.count >= 51 and .suppressed.bytes == 6225' "$OUT"
}

# kill_tool MS: the target's end is asked for, and the tool killed MS ms later.
kill_tool() {
	local status=0

	start_target "$TARGETS/ending" exit wait
	"$TOOL" --verdict -i 1h -p "$T_PID" >/dev/null 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	attached "$T_PID"
	echo go >&"$T_IN"
	sleep "0.0$(printf '%02d' "$1")"
	kill -KILL "$TOOL_PID"
	wait "$TOOL_PID" 2>/dev/null || :
	wait "$T_PID" || status=$?
	[[ $status -eq 3 ]] || fail "killed after $1 ms: the target ended with status $status"
}

@test "the tool is killed while the target is on its way out: it ends, with its own status" {
	for ms in 0 1 2 3 4 5 6 8 10 12 15 20 25 30 40 60 80; do
		kill_tool "$ms"
		clean
		fresh
	done
}
