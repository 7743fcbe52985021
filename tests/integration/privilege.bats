#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Without root: which capabilities are enough, what is said when one is missing, and what is given up once all is attached.

load lib.bash

# CAPS: "+bpf,+perfmon"; the tool as an ordinary user with just these. Sets TOOL.
as_user() {
	local real=$TOOL

	cp "$real" "$D/memleakbpf"
	chmod 755 "$D" "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR" "$D/memleakbpf"
	printf '#!/bin/bash\nexec setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all,%s --ambient-caps=-all,%s --bounding-set=-all,%s %q "$@"\n' \
		"$1" "$1" "$1" "$D/memleakbpf" >"$D/tool"
	chmod 755 "$D/tool"
	TOOL=$D/tool
}

# The names of a process's permitted and effective capabilities, one a line: those that any of its threads has.
capabilities() {
	local set

	awk '$1 == "CapEff:" || $1 == "CapPrm:" { print $2 }' "/proc/$1/task/"*/status | sort -u | while read -r set; do
		capsh --decode="$set" | sed 's/.*=//' | tr , '\n'
	done | sort -u | sed '/^$/d'
}

# confined [CAPABILITY…]: no thread of the tool has more than what watching needs, and these.
confined() {
	local more

	more=$(capabilities "$TOOL_PID" | grep -vxE "cap_(bpf|perfmon|sys_ptrace|dac_read_search|checkpoint_restore|sys_resource|kill|sys_nice${1+|$1})" || :)
	[[ -z $more ]] || fail "it still has: $more"
	! grep -L '^NoNewPrivs:.*1$' "/proc/$TOOL_PID/task/"*/status | grep . || fail 'new privileges are possible'
	! grep -L '^Seccomp:.*2$' "/proc/$TOOL_PID/task/"*/status | grep . || fail 'every system call is possible'
}

# A thread that never had to do with privileges is there, too.
threads_without_any() {
	grep -l '^CapPrm:[[:space:]]*0*$' "/proc/$TOOL_PID/task/"*/status | wc -l
}

filters_by_process() {
	"$TOOL" doctor | grep -q 'ok *uprobe sessions\|ok *filtered by process' || skip 'this kernel has single uprobes only'
}

@test "an ordinary user with CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE traces another user's process, children included" {
	filters_by_process
	as_user +bpf,+perfmon,+sys_ptrace
	start_target "$TARGETS/family"
	attach
	tell go
	snap
	same
	family_forks
	kill -TERM "$CHILD"
	[[ $(awk '$1 == "Uid:" { print $3 }' "/proc/$TOOL_PID/status") -eq 65534 ]] || fail 'not as that user'
	[[ $(capabilities "$TOOL_PID") == $'cap_bpf\ncap_perfmon\ncap_sys_ptrace' ]] || fail "$(capabilities "$TOOL_PID")"
}

@test "a library that is opened later is found, too" {
	filters_by_process
	as_user +bpf,+perfmon,+sys_ptrace
	start_target "$TARGETS/dl"
	attach
	tell 'open plugin_a'
	tell 'go plugin_a'
	snap
	same any
	end_target
	tool_ends
	final
	same any
}

@test "each capability that is missing is named" {
	start_target "$TARGETS/leaf"
	while read -r caps regex; do
		(
			TOOL=${TOOL_REAL:-$TOOL}
			as_user "$caps"
			run_tool -p "$T_PID" -n 1 -i 100ms
			refused 1 "$regex"
		)
	done <<-'CASES'
		+perfmon,+sys_ptrace needs CAP_BPF;
		+bpf,+sys_ptrace needs CAP_PERFMON;
		+sys_ptrace needs CAP_BPF and CAP_PERFMON;
		+bpf,+perfmon no permission.*CAP_SYS_PTRACE
	CASES
	alive "$T_PID" || fail 'the target is gone'
	end_target
}

