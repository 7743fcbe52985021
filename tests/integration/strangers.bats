#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Whoever is not traced is not touched; children are seen from their first instruction all the same: each is held until its probes are in.

load lib

child_truth() {
	truth child
	CHILD=$(field .pid "$TRUTH")
}

end_child() {
	kill -TERM "$1"
}

# briefs COUNT COMMAND…: under the tool; so many processes are seen in which leak() allocated, seven blocks of 100 bytes each, and nothing is lost.
briefs() {
	local count=$1

	shift
	timeout $((4 * DEADLINE)) "$TOOL" -f json -T 1000 -o "$D/report" -- "$@" >"$D/run.out" 2>"$D/tool.err" 3>&- || fail "status $?"
	jq -es --argjson count "$count" 'map(select(.final)) | all(([.lost[]] | add) == 0) and
		([.[].stacks[] | select(any(.frames[]; .function == "leak")) | .live] | length == $count and all(. == {"bytes": 700, "count": 7}))' \
		"$D/report" >/dev/null ||
		fail "$(jq -sc 'map(select(.final)) | group_by([.comm, .live, .lost])
			| map([length, .[0].comm, .[0].live, (.[0].lost | with_entries(select(.value > 0)))])' "$D/report")"
}

# shellcheck disable=SC2016
loop='for i in $(seq "$1"); do "$0"; done'

# bats test_tags=quick
@test "children by exec that end at once: each counted to the byte" {
	need_hold
	briefs 200 sh -c "$loop" "$TARGETS/brief" 200
}

# Of vfork: until its exec such a child runs in the memory of the shell, and here it takes its time until it runs.
# bats test_tags=alone
@test "children by exec on a processor that is busy: nothing is said to be lost" {
	local i processor

	need_hold
	processor=$(taskset -cp $BASHPID | sed 's/.*: //; s/[-,].*//')
	for ((i = 0; i < 16; i++)); do
		taskset -c "$processor" sh -c 'while :; do :; done' 3>&- &
		PIDS+=($!)
	done
	briefs 20 taskset -c "$processor" sh -c "$loop" "$TARGETS/brief" 20
}

@test "short static programs are traced whole" {
	need_hold
	briefs 50 sh -c "$loop" "$TARGETS/brief.static" 50
}

@test "forked and exec'ed by a shell that does not use vfork, in the background too" {
	need_hold
	# shellcheck disable=SC2016
	briefs 40 bash -c 'for i in {1..20}; do "$0" & "$0"; done; wait' "$TARGETS/brief"
}

@test "short children that never call exec are traced whole" {
	need_hold
	briefs 100 "$TARGETS/brief" forks 100
	briefs 50 "$TARGETS/brief.static" forks 50
}

@test "a program that another thread than the first starts by exec is traced whole" {
	need_hold
	briefs 1 "$TARGETS/brief" thread
	briefs 10 sh -c 'for i in $(seq 10); do "$0" thread; done' "$TARGETS/brief"
}

@test "children of strace and gdb are traced whole, with these as the command" {
	need_hold
	need strace
	need gdb
	briefs 10 strace -f -o "$D/strace" sh -c "$loop" "$TARGETS/brief" 10
	timeout $((4 * DEADLINE)) "$TOOL" -- gdb -batch -ex run "$TARGETS/brief" >"$D/run.out" 2>"$D/tool.err" 3>&- || fail "status $?"
	grep -q 'exited normally' "$D/run.out" || fail "$(<"$D/run.out")"
}

# under_trace PROGRAM…: a program that lives beside a command that starts children all the time under the tool.
under_trace() {
	: >"$D/started" # now, so that nobody reads what an earlier one said
	# shellcheck disable=SC2016
	"$TOOL" "${with[@]}" -o "$D/report" -- sh -c 'echo started; while [ ! -e "$1" ]; do "$0"; done' "$TARGETS/brief" "$D/done" \
		>"$D/started" 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	until_true "$DEADLINE" grep -q started "$D/started" || fail 'it does not start'
	"$@"
	: >"$D/done"
	wait "$TOOL_PID" || fail "the tool: status $?"
	rm -f "$D/done"
}

