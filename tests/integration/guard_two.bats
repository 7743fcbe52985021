#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Two memleakbpf at one process, of which one at least has guards: they come and go one after the other, the second one says who has them, and
# the process lives.
# bats file_tags=beside

load lib.bash

setup() {
	[[ -x $TOOL ]] || fail "no $TOOL: run make first"
	need_gate # the same machine code
	fresh
}

# second OPTION…: another tool, to its end.
second() {
	STATUS=0
	OUT=$("$TOOL" -f json -i 20ms -n 1 -p "$T_PID" "$@" 2>"$D/second.err" 3>&- {T_IN}>&- {T_OUT}<&-) || STATUS=$?
	ERR=$(<"$D/second.err")
}

second_has_none() {
	[[ $STATUS -eq 0 ]] || fail "status $STATUS: $ERR"
	jq -es --arg who "another memleakbpf (process $TOOL_PID) has its guards in it, and is to end first" \
		'last.guard | (.on | not) and .reason == $who' <<<"$OUT" >/dev/null || fail "second: $STATUS, $ERR, $OUT"
	[[ $(grep -c "process $T_PID .* has no guards: another memleakbpf (process $TOOL_PID) has its guards in it, and is to end first" <<<"$ERR") -eq 1 ]] ||
		fail "it says: $ERR"
}

@test "two at once: the second is told which process has the guards, and those go on; after kill -9 of the first it has them" {
	start_target "$TARGETS/guarded.nofp"
	start_tool -p "$T_PID" --guard=1
	attached "$T_PID"
	second --gate --guard=1
	second_has_none
	second --guard=1
	second_has_none
	# One without any puts its probes where they see the first one's blocks.
	second
	[[ $STATUS -eq 0 ]] || fail "status $STATUS: $ERR"
	jq -es 'last.attach != "gate" and ([last.lost[]] | add) == 0' <<<"$OUT" >/dev/null || fail "second: $OUT"
	tell bugs
	snap
	holds '.guard.on and .guard.guarded > 10 and (.bad_accesses | length) > 5'
	kill -KILL "$TOOL_PID"
	wait "$TOOL_PID" || :
	second --gate --guard=1
	jq -es 'last.guard.on' <<<"$OUT" >/dev/null || fail "second: $STATUS, $ERR, $OUT"
	tell right
	[[ $(jq .failed <<<"$TRUTH") == false ]] || fail 'its own results are wrong'
	end_target
}

# others_turn: python3 has it, until it is killed.
others_turn() {
	start_target "$TARGETS/guarded.nofp"
	coproc HOLDER { exec /usr/bin/python3 -c 'import fcntl, signal, sys
maps = open(sys.argv[1])
fcntl.flock(maps, fcntl.LOCK_EX)
print("locked", flush=True)
signal.pause()' "/proc/$T_PID/maps" 3>&-; }
	PIDS+=("$HOLDER_PID")
	read -r -t "$DEADLINE" _ <&"${HOLDER[0]}" || fail 'no lock'
}

# in_turn OPTION…
in_turn() {
	others_turn
	start_tool -p "$T_PID" -v "$@"
	tool_says "^memleakbpf: process $T_PID .*: waits for another memleakbpf to come or go"
	! grep -q 'attached to\|not waited for' "$D/tool.err" || fail 'it does not wait'
	! grep -q memleakbpf "/proc/$T_PID/maps" || fail 'it does not wait'
	kill "$HOLDER_PID"
	attached "$T_PID"
	! grep -q 'not waited for' "$D/tool.err" || fail 'it has not waited'
	stop_tool
	end_target
	fresh
}

@test "a tool waits while another one attaches or ends" {
	in_turn
	in_turn --gate
	in_turn --guard
}

@test "... but not for ever, and once in all" {
	others_turn
	second --gate --guard=1 -v
	jq -es 'last.guard.on' <<<"$OUT" >/dev/null || fail "$STATUS, $ERR, $OUT"
	[[ $(grep -c 'waits for another' <<<"$ERR") -eq 1 && $(grep -c 'it is not waited for any more' <<<"$ERR") -eq 1 ]] || fail "it says: $ERR"
	kill "$HOLDER_PID"
	end_target
}

# A probe where the gate's jump has come since would end the process: gdb has the first tool stand between the two.
@test "a gate that comes between another one's look at the functions and its probes waits, and then has none" {
	local gdb

	need gdb
	start_target "$TARGETS/guarded.nofp"
	mkfifo "$D/go"
	printf '%s\n' 'set debuginfod enabled off' 'handle SIGCHLD nostop noprint' 'break attach_probes' \
		"run -i 1h -p $T_PID >$D/first 2>$D/first.err" "shell touch $D/there; cat $D/go" delete continue >"$D/commands"
	gdb -nx -batch -x "$D/commands" "$TOOL" </dev/null >"$D/gdb" 2>&1 3>&- &
	gdb=$!
	PIDS+=("$gdb")
	until_true "$DEADLINE" test -e "$D/there" || fail "$(<"$D/gdb")"
	start_tool -p "$T_PID" -v --gate
	tool_says "^memleakbpf: process $T_PID .*: waits for another memleakbpf to come or go"
	echo >"$D/go"
	attached "$T_PID"
	grep -q 'probes, not a gate: .* is not as in its file' "$D/tool.err" || fail 'it has a gate'
	tell right
	[[ $(jq .failed <<<"$TRUTH") == false ]] || fail 'its own results are wrong'
	grep -q "attached to $T_PID" "$D/first.err" || fail "the first: $(<"$D/first.err") $(<"$D/gdb")"
	kill -KILL "$gdb" # and with it what it runs
	stop_tool
	end_target
}

# Any two, at any moments, some of them killed.
@test "two come and go at random: the process lives, and has one set of guards at the end" {
	own_libc
	/usr/bin/python3 "$HERE/guard_two.py" "$TOOL" "$TARGETS/ledger" "$D/lib/libc.so.6" "${GUARD_ROUNDS:-3}" "${GUARD_SEED:-$RANDOM}" >"$D/two" 2>&1 3>&- || fail "$(<"$D/two")"
	sed 's/^/# /' "$D/two" >&3
}
