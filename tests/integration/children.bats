#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Many children of one parent that lives: each takes a row of the kernel's arrays for a while, and the parent keeps its own.

load lib.bash

# attach_to_file [OPTION…]: snapshots to all.json, of which there are tens of thousands.
attach_to_file() {
	"$TOOL" -f json -i 1h -T 1000 --sort alloc -p "$T_PID" -o "$D/all.json" "$@" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	attached "$T_PID"
}

parents_snapshots() {
	grep -c "\"pid\":$T_PID," "$D/all.json"
}

# SNAP: the parent's next snapshot. The tool may have many children to go through first.
snap_from_file() {
	local before

	before=$(parents_snapshots || :)
	more() {
		[[ $(parents_snapshots) -gt $before ]]
	}
	kill -USR1 "$TOOL_PID"
	until_true $((4 * DEADLINE)) more || fail 'no snapshot of the parent'
	SNAP=$(grep "\"pid\":$T_PID," "$D/all.json" | tail -n 1)
}

# tell_long COMMAND: the same as tell, of what takes a while.
tell_long() {
	DEADLINE=$((4 * DEADLINE)) tell "$1"
}

# bats test_tags=alone
@test "20,000 children of a process that lives: its frees, its stacks and theirs stay right" {
	start_target "$TARGETS/children"
	# Of this many nobody could wait for probes of their own.
	attach_to_file --children exact-systemwide
	tell unknown
	tell go
	tell_long 'fork-allocate 20000'
	tell go
	snap_from_file
	same
	holds '.unknown_frees == 8'
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail "the tool ended with status $?"
	right=$(jq -c 'select(.final and .live == {"bytes": 64, "count": 1} and .unknown_frees == 0
		and .stacks[0].frames[1].function == "leak_in_child") | .pid' "$D/all.json" | wc -l)
	[[ $right -eq 20000 ]] || fail "$right of 20000 children are right"
}

# bats test_tags=alone
@test "17,000 children of a process that lives: its losses and its blocks without stacks stay its own" {
	start_target "$TARGETS/children"
	attach_to_file --children exact-systemwide --max-stacks 1
	tell unknown
	tell go
	snap_from_file
	# One of three stacks has room.
	holds '.lost.stack_table_full == 20 and .alloc == {"bytes": 6000, "count": 30}'
	tell_long 'fork-allocate 17000'
	snap_from_file
	holds '.lost.stack_table_full == 20 and .alloc == {"bytes": 6000, "count": 30} and .unknown_frees == 8'
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail "the tool ended with status $?"
	right=$(jq -c 'select(.final and .live == {"bytes": 64, "count": 1} and .lost.stack_table_full == 1) | .pid' "$D/all.json" | wc -l)
	[[ $right -eq 17000 ]] || fail "$right of 17000 children are right"
}

@test "more children than there are rows: those without are counted as not followed, and later ones are followed" {
	start_target "$TARGETS/children"
	attach_to_file --children exact
	# It cannot give rows back meanwhile.
	kill -STOP "$TOOL_PID"
	tell_long 'fork 17000'
	kill -CONT "$TOOL_PID"
	snap_from_file
	# One of the 16,384 is the parent's.
	holds '.lost.target_table_full == 17000 - 16383 and .lost.process_events == 0'
	tell_long 'fork-allocate 100'
	snap_from_file
	holds '.lost.target_table_full == 17000 - 16383'
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail "the tool ended with status $?"
	right=$(jq -c 'select(.final and .live == {"bytes": 64, "count": 1}) | .pid' "$D/all.json" | wc -l)
	[[ $right -eq 100 ]] || fail "$right of 100 children are right"
}

# short_lived MILLISECONDS: ten children that live so long. Each has a final snapshot, or is counted with its parent.
short_lived() {
	start_target "$TARGETS/children"
	attach
	tell "sleepy $1 10"
	stop_tool
	final
	seen=$(printf '%s\n' "${SNAPS[@]}" | jq -c --argjson parent "$T_PID" 'select(.final and .pid != $parent) | .pid' | sort -u | wc -l)
	missed=$(field .lost.short_children "$SNAP")
	printf '# %s ms: %s seen, %s missed\n' "$1" "$seen" "$missed" >&3
	[[ $((seen + missed)) -eq 10 ]] || fail "$seen children seen, $missed counted as missed, of 10"
	clean
	fresh
}

