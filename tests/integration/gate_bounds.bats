#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Where a program forbids itself something, unloads its allocator, or ends: it lives as long as it means to, and so does the tool.
# bats file_tags=beside

load lib
load gate_safety.bash

no_gains() {
	start_ledger 2
	tell mdwe
	comes_twice
	end_ledger
}

@test "PR_SET_MDWE: no memory becomes executable" {
	both no_gains
}

# Files in memory are not to be executed, by the setting of a PID namespace of the target's own.
no_memory_files() {
	own_libc
	# shellcheck disable=SC2016
	unshare --pid --fork --kill-child sh -c 'echo 2 >/proc/sys/vm/memfd_noexec && exec "$@"' sh env "LD_LIBRARY_PATH=$D/lib" "$TARGETS/ledger" 2 \
		<"$D/in" >"$D/out" 2>"$D/target.err" 3>&- &
	PIDS+=($!)
	exec {T_IN}>"$D/in" {T_OUT}<"$D/out"
	target_line 'ready 1'
	T_PID=$(pgrep -P "${PIDS[-1]}")
	PIDS+=("$T_PID")
	[[ $(nsenter --target "$T_PID" --pid cat /proc/sys/vm/memfd_noexec) -eq 2 ]] || fail 'they may be'
	tell go
	comes_twice
	text_as_file
	tell calm
	tell quit
}

@test "vm.memfd_noexec=2: no file in memory is executable" {
	[[ -e /proc/sys/vm/memfd_noexec ]] || skip 'this kernel has no vm.memfd_noexec'
	both no_memory_files
}

# A copy of the target that another user runs, and that becomes root by exec.
setuid_exec() {
	own_libc
	cp "$TARGETS/ledger" "$D/ledger"
	cp "$TARGETS/ledger" "$D/ledger.setuid"
	chmod 4755 "$D/ledger.setuid"
	chmod 755 "$D" "$D/lib" "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
	run_target setpriv --reuid 65534 --regid 65534 --clear-groups env "LD_LIBRARY_PATH=$D/lib" "$D/ledger" 2 2>"$D/target.err"
	target_line 'ready '
	tell go
	gate
	books
	printf 'exec %s\n' "$D/ledger.setuid" >&"$T_IN"
	target_line 'ready '
	[[ $(awk '$1 == "Uid:" { print $2, $3 }' "/proc/$T_PID/status") == '65534 0' ]] || fail 'it has not become root'
	await_final
	holds '.attach == "gate"'
	until_true "$DEADLINE" eval '[[ $(grep -c "attached to $T_PID " "$D/tool.err") -eq 2 ]]' || fail 'the new program is not traced'
	tell go
	snap
	# It has the system's own library, where others may have their probes.
	jq -e '.attach == "gate"' <<<"$SNAP" >/dev/null || grep -q 'probes, not a gate' "$D/tool.err" || fail 'it has no gate, and nothing is said'
	LEAKED_BEFORE='{"bytes": 0, "count": 0}'
	books late_probes
	stop_tool
	! grep -q 'jumps stay' "$D/tool.err" || fail 'its gate did not end well'
	until_true "$DEADLINE" untraced || fail 'somebody traces it still'
	tell calm
	end_target
}

@test "exec of a setuid program: the gate ends with the old one, and the new one is root's" {
	[[ $(findmnt -no OPTIONS -T "$BATS_TEST_TMPDIR") != *nosuid* ]] || skip 'no setuid programs on this file system'
	both setuid_exec
}

# of_another_user PROGRAM: a copy that this user may run.
of_another_user() {
	own_libc
	cp "$TARGETS/$1" "$D/$1"
	chmod 755 "$D" "$D/lib" "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"
	USER=(setpriv --reuid 65534 --regid 65534 --clear-groups env "LD_LIBRARY_PATH=$D/lib" "$D/$1")
}

# One thread, before which the jumps are written as it stands still for its pages, by who holds it.
another_users() {
	of_another_user leaf
	run_target "${USER[@]}" 2>"$D/target.err"
	target_line 'ready '
	attach "${GATE[@]}"
	tell go
	has_gate
	stop_tool
	text_as_file
	end_target
}

@test "a process of another user gets a gate" {
	both another_users
}

of_another_users_command() {
	of_another_user short
	timeout "$((2 * DEADLINE))" "$TOOL" -f json "${GATE[@]}" --children exact -- "${USER[@]}" >"$D/both" 2>"$D/tool.err" 3>&- || fail "status $?"
	grep '"version":1' "$D/both" | jq -es 'last | .comm == "short" and .attach == "gate"' >/dev/null || fail "$(grep -c . "$D/both") lines: $(<"$D/tool.err")"
}

@test "a command that becomes another user's gets a gate" {
	need_hold
	both of_another_users_command
}

# So many targets that end.
ENDS=${GATE_ENDS:-12}

# ends_amid: the target is killed as it gets a gate, has one, or loses it; the tool ends well.
ends_amid() {
	local i delay status LOOK_EVERY=0.01 late=$((ENDS * 2 / 3))

	own_libc
	for ((i = 1; i <= ENDS; i++)); do
		T_ENV=("LD_LIBRARY_PATH=$D/lib")
		start_target "$TARGETS/ledger" 2
		tell go
		timeout "$((2 * DEADLINE))" "$TOOL" -f json -i 30ms -n 2 -p "$T_PID" "${GATE[@]}" >"$D/run.out" 2>"$D/run.err" 3>&- &
		TOOL_PID=$!
		until_true "$DEADLINE" eval '[[ $i -gt $late ]] || is_traced || ! alive "$TOOL_PID"' || fail 'it is not stopped'
		delay=$((RANDOM % (i > late ? 900 : 5)))
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

@test "a library with an allocator is closed, and opened again elsewhere" {
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
