#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Others at a program whose allocator has a gate: their probes, debuggers, tracers, and a second memleakbpf. It lives, and the numbers are right.

load lib
load gate_safety.bash

# How often each probe comes and goes. It is the kernel that takes its time for it.
ROUNDS=${FOREIGN_ROUNDS:-2}

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

@test "... as it attaches and ends" {
	both foreign_from_before
}

# bpftrace_places KIND: of all functions, as its -e has them.
bpftrace_places() {
	printf "$1:$D/lib/libc.so.6:%s\n" malloc free calloc realloc memalign posix_memalign aligned_alloc valloc pvalloc | paste -sd ,
}

of_bpftrace() {
	local i

	start_ledger 2
	gate
	for ((i = 0; i < ROUNDS; i++)); do
		timeout -k 5 "$((4 * DEADLINE))" bpftrace -p "$T_PID" -e "$(bpftrace_places uprobe),$(bpftrace_places uretprobe) { @hits++; }
			interval:ms:10 { if (@hits > 100) { exit(); } }" >"$D/bpftrace" 2>&1 || fail "round $i: $(<"$D/bpftrace")"
	done
	books
	stop_tool
	end_ledger
}

@test "bpftrace's, at the entries and returns of all functions, come and go" {
	need bpftrace
	both of_bpftrace
}

# sleeps_beside: OTHER is a process with the same C library.
sleeps_beside() {
	env "${T_ENV[@]}" sleep 1000 3>&- {T_IN}>&- {T_OUT}<&- &
	OTHER=$!
	PIDS+=("$OTHER")
	until_true "$DEADLINE" grep -q "$D/lib/libc.so.6" "/proc/$OTHER/maps" || fail 'it has another library'
}

# Its probes are in the other one alone, whatever the kernel goes through meanwhile.
probes_elsewhere() {
	local i

	start_ledger 2
	gate
	sleeps_beside
	for ((i = 0; i < ROUNDS; i++)); do
		run_tool -p "$OTHER" -n 1 -i 10ms
		[[ $STATUS -eq 0 ]] || fail "round $i: status $STATUS: $ERR"
	done
	books
	stop_tool
	end_ledger
}

@test "another memleakbpf's, in another process with the same library, come and go" {
	both probes_elsewhere
}

refused_everywhere() {
	run_tool -p "$1" --children exact-systemwide -n 1 -i 10ms
	[[ $STATUS -eq 1 ]] || fail "status $STATUS: $ERR"
	[[ $(grep -c "no probes in libc.so.6: process $T_PID (ledger): another memleakbpf has its gate in it" <<<"$ERR") -eq 1 ]] || fail "it says: $ERR"
}

# Probes in all processes, the gated one included, would be its end.
probes_everywhere() {
	start_ledger 2
	gate
	sleeps_beside
	refused_everywhere "$OTHER"
	refused_everywhere "$T_PID"
	books
	# What nobody uses is taken away first.
	kill -KILL "$TOOL_PID"
	wait "$TOOL_PID" || :
	until_true "$DEADLINE" untraced || fail 'somebody holds it still'
	text_is_as_file && fail 'there is nothing to take away'
	run_tool -p "$OTHER" --children exact-systemwide -n 1 -i 10ms
	[[ $STATUS -eq 0 ]] || fail "status $STATUS: $ERR"
	until_true "$DEADLINE" text_is_as_file || fail 'it has not been taken away'
	gate
	books
	stop_tool
	end_ledger
}

# bats test_tags=alone
@test "... in all processes: refused, where one of them has a gate" {
	both probes_everywhere
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

# The same of a process whose first thread has ended.
probes_after_leaderless() {
	own_libc
	start_target "$TARGETS/leaderless" first
	attach "${GATE[@]}"
	has_gate
	kill -KILL "$TOOL_PID"
	wait "$TOOL_PID" || :
	attach
	has_probes
	stop_tool
	until_true "$DEADLINE" text_is_as_file || fail 'not as in the file'
	tell go
	end_target
}

has_probes() {
	snap
	holds '.attach | IN("session", "multi", "single")'
}

@test "probes where the tool that had a gate has been killed: the jumps go first" {
	both probes_after
}

@test "... and the main thread has ended" {
	both probes_after_leaderless
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
	timeout "$((4 * DEADLINE))" gdb -nx -p "$T_PID" -batch -ex 'set debuginfod enabled off' "${commands[@]}" >"$D/gdb" 2>&1 </dev/null || fail "gdb: $(tail -5 "$D/gdb")"
}

# In a stub gdb has no way up: at a probe's place, where exact counting spends most of its time, both threads may be at once.
has_backtrace() {
	under_gdb 'thread apply all bt' detach
	grep -q 'ledger_' "$D/gdb"
}

gdb_after() {
	start_ledger 2
	gate
	until_true "$DEADLINE" has_backtrace || fail "no backtrace: $(<"$D/gdb")"
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

@test "a process under strace gets probes in place of a gate, and one line says so" {
	need strace
	both strace_before
}

# held_after HOLDER: it comes to a process that has a gate, and goes.
held_after() {
	start_ledger 2
	gate
	"$1_holds"
	books
	"$1_lets_go"
	books
	stop_tool
	end_ledger
}

# held_at_end HOLDER: the jumps cannot be taken away then, do nothing, and are taken away by the next gate.
held_at_end() {
	start_ledger 2
	gate
	"$1_holds"
	books
	stop_tool
	[[ $(grep -c "the gate's jumps stay in it, .*($1) traces it already" "$D/tool.err") -eq 1 ]] || fail 'it does not say what has become of it'
	tell stat
	text_is_as_file && fail 'there is nothing to take away'
	"$1_lets_go"
	comes_twice
	end_ledger
}

@test "strace, after the attach: the numbers are right meanwhile and after" {
	need strace
	both held_after strace
}

@test "strace, as the tool ends: it says so, and the next gate takes over" {
	need strace
	both held_at_end strace
}

@test "gdb, as the tool ends: the same" {
	need gdb
	both held_at_end gdb
}