@test "children that live for 0, 5, 20 and 300 ms: each is seen, or counted as missed" {
	for ms in 0 5 20 300; do
		short_lived "$ms"
	done
	# How many depends on what else the machine does.
	[[ $seen -gt 0 ]] || fail 'none of 10 that live for 300 ms'
}

@test "programs that are spawned and end at once: each is seen, or counted as missed" {
	run_target "$BASH" -c 'echo ready; read -r _; for _ in {1..10}; do /bin/true; done; echo done; read -r _'
	target_line ready
	attach
	printf 'go\n' >&"$T_IN"
	target_line 'done'
	stop_tool
	final
	seen=$(printf '%s\n' "${SNAPS[@]}" | jq -c 'select(.final and .comm == "true") | .pid' | sort -u | wc -l)
	missed=$(field .lost.short_children "$SNAP")
	printf '# %s seen, %s missed\n' "$seen" "$missed" >&3
	[[ $((seen + missed)) -eq 10 ]] || fail "$seen programs seen, $missed counted as missed, of 10"
}

@test "children that begin while the tool is stopped are missed: a line says so, --error-exitcode fails, the next ones are held again" {
	local status=0 tool

	need_hold
	run_target "$TOOL" --children exact --leak-only --error-exitcode 9 -f json -o "$D/all.json" -- "$TARGETS/children.nofp" 2>"$D/tool.err"
	tool=$T_PID
	target_line 'ready '
	tell 'fork 3'
	kill -STOP "$tool"
	stopped() {
		[[ $(<"/proc/$tool/stat") == *') T '* ]]
	}
	until_true "$DEADLINE" stopped || fail 'the tool runs'
	tell 'fork 5'
	kill -CONT "$tool"
	tell 'fork 4'
	exec {T_IN}>&-
	wait "$tool" || status=$?
	[[ $status -eq 1 ]] || fail "status $status: $(<"$D/tool.err")"
	grep -q 'no leak was found, but child processes are missing' "$D/tool.err" || fail "$(<"$D/tool.err")"
	[[ $(jq -s '[.[] | select(.final) | .pid] | unique | length' "$D/all.json") -eq 8 ]] ||
		fail "$(jq -c '[.pid, .final, .lost.short_children]' "$D/all.json")"
	[[ $(jq -s 'map(.lost.short_children) | max' "$D/all.json") -eq 5 ]] ||
		fail "$(jq -c '[.pid, .lost.short_children]' "$D/all.json")"
}

# starved: a hundred and twenty-fifth of a processor for the tool, amid which three programs begin. SEEN of them, and MISSED.
starved() {
	local tool

	run_target "$TOOL" --children exact -f json -o "$D/all.json" -- \
		"$BASH" -c 'echo ready; while read -r _; do "$1" >/dev/null; echo done; done' bash "$TARGETS/short.nofp" 2>"$D/tool.err"
	tool=$T_PID
	target_line ready
	echo 125000 >"$FREEZER/cpu.cfs_period_us"
	echo 1000 >"$FREEZER/cpu.cfs_quota_us"
	echo "$tool" >"$FREEZER/cgroup.procs"
	for _ in 1 2 3; do
		printf 'go\n' >&"$T_IN"
		target_line 'done'
	done
	echo -1 >"$FREEZER/cpu.cfs_quota_us"
	exec {T_IN}>&-
	wait "$tool" || fail "the tool: $(<"$D/tool.err")"
	until_true "$DEADLINE" rmdir "$FREEZER" || fail 'something goes on in the control group'
	SEEN=$(jq -s '[.[] | select(.final and .comm == "short.nofp") | .pid] | unique | length' "$D/all.json")
	MISSED=$(jq -s 'map(.lost.short_children) | max' "$D/all.json")
}

# The first of them takes more than the five seconds that a tool is waited for which does nothing. None is waited for longer than for twenty.
@test "children are held while the tool waits for a processor" {
	need_hold
	for _ in 1 2 3; do
		# clean() removes it after a failure.
		FREEZER=/sys/fs/cgroup/cpu/memleakbpf-test-$$
		mkdir "$FREEZER" 2>/dev/null && [[ -w $FREEZER/cpu.cfs_quota_us ]] || skip 'no control group of processors can be made here'
		starved
		[[ $((SEEN + MISSED)) -eq 3 ]] || fail "$SEEN seen, $MISSED missed, of 3: $(<"$D/tool.err")"
		# On a machine that is so busy that twenty seconds were not enough it is tried again.
		[[ $SEEN -lt 3 ]] || return 0
		fresh
	done
	fail "$SEEN of 3 were traced"
}