@test "--attach single and survey without CAP_SYS_ADMIN: it is named" {
	filters_by_process
	as_user +bpf,+perfmon,+sys_ptrace
	start_target "$TARGETS/leaf"
	run_tool -p "$T_PID" -n 1 -i 100ms --attach single
	# Some kernels do without.
	[[ $STATUS -eq 0 ]] || refused 1 'CAP_SYS_ADMIN'
	run_tool survey -n 1 -i 100ms
	[[ $STATUS -eq 0 ]] || fail "status $STATUS: $ERR"
	[[ -z $ERR || $ERR == *CAP_SYS_ADMIN* ]] || fail "$ERR"
	end_target
}

@test "root gives up the capabilities that watching does not need, and its command keeps all" {
	filters_by_process
	start_target "$TARGETS/leaf"
	attach
	tell go
	snap
	same
	confined
	[[ $(threads_without_any) -eq 2 ]] || fail 'a thread that reads what targets send has capabilities'
	end_target
	run_tool -o /dev/null -- bash -c 'grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status >'"$D/child"
	[[ $STATUS -eq 0 ]] || fail "$ERR"
	[[ $(<"$D/child") == "$(grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status)" ]] || fail "the command: $(<"$D/child")"
}

@test "a tool that runs a command is confined while the command runs" {
	filters_by_process
	mkfifo "$D/go"
	start_tool -- bash -c 'read -r _ <"$1"' bash "$D/go"
	tool_says '^memleakbpf: attached to [0-9]+ \(bash\)'
	# It was before it looked at the command's files.
	confined
	echo go >"$D/go"
	tool_ends
	[[ $TOOL_STATUS -eq 0 ]] || fail "status $TOOL_STATUS"
}

@test "the remaining capabilities suffice for a recording and a verdict: root's and an ordinary user's" {
	local as recording

	filters_by_process
	for as in root user; do
		[[ $as == root ]] || as_user +bpf,+perfmon,+sys_ptrace,+dac_read_search
		# Of its own, in a directory where that user may write.
		recording=$(mktemp -d "$D/$as.XXXX")
		chmod 777 "$recording"
		start_target "$TARGETS/leaf"
		: >"$D/tool.err"
		"$TOOL" record -p "$T_PID" -i 1h --verdict --max-pause 1m -o "$recording/file" >"$D/tool.out" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
		TOOL_PID=$!
		PIDS+=("$TOOL_PID")
		attached "$T_PID"
		# It was before it looked at the target's files.
		confined
		tell go
		kill -TERM "$TOOL_PID"
		STATUS=0
		wait "$TOOL_PID" || STATUS=$?
		[[ $STATUS -eq 0 ]] || fail "$as: status $STATUS: $(<"$D/tool.err")"
		run_tool report "$recording/file" -f json
		SNAP=$(tail -n 1 <<<"$OUT")
		same
		# ptrace was needed after the drop.
		[[ $(field '.verdict.pause_ms > 0' "$SNAP") == true ]] || fail "$as: $(field .verdict "$SNAP")"
		end_target
	done
}

@test "a verdict without CAP_DAC_READ_SEARCH: refused, with the reason; the numbers are there" {
	filters_by_process
	as_user +bpf,+perfmon,+sys_ptrace
	start_target "$TARGETS/leaf"
	attach --verdict
	tell go
	snap
	same
	holds '.verdict.refused | test("CAP_DAC_READ_SEARCH")'
	end_target
}

@test "--snapshot=fork of another user's process with the capabilities of docs/security.md: without CAP_KILL, and with it" {
	local more

	filters_by_process
	for more in '' ,+kill; do
		fresh
		TOOL=${MEMLEAKBPF:-$BUILD/memleakbpf}
		as_user "+bpf,+perfmon,+sys_ptrace,+dac_read_search,+checkpoint_restore$more"
		start_target "$TARGETS/verdict_scene"
		attach -v --verdict --max-pause 5s --snapshot=fork
		tell allocate
		snap
		judged
		[[ $(grep -c 'of it for the copy' "$D/tool.err") -eq 1 ]] || fail "not from a copy: $more"
		until_true "$DEADLINE" eval '! pgrep -x verdict_scene | grep -vqx "$T_PID"' || fail 'a copy is left'
		end_target
		tool_ends
	done
}

