#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Where a process cannot have a gate: it has probes, one line says why, by --attach gate it is an error, and nothing of the attempt is left in the process.

load lib
load gate_safety.bash

# calm_ledger THREADS COMMAND…: nobody is at work, and nothing of it changes by itself.
calm_ledger() {
	local command

	own_libc
	start_target "$TARGETS/ledger" "$1"
	for command in "${@:2}"; do
		tell "$command"
	done
}

# What a gate would change: mappings, code, descriptors, who traces the threads, their names, states, and what they do with signals. Not where the kernel
# steps and calls for probes, which are pages that stay.
traces() {
	grep -v '\[uprobes' "/proc/$T_PID/maps"
	code_sum "$T_PID"
	find "/proc/$T_PID/fd" -mindepth 1 -printf '%f %l\n' | sort
	grep -HE '^(Name|State|TracerPid|SigPnd|SigBlk|SigIgn|SigCgt|ShdPnd|Seccomp)' "/proc/$T_PID/task/"*/status
	cut -d ' ' -f 1,2,3 "/proc/$T_PID/task/"*/syscall
}

# nothing_left BEFORE: it is as it was. The kernel takes its time to take probes away.
nothing_left() {
	local wanted=$1

	until_true "$DEADLINE" eval '[[ $(traces) == "$wanted" ]]' || fail "a trace is left: $(diff <(printf '%s\n' "$wanted") <(traces))"
}

# settled: BEFORE, what there is of it once all of its threads wait: what has just answered is on its way there.
settled() {
	BEFORE=$(traces)
	! grep -Eq 'State:[[:space:]]*[RD]|running' <<<"$BEFORE" && [[ $(traces) == "$BEFORE" ]]
}

# refuse_gate REGEX [OPTION…]: twice.
refuse_gate() {
	until_true "$DEADLINE" settled || fail "it does not come to rest: $BEFORE"
	refuse_gate_as_it_is "$@"
}

# The same of a process that stands still.
refuse_gate_as_it_is() {
	local regex=$1 before

	shift
	before=$(traces)
	attach "${GATE[@]}" "$@"
	[[ $(grep -Ec "probes, not a gate: .*$regex" "$D/tool.err") -eq 1 ]] || fail 'it does not say why, or more than once'
	snap
	holds '.attach != "gate" and .attach != "mixed"'
	stop_tool
	nothing_left "$before"
	run_tool --attach gate "${GATE[@]}" "$@" -p "$T_PID" -n 1 -i 10ms
	refused 1 "it cannot have a gate: .*$regex"
	nothing_left "$before"
}

# What was in the way is not there any more. That a gate comes a second time is for gate_safety.bats and gate_kill.bats.
gate_after_all() {
	tell go
	gate
	books
	stop_tool
	end_ledger
}

limited() {
	calm_ledger 2 limit
	refuse_gate 'it cannot map (code|memory): Cannot allocate memory'
	prlimit --pid "$T_PID" --as=unlimited
	gate_after_all
}

@test "a process at its RLIMIT_AS gets no gate until it has more" {
	both limited
}

# There is room for the code, and none for the data: what is mapped is unmapped.
half_limited() {
	calm_ledger 2
	prlimit --pid "$T_PID" --as=$((1024 * ($(awk '/^VmSize/ { print $2 }' "/proc/$T_PID/status") + 700))):
	refuse_gate 'it cannot map memory: Cannot allocate memory'
	prlimit --pid "$T_PID" --as=unlimited
	gate_after_all
}

@test "a process with address space for half of a gate gets none" {
	both half_limited
}

no_descriptors() {
	calm_ledger 2
	prlimit --pid "$T_PID" --nofile=0:
	refuse_gate 'it cannot make a file in memory: Too many open files'
	prlimit --pid "$T_PID" --nofile=1000:
	gate_after_all
}

@test "a process at its RLIMIT_NOFILE gets no gate until it has descriptors" {
	both no_descriptors
}

no_hole() {
	calm_ledger 2 fill
	refuse_gate 'nothing is free within 2 GiB of its allocator'
	tell go
	end_ledger
}

@test "a process with nothing free within 2 GiB of its allocator gets no gate" {
	both no_hole
}

dispatched() {
	calm_ledger 0 dispatch
	refuse_gate 'its system calls are turned into signals'
	tell 'steps 1000'
	end_ledger
}

@test "a process whose system calls are turned into signals" {
	both dispatched
}

# The tool is root, but for what suspends filters.
filtered() {
	calm_ledger 2 filter
	printf '#!/bin/bash\nexec setpriv --bounding-set=-sys_admin --inh-caps=-sys_admin %q "$@"\n' "$TOOL" >"$D/tool"
	chmod +x "$D/tool"
	TOOL=$D/tool
	refuse_gate 'a seccomp filter watches its system calls, which only a tool with CAP_SYS_ADMIN may suspend'
	TOOL=$BUILD/memleakbpf
	gate_after_all
}

@test "a process with a seccomp filter gets no gate from a tool without CAP_SYS_ADMIN" {
	both filtered
}

# breakpoint BYTE: that byte, in hexadecimal, among those that malloc's jump takes.
breakpoint() {
	local start offset malloc

	read -r start offset < <(awk '/ r-xp .*\/lib\/libc.so.6$/ { split($1, range, "-"); print range[1], $3 }' "/proc/$T_PID/maps")
	malloc=$(nm -D --defined-only "$D/lib/libc.so.6" | awk '$3 ~ /^malloc(@|$)/ { print $1; exit }')
	as_debugger "$T_PID" $((0x$start - 0x$offset + 0x$malloc + 4)) "$1"
}

