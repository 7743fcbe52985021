#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# --snapshot=fork where a process cannot be forked without harm: one line says why, and it is judged as it stands.
# And where the copy that we would make ourselves has no room.
# bats file_tags=beside

load lib.bash

teardown() {
	if [[ -z ${BATS_TEST_COMPLETED-} ]]; then
		dump
	fi
	clean
	[[ -z ${CGROUP-} ]] || rmdir "$CGROUP" 2>/dev/null || :
}

# scene PROGRAM [ARG…]: the target, started by a program that becomes it or its parent.
scene() { # [PROGRAM ARG…]
	start_target "$@" "$TARGETS/verdict_scene"
}

copies() {
	attach -v --verdict --max-pause 20s --snapshot=fork
	tell allocate
}

made() {
	grep -c 'of it for the copy' "$D/tool.err" || :
}

# judged_as_it_stands REGEX: twice, the reason being said once.
judged_as_it_stands() {
	local before

	before=$(made)
	for _ in 1 2; do
		snap
		judged
		holds '.verdict.approximate == false'
	done
	[[ $(made) -eq $before ]] || fail 'there was a copy'
	[[ $(grep -Ec "stands still while it is read, --snapshot=fork is not possible: $1" "$D/tool.err") -ge 1 ]] || fail "it did not say '$1'"
	grep 'is not possible' "$D/tool.err" | head -n 1 | sed 's/^/# /' >&3
}

@test "no room in the target's control group for pages that it writes meanwhile: no copy; with room a copy" {
	local usage

	memory_cgroup || skip 'no memory control group can be made here'
	# shellcheck disable=SC2016
	scene "$BASH" -c 'echo $$ >"$0/cgroup.procs" && exec "$1"' "$CGROUP"
	copies
	tell restless # has 64 MiB
	usage=$(cat "$CGROUP"/memory.{usage_in_bytes,current} 2>/dev/null || :)
	printf '%s\n' $((usage + (16 << 20))) >"$LIMIT"
	judged_as_it_stands 'there is no memory left for what it writes meanwhile'
	printf '%s\n' $((usage + (512 << 20))) >"$LIMIT"
	snap
	judged
	[[ $(made) -eq 1 ]] || fail 'there was no copy'
	end_target
	tool_ends
}

# Its pid here, of the process that says it is process 1.
namespaced_target() {
	scene unshare --pid --fork
	UNSHARE=${PIDS[0]}
	T_PID=$(pgrep -P "$UNSHARE")
}

end_namespaced_target() {
	tell quit
	exec {T_IN}>&-
	wait "$UNSHARE" || fail "it ended with status $?"
}

@test "process 1 of a container, which would have to bury the copy, is not copied" {
	namespaced_target
	copies
	judged_as_it_stands 'it is process 1 of its container, which orphans are given to'
	end_namespaced_target
	tool_ends
}

@test "a process whose children get another PID namespace is not copied: its first child would end that" {
	scene unshare --pid
	copies
	judged_as_it_stands 'its children get another PID namespace'
	end_target
	tool_ends
}

# zombies PID: children of it that nobody has waited for.
zombies() {
	ps -o state= --ppid "$1" | grep -c Z || :
}

refused_at_last() {
	snap
	judged
	grep -q 'is not possible' "$D/tool.err"
}

# not_buried_by PID: copies are made until it is clear that their remains stay.
not_buried_by() {
	local remains

	until_true $((2 * DEADLINE)) refused_at_last || fail 'it goes on and on'
	[[ $(made) -ge 1 ]] || fail 'there was no copy'
	remains=$(zombies "$1")
	[[ $remains -ge 1 ]] || fail 'nothing remains of the copies'
	judged_as_it_stands 'who inherits its orphans .* does not wait for them'
	[[ $(zombies "$1") -eq $remains ]] || fail 'there are more and more'
}

@test "process 1 of its container does not bury orphans: a few copies, and then no more" {
	local init

	# shellcheck disable=SC2016
	start_target unshare --pid --fork "$BASH" -c 'exec 3<&0; "$0" <&3 3<&- & exec sleep infinity' "$TARGETS/verdict_scene"
	init=$(pgrep -P "${PIDS[0]}")
	T_PID=$(pgrep -P "$init" -x verdict_scene)
	copies
	not_buried_by "$init"
	tell quit
	kill -KILL "$init"
	tool_ends
}

@test "a process that inherits its orphans itself, and does not wait for them: some copies, and then no more" {
	scene
	copies
	tell adopt
	not_buried_by "$T_PID"
	end_target
	tool_ends
}

@test "the copy does not fit into the tool's own control group: no verdict, said why; the kernel kills nobody" {
	memory_cgroup || skip 'no memory control group can be made here'
	start_target "$TARGETS/clocked" 400
	printf '%s\n' $((300 << 20)) >"$LIMIT"
	# shellcheck disable=SC2016
	run_tool() { STATUS=0; "$BASH" -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$CGROUP" "$TOOL" "$@" >"$D/run.out" 2>"$D/run.err" 3>&- {T_IN}>&- || STATUS=$?; }
	run_tool -p "$T_PID" --verdict -i 100ms -n 1 -f json
	[[ $STATUS -eq 0 ]] || fail "status $STATUS: $(<"$D/run.err")"
	SNAP=$(tail -n 1 "$D/run.out")
	holds '.verdict.refused | test("a copy of its 4.. MiB does not fit into the .* MiB that memory[.](max|limit_in_bytes) of .*memleakbpf-test.* leaves memleakbpf")'
	printf '# %s\n' "$(field .verdict.refused "$SNAP")" >&3
	# With room it is judged.
	printf '%s\n' $((1200 << 20)) >"$LIMIT"
	run_tool -p "$T_PID" --verdict -i 100ms -n 1 -f json
	SNAP=$(tail -n 1 "$D/run.out")
	holds '.verdict.refused == null and .verdict.definite != null'
	tell quit
	wait "$T_PID"
}