translators() {
	local tool

	for tool in memcheck none 'callgrind --callgrind-out-file=/dev/null'; do
		# shellcheck disable=SC2086
		timeout $((4 * DEADLINE)) valgrind -q --error-exitcode=9 --tool=$tool "$TARGETS/simple_leak.1.O0.lazy" >"$D/valgrind" 2>&1 || fail "$tool: status $?: $(<"$D/valgrind")"
	done
}

@test "valgrind, started by anybody while a command is traced, lives" {
	need valgrind
	for with in '' '-s 4k' '--children late'; do
		# shellcheck disable=SC2206
		with=($with)
		under_trace translators
	done
}

# The code of a stranger, its libraries' too, is as it was while another process is traced.
untouched() {
	[[ $(code_sum "$T_PID") == "$code" ]] || fail 'there are probes in a stranger'
}

@test "a stranger has no probes: beside a command, and beside -p with children" {
	local code stranger

	start_target "$TARGETS/busy" 2
	code=$(code_sum "$T_PID")
	stranger=$T_PID
	with=()
	under_trace untouched
	with=(--verdict --check-frees)
	under_trace untouched
	sleep 100 3>&- &
	T_PID=$!
	PIDS+=("$T_PID")
	attach --children exact
	T_PID=$stranger
	untouched
	stop_tool
	end_target
}

# A child that is held while the tool does nothing: nobody reads what it writes.
held_without_tool() {
	local last='' same=0 UNREAD=1

	start_target "$TARGETS/family"
	attach --children exact
	while [[ $same -lt 10 ]]; do
		kill -USR1 "$TOOL_PID"
		read -r LINE <"/proc/$TOOL_PID/syscall"
		# write(1, …): where it waits for something else it is as often found, and does answer.
		[[ $LINE == "$last" && $LINE =~ ^(1|64)\ 0x1\  ]] && same=$((same + 1)) || same=0
		last=$LINE
		pause
	done
	printf 'fork\n' >&"$T_IN"
	target_line '{"phase":"fork",'
	CHILD=$(field .child "$LINE")
	until_true "$DEADLINE" eval '[[ $(cut -d" " -f14,15 "/proc/$CHILD/stat") != "0 0" ]]' || fail 'the child does not wait'
	since=$EPOCHREALTIME
}

# bats test_tags=alone
@test "kill -9 of the tool while it is to see to a child: the child goes on at once" {
	need_hold
	held_without_tool
	kill -KILL "$TOOL_PID"
	child_truth
	# A tool that stands still costs five seconds.
	[[ $(((${EPOCHREALTIME/./} - ${since/./}) / 1000)) -lt 3000 ]] || fail 'it waited'
	end_child "$CHILD"
	end_target
}

# bats test_tags=alone
@test "a child that is killed as it waits is gone at once" {
	need_hold
	held_without_tool
	kill -KILL "$CHILD"
	until_true 3 eval '! alive "$CHILD"' || fail 'it is there still'
	kill -KILL "$TOOL_PID"
	end_target
}

# bats test_tags=alone
@test "a tool that does not answer costs a process and its children five seconds, once; what was missed is said" {
	need_hold
	held_without_tool
	child_truth
	end_child "$CHILD"
	tell fork
	child_truth
	[[ $(((${EPOCHREALTIME/./} - ${since/./}) / 1000)) -lt 9000 ]] || fail 'it waited again'
	end_child "$CHILD"
	await_final "$CHILD"
	jq -e '.lost.late_probes > 0' <<<"$LINE" >/dev/null || fail "nothing is said: $LINE"
	stop_tool
	end_target
}

# bats test_tags=alone
@test "--children exact-systemwide: the old way, by name" {
	timeout $((4 * DEADLINE)) "$TOOL" -f json -T 1000 --children exact-systemwide -o "$D/report" -- sh -c "$loop" "$TARGETS/brief" 20 2>"$D/tool.err" 3>&- || fail "status $?"
	[[ $(jq -s 'map(select(.final and .comm == "brief" and .live == {"bytes": 700, "count": 7})) | length' "$D/report") -eq 20 ]] || fail 'not all are seen'
	grep -q 'every process' "$D/tool.err" || fail 'nothing is said of what it costs others'
}
