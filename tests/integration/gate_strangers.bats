#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Others at a program whose allocator has a gate: their probes, debuggers, tracers, and a second memleakbpf. It lives, and the numbers are right.

load lib
load gate_safety.bash

# How often each probe comes and goes. It is the kernel that takes its time for it.
ROUNDS=${FOREIGN_ROUNDS:-4}

# Where the functions begin in the file.
entries() {
	nm -D "$D/lib/libc.so.6" | awk '$3 ~ /^(malloc|free|calloc|realloc|memalign|posix_memalign|valloc|pvalloc)@/ { print $1 }' | sort -u
}

foreign_probes() {
	start_ledger 2
	gate
	# shellcheck disable=SC2046
	"$TARGETS/foreign" "$D/lib/libc.so.6" "$ROUNDS" $(entries) >"$D/hits" || fail 'no probes'
	[[ $(<"$D/hits") -gt 100 ]] || fail "only $(<"$D/hits") hits"
	books
	stop_tool
	end_ledger
}

@test "somebody's probes on the first byte of each function come and go" {
	both foreign_probes
}

foreign_from_before() {
	local others

	start_ledger 2
	# shellcheck disable=SC2046
	"$TARGETS/foreign" "$D/lib/libc.so.6" "$ROUNDS" $(entries) >"$D/hits" &
	others=$!
	PIDS+=("$others")
	until_true "$DEADLINE" eval '! text_is_as_file' || fail 'no probe comes'
	gate
	stop_tool
	gate
	wait "$others" || fail 'no probes'
	books
	stop_tool
	end_ledger
}

text_is_as_file() {
	(text_as_file) 2>/dev/null
}

@test "... as it attaches and ends" {
	both foreign_from_before
}

of_bpftrace() {
	start_ledger 2
	gate
	bpftrace -p "$T_PID" -e "uprobe:$D/lib/libc.so.6:malloc,uprobe:$D/lib/libc.so.6:free,uretprobe:$D/lib/libc.so.6:calloc { @hits++; }
		interval:ms:10 { if (@hits > 100) { exit(); } }" >"$D/bpftrace" 2>&1 || fail "$(<"$D/bpftrace")"
	books
	stop_tool
	end_ledger
}

@test "bpftrace's" {
	need bpftrace
	both of_bpftrace
}

# refused_second OPTION…: another tool says in one line that it cannot.
refused_second() {
	run_tool -p "$T_PID" -n 1 "$@"
	[[ $STATUS -ne 0 ]] || fail 'a second tool is there'
	[[ $ERR == "memleakbpf: process $T_PID (ledger) is not traced: another memleakbpf has its gate in it" ]] || fail "it says: $ERR"
}

two_tools() {
	start_ledger 2
	gate
	refused_second
	refused_second -s 64k
	refused_second "${GATE[@]}"
	books
	stop_tool
	end_ledger
}

# A probe within a jump would be the target's end.
@test "a second memleakbpf where there is a gate, with probes or a gate of its own: refused" {
	both two_tools
}

probes_after() {
	start_ledger 2
	gate
	kill -KILL "$TOOL_PID"
	wait "$TOOL_PID" || :
	until_true "$DEADLINE" untraced || fail 'somebody holds it still'
	text_is_as_file && fail 'there is nothing to take away'
	TOOL_PID=''
	tell stat
	LEAKED_BEFORE=$(field .live.ledger_leak "$TRUTH")
	attach
	has_probes
	books
	stop_tool
	end_ledger
}

has_probes() {
	snap
	holds '.attach | IN("session", "multi", "single")'
}

@test "probes where the tool that had a gate has been killed: the jumps go first" {
	both probes_after
}

