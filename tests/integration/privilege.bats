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

# The names of a process's effective capabilities, one a line.
capabilities() {
	capsh --decode="$(awk '$1 == "CapEff:" { print $2 }' "/proc/$1/status")" | sed 's/.*=//' | tr , '\n' | sort
}

@test "an ordinary user with CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE traces another user's process, children included" {
	"$TOOL" doctor | grep -q 'ok *uprobe sessions\|ok *filtered by process' || skip 'this kernel has single uprobes only'
	as_user +bpf,+perfmon,+sys_ptrace
	start_target "$TARGETS/family"
	attach
	tell go
	snap
	same
	tell fork-wait
	child=$(field .child "$TRUTH")
	attached "$child"
	kill -USR2 "$child"
	truth child
	snap "$child"
	same
	kill -TERM "$child"
	[[ $(awk '$1 == "Uid:" { print $3 }' "/proc/$TOOL_PID/status") -eq 65534 ]] || fail 'not as that user'
	[[ $(capabilities "$TOOL_PID") == $'cap_bpf\ncap_perfmon\ncap_sys_ptrace' ]] || fail "$(capabilities "$TOOL_PID")"
}

@test "a library that is opened later is found, too" {
	"$TOOL" doctor | grep -q 'ok *uprobe sessions\|ok *filtered by process' || skip 'this kernel has single uprobes only'
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

@test "root gives up what watching does not need, and the command that it runs keeps everything" {
	start_target "$TARGETS/leaf"
	attach
	tell go
	snap
	same
	needless=$(capabilities "$TOOL_PID" | grep -vxE 'cap_(bpf|perfmon|sys_ptrace|dac_read_search|checkpoint_restore|sys_resource|kill)' || :)
	[[ $MODE == single || -z $needless ]] || fail "it still has: $needless"
	grep -q '^NoNewPrivs:.*1$' "/proc/$TOOL_PID/status" || fail 'new privileges are possible'
	end_target
	run_tool -o /dev/null -- bash -c 'grep -E "^(CapEff|CapBnd|NoNewPrivs)" /proc/self/status >'"$D/child"
	[[ $STATUS -eq 0 ]] || fail "$ERR"
	[[ $(<"$D/child") == "$(grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status)" ]] || fail "the command: $(<"$D/child")"
}
