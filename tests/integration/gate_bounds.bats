#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Where a program forbids itself something, unloads its allocator, or ends: it lives as long as it means to, and so does the tool.

load lib
load gate_safety.bash

no_gains() {
	start_ledger 2
	tell mdwe
	gate
	books
	stop_tool
	gate
	books
	stop_tool
	end_ledger
}

@test "PR_SET_MDWE: no memory becomes executable" {
	both no_gains
}

# ends_amid: the target is killed as it gets a gate, has one, or loses it; the tool ends well.
ends_amid() {
	local i delay status

	own_libc
	for i in {1..12}; do
		T_ENV=("LD_LIBRARY_PATH=$D/lib")
		start_target "$TARGETS/ledger" 2
		tell go
		timeout 60 "$TOOL" -f json -i 30ms -n 2 -p "$T_PID" "${GATE[@]}" >"$D/run.out" 2>"$D/run.err" 3>&- &
		TOOL_PID=$!
		until_true "$DEADLINE" eval '[[ $i -gt 8 ]] || is_traced || ! alive "$TOOL_PID"' || fail 'it is not stopped'
		delay=$((RANDOM % (i > 8 ? 900 : 5)))
		pause "0.$(printf '%03d' "$delay")"
		kill -KILL "$T_PID"
		status=0
		wait "$TOOL_PID" || status=$?
		[[ $status -eq 0 || $status -eq 1 ]] || fail "the tool's status is $status: $(<"$D/run.err")"
		[[ $(wc -l <"$D/run.err") -le 2 ]] || fail "it says: $(<"$D/run.err")"
		wait "$T_PID" || :
		exec {T_IN}>&- {T_OUT}<&-
	done
}

is_traced() {
	grep -hq '^TracerPid:[[:space:]]*[1-9]' "/proc/$T_PID/task/"*/status 2>/dev/null
}

@test "the target is killed amid all of it: the tool ends well" {
	both ends_amid
}

plugin() {
	start_ledger 1
	tell "open $TARGETS/signal_safe.so"
	gate
	tell 'use 20000'
	tell close
	tell "open $TARGETS/signal_safe.so"
	tell 'use 20000'
	tell close
	tell "open $TARGETS/signal_safe.so"
	tell 'use 20000'
	books late_probes
	stop_tool
	tell 'use 20000'
	text_as_file "$(readlink -f "$TARGETS/signal_safe.so")"
	end_ledger
}

@test "a library with an allocator that is closed, and opened again elsewhere" {
	both plugin
}

with_plugin_closed() {
	start_ledger 1
	tell "open $TARGETS/signal_safe.so"
	gate
	tell 'use 20000'
	tell close
	books
	stop_tool
	end_ledger
}

@test "... and not" {
	both with_plugin_closed
}