probes_first() {
	start_ledger 2
	tell stat
	LEAKED_BEFORE=$(field .live.ledger_leak "$TRUTH")
	attach
	run_tool -f json -i 200ms -n 2 -p "$T_PID" "${GATE[@]}"
	[[ $STATUS -eq 0 ]] || fail "the second tool: status $STATUS: $ERR"
	grep -q 'probes, not a gate: .* is not as in its file' <<<"$ERR" || fail "it says: $ERR"
	jq -es 'last.attach != "gate"' <<<"$OUT" >/dev/null || fail "it has a gate: $OUT"
	books
	stop_tool
	end_ledger
}

@test "a gate where another memleakbpf has its probes" {
	both probes_first
}

# under_gdb COMMAND…: gdb attaches, does that, and lets go.
under_gdb() {
	local command commands=()

	for command; do
		commands+=(-ex "$command")
	done
	timeout 120 gdb -nx -p "$T_PID" -batch -ex 'set debuginfod enabled off' "${commands[@]}" >"$D/gdb" 2>&1 </dev/null || fail "gdb: $(tail -5 "$D/gdb")"
}

gdb_after() {
	start_ledger 2
	gate
	under_gdb 'thread apply all bt' detach
	grep -q 'ledger_' "$D/gdb" || fail "no backtrace: $(<"$D/gdb")"
	under_gdb 'tbreak malloc' continue bt 'tbreak free' continue bt 'finish' detach
	grep -q 'hit Temporary breakpoint 2' "$D/gdb" || fail "it did not come to the breakpoint: $(<"$D/gdb")"
	books
	stop_tool
	end_ledger
}

@test "gdb, after the attach: backtraces, breakpoints on malloc and free" {
	need gdb
	both gdb_after
}

# tracer_of PID: who traces it.
tracer_of() {
	sed -n 's/^TracerPid:[[:space:]]*//p' "/proc/$1/status"
}

is_traced() {
	[[ $(tracer_of "$T_PID") -ne 0 ]]
}

gdb_holds() {
	gdb -nx -p "$T_PID" -batch -ex 'set debuginfod enabled off' -ex "shell touch $D/gdb.there" -ex continue </dev/null >"$D/gdb" 2>&1 3>&- &
	GDB_PID=$!
	PIDS+=("$GDB_PID")
	until_true "$DEADLINE" test -e "$D/gdb.there" || fail "$(<"$D/gdb")"
	is_traced || fail 'gdb has let go'
}

gdb_lets_go() {
	kill -KILL "$GDB_PID"
	wait "$GDB_PID" || :
	until_true "$DEADLINE" untraced || fail 'gdb does not let go'
}

# no_gate REGEX: it has probes, the numbers are right, and one line says why.
no_gate() {
	snap
	holds '.attach != "gate" and .attach != "mixed"'
	[[ $(grep -Ec "probes, not a gate: .*$1" "$D/tool.err") -eq 1 ]] || fail 'it does not say why'
	! grep -q memleakbpf-gate "/proc/$T_PID/maps" || fail 'there is a gate'
	books
}

# Attaches where there can be no gate.
attach_all_the_same() {
	LEAKED_BEFORE=$(field .live.ledger_leak "$TRUTH")
	attach "${GATE[@]}"
}

gdb_before() {
	start_ledger 2
	gdb_holds
	attach_all_the_same
	no_gate 'process [0-9]+ \(gdb\) traces it already'
	stop_tool
	gdb_lets_go
	end_ledger
}

@test "gdb, before the attach: probes, and one line" {
	need gdb
	both gdb_before
}

strace_before() {
	own_libc
	strace -f -qq -o /dev/null -e trace=none -E "LD_LIBRARY_PATH=$D/lib" "$TARGETS/ledger" 2 <"$D/in" >"$D/out" 2>"$D/target.err" 3>&- &
	PIDS+=($!)
	exec {T_IN}>"$D/in" {T_OUT}<"$D/out"
	target_line 'ready '
	T_PID=${LINE#ready }
	PIDS+=("$T_PID")
	tell go
	attach_all_the_same
	no_gate 'process [0-9]+ \(strace\) traces it already'
	stop_tool
	tell calm
	tell quit
}

@test "strace: probes, and one line" {
	need strace
	both strace_before
}
