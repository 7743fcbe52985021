# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the tests of the survey share, on top of lib.bash.

# scene KIND [RATE]: a process of the scene (tests/targets/survey_scene.c); PID. PROGRAM is another copy of it.
scene() {
	local out

	if [[ -z ${HOLD-} ]]; then
		mkfifo "$D/hold"
		exec {HOLD}<>"$D/hold"
	fi
	mkfifo "$D/ready"
	"${WRAP[@]}" "${PROGRAM:-$TARGETS/survey_scene}" "$@" <&"$HOLD" >"$D/ready" 2>"$D/target.err" 3>&- &
	PID=$!
	PIDS+=("$PID")
	read -r -t "$DEADLINE" out <"$D/ready" || fail "no scene: $(<"$D/target.err")"
	[[ $out == ready ]] || fail "scene said '$out'"
	rm "$D/ready"
}

teardown() {
	[[ -n ${BATS_TEST_COMPLETED-} ]] || dump
	clean
	# The group can go when the last of its processes has.
	[[ -z ${CGROUP-} ]] || until_true "$DEADLINE" rmdir "$CGROUP"
}

# survey ARG…: runs it to its end; LINES is its JSON, one report a line.
survey() {
	timeout -k 5 $((4 * DEADLINE)) "$TOOL" survey -f json -T 1000 "$@" >"$D/survey.json" 2>"$D/tool.err" 3>&- {HOLD}>&- ||
		fail "survey failed: $(<"$D/tool.err")"
}

# survey_until FILTER ARG…: the same, and its end is asked for once that filter is true of a report.
survey_until() {
	local filter=$1

	shift
	: >"$D/survey.json" # now, so that nobody reads what an earlier one said
	"$TOOL" survey -f json -T 1000 "$@" >"$D/survey.json" 2>"$D/tool.err" 3>&- {HOLD}>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	until_true $((2 * DEADLINE)) reports "$filter" || fail "never: $filter: $(tail -n 1 "$D/survey.json")"
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID" || fail "survey: status $?"
}

# reports FILTER: true of the last of its lines that is whole.
reports() {
	alive "$TOOL_PID" || fail 'the survey has ended'
	[[ $(tail -n 2 "$D/survey.json" | jq -nR "[inputs | fromjson?] | last | $1" 2>/dev/null) == true ]]
}

# The same where no process is one that is wanted.
survey_of_nobody() {
	local status=0

	timeout -k 5 $((4 * DEADLINE)) "$TOOL" survey -f json -T 1000 "$@" >"$D/survey.json" 2>"$D/tool.err" 3>&- {HOLD}>&- || status=$?
	[[ $status -eq 1 ]] && grep -q 'no process has matched' "$D/tool.err" || fail "$status $(<"$D/tool.err")"
}

# of PID FILTER: that filter of the process's last line that has it.
of() {
	jq -rc --argjson pid "$1" ".processes[] | select(.pid == \$pid) | $2" "$D/survey.json" | tail -n 1
}