# as_debugger PID ADDRESS BYTE: writes it as a debugger does, by PTRACE_POKEDATA. To others /proc/PID/mem of newer kernels may refuse text.
as_debugger() {
	/usr/bin/python3 - "$@" <<-'EOT' || fail 'no breakpoint'
		import ctypes, os, sys
		PEEK, POKE, DETACH, SEIZE, INTERRUPT, WALL = 2, 5, 17, 0x4206, 0x4207, 0x40000000
		pid, address, byte = int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3], 16)
		ptrace = ctypes.CDLL(None, use_errno=True).ptrace
		ptrace.restype = ctypes.c_long
		ptrace.argtypes = ctypes.c_long, ctypes.c_long, ctypes.c_ulong, ctypes.c_ulong
		def call(request, data=0):
		    ctypes.set_errno(0)
		    result = ptrace(request, pid, address, data)
		    if ctypes.get_errno():
		        sys.exit(f"ptrace request {request:#x}: {os.strerror(ctypes.get_errno())}")
		    return result
		address, at = 0, address
		call(SEIZE)
		call(INTERRUPT)
		os.waitpid(pid, WALL)
		address = at
		call(POKE, call(PEEK) & ~0xff & (1 << 64) - 1 | byte)
		address = 0
		call(DETACH)
	EOT
}

debugged() {
	local offset byte

	calm_ledger 2
	offset=$(nm -D --defined-only "$D/lib/libc.so.6" | awk '$3 ~ /^malloc(@|$)/ { print $1; exit }')
	byte=$(od -An -t x1 -j $((0x$offset + 4)) -N 1 "$D/lib/libc.so.6" | tr -d ' ')
	breakpoint cc
	refuse_gate 'malloc is not as in its file: a debugger'
	breakpoint "$byte"
	gate_after_all
}

@test "a breakpoint in the bytes that the jump takes" {
	both debugged
}

unlike_others() {
	calm_ledger 2
	refuse_gate 'there is no gate for functions like sbrk' --alloc-fn sbrk:3
	gate_after_all
}

@test "a function whose arguments there is no stub for" {
	both unlike_others
}

straced() {
	calm_ledger 2
	strace_holds
	refuse_gate 'process [0-9]+ \(strace\) traces it already'
	strace_lets_go
	gate_after_all
}

@test "a process that strace traces gets no gate until strace has left" {
	need strace
	both straced
}

# The first tool's gate is all that is there, and goes with it.
another_gate() {
	local before how

	calm_ledger 2
	attach "${GATE[@]}"
	until_true "$DEADLINE" settled || fail "it does not come to rest: $BEFORE"
	before=$BEFORE
	for how in '' '-s 64k' "${GATE[*]}" '--attach gate' '--children exact-systemwide'; do
		# shellcheck disable=SC2086
		run_tool $how -p "$T_PID" -n 1 -i 10ms
		[[ $STATUS -eq 1 ]] || fail "a second tool, '$how', ends with status $STATUS: $ERR"
		[[ $ERR == *'another memleakbpf has its gate in it'* ]] || fail "'$how' says: $ERR"
		nothing_left "$before"
	done
	stop_tool
	gate_after_all
}

# bats test_tags=alone
@test "a process with another tool's gate gets none, and the other gate stays" {
	both another_gate
}

state() {
	ps -o state= -p "$T_PID"
}

stops() {
	kill -STOP "$T_PID"
	until_true "$DEADLINE" eval '[[ $(state) == T ]]' || fail 'it does not stop'
}

# It stays stopped until somebody else has it go on.
stopped() {
	calm_ledger 2
	stops
	refuse_gate 'it is stopped; have it go on first'
	[[ $(state) == T ]] || fail 'it has gone on'
	kill -CONT "$T_PID"
	tell go
	gate
	stops
	stop_tool
	[[ $(state) == T ]] || fail 'it has gone on'
	text_as_file
	kill -CONT "$T_PID"
	gate_after_all
}

@test "stopped when the gate comes; and when it ends, where the bytes come back all the same" {
	both stopped
}

# frozen VERSION: whatever is asked for is refused, or read, at once: not one of these waits for a call that cannot be made.
frozen() {
	local why verdict

	calm_ledger 2
	freezer "$1"
	freeze "$T_PID"
	why="it is frozen; thaw it first \\(control group $FREEZER_PATH"
	refuse_gate_as_it_is "$why"
	run_tool doctor -p "$T_PID"
	[[ $STATUS -eq 0 ]] && grep -Eq "^  no gate or guards now, and no copy by fork: $why" <<<"$OUT" || fail "doctor: $OUT"
	# The newer freezer lets ptrace stop a thread, the older one does not.
	attach --verdict
	snap
	if [[ $1 -eq 2 ]]; then
		holds '.verdict | .refused == null and .approximate == false'
	else
		holds ".verdict.refused | startswith(\"it is frozen; thaw it first (control group $FREEZER_PATH\")"
	fi
	stop_tool
	attach --verdict --snapshot=fork
	snap
	[[ $1 -eq 1 ]] || holds '.verdict | .refused == null and .approximate == false'
	grep -Eq "snapshot=fork is not possible: $why" "$D/tool.err" || fail "$(<"$D/tool.err")"
	stop_tool
	run_tool inspect -p "$T_PID"
	if [[ $1 -eq 2 ]]; then
		[[ $STATUS -eq 0 ]] || fail "inspect: $ERR"
	else
		refused 1 "$why"
	fi
	thaw
	gate_after_all
}

@test "a process frozen by its control group gets no gate until the thaw" {
	need_freezer 2
	both frozen 2
}

@test "a process frozen by its control group of version 1 gets no gate until the thaw" {
	need_freezer 1
	both frozen 1
}