@test "a survey is confined, and so is its server of metrics, which needs nothing at all" {
	local url

	filters_by_process
	: >"$D/tool.err"
	"$TOOL" survey -i 200ms --metrics 127.0.0.1:0 >"$D/tool.out" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	tool_says 'metrics at http://'
	url=$(sed -n 's/.*metrics at \(http:[^ ]*\).*/\1/p' "$D/tool.err")
	until_true "$DEADLINE" eval 'curl -fs "$url" >"$D/metrics"' || fail 'no metrics'
	grep -q '^memleakbpf_' "$D/metrics" || fail "$(head -n 5 "$D/metrics")"
	# The run time of BPF programs is counted for those with CAP_SYS_ADMIN only.
	confined sys_admin
	[[ $(threads_without_any) -ge 1 ]] || fail 'the server has capabilities'
	kill -TERM "$TOOL_PID"
	STATUS=0
	wait "$TOOL_PID" || STATUS=$?
	[[ $STATUS -eq 0 ]] || fail "status $STATUS: $(<"$D/tool.err")"
}

# Capabilities that are there to look into targets open no file for the caller: setcap gives them to everybody who may run the tool.
@test "files that the caller names are opened with the caller's rights, and no message quotes them" {
	local real=$TOOL

	fresh
	"$real" record -o "$D/private.mlb" -i 100ms -- true 2>/dev/null
	printf 'root:secret\n' >"$D/secret"
	chmod 600 "$D/private.mlb" "$D/secret"
	as_user +bpf,+perfmon,+sys_ptrace,+dac_read_search
	run_tool report "$D/private.mlb"
	refused 1 "cannot open $D/private.mlb: Permission denied"
	run_tool diff "$D/private.mlb" "$D/private.mlb"
	refused 1 "cannot open $D/private.mlb: Permission denied"
	run_tool --suppressions "$D/secret" -- true
	refused 1 "cannot open the suppressions in $D/secret: Permission denied"
	# What the caller may read is read.
	chmod 644 "$D/private.mlb" "$D/secret"
	run_tool report "$D/private.mlb"
	[[ $STATUS -eq 0 ]] || fail "status $STATUS: $ERR"
	run_tool --suppressions "$D/secret" -- true
	refused 1 "$D/secret:1: "
	[[ $ERR != *secret* || $ERR != *root:* ]] || fail "it says what is in the file: $ERR"
}

# looks: inspect -i, until the first of its looks is there, and its first copy with it.
looks() {
	"$TOOL" inspect -p "$T_PID" -i 1h -f json >"$D/looks" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	until_true "$DEADLINE" grep -q '"memory"' "$D/looks" || fail "no look: $(<"$D/tool.err")"
}

@test "inspect -p traces nothing, and gives up CAP_BPF and CAP_PERFMON as well" {
	start_target "$TARGETS/leaf"
	looks
	confined
	! capabilities "$TOOL_PID" | grep -E 'cap_(bpf|perfmon|sys_admin)' || fail 'it could trace'
	kill "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?"
	as_user +sys_ptrace,+dac_read_search
	looks
	[[ $(capabilities "$TOOL_PID" | xargs) == 'cap_dac_read_search cap_sys_ptrace' ]] || fail "$(capabilities "$TOOL_PID")"
	end_target
}

@test "without any capability the message names that reason, and not the kernel" {
	as_user -chown
	run "$TOOL" -- true
	[[ $status -eq 1 ]] || fail "status $status"
	[[ $output == 'memleakbpf: loading BPF programs needs CAP_BPF'* ]] || fail "$output"
	[[ $output != *'this kernel'* && ${#lines[@]} -eq 1 ]] || fail "$output"
}
