# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# For the tests of recordings and of formats that are files; loaded after lib.bash.

# live [bytes|count]: what the target has live in truth.
live() {
	jq --arg what "${1:-bytes}" '[.live[][$what]] | add' <<<"$TRUTH"
}

# The tool with results in a file; json goes through start_tool.
tool_into() {
	local file=$1

	shift
	: >"$D/tool.err" # now, so that nobody reads what an earlier one said
	patience "$@"
	env --default-signal=INT "$TOOL" "$@" "${PATIENCE[@]}" -i 1h -o "$file" -p "$T_PID" >"$D/tool.out" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	attached "$T_PID"
}

tool_stops() {
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail "the tool ended with status $?"
	[[ ! -s $D/tool.out ]] || fail 'it wrote on standard output as well'
}

# report FILE OPTION…: REPORT; as nobody, where that user can reach the program.
report() {
	local as=()

	if [[ $EUID -eq 0 ]] && setpriv --reuid=65534 --clear-groups test -x "$TOOL" 2>/dev/null; then
		as=(setpriv --reuid=65534 --clear-groups)
	fi
	REPORT=$("${as[@]}" "$TOOL" report "${@:2}" - <"$1" 2>"$D/report.err") || fail "report: $(<"$D/report.err")"
}

recorded() {
	[[ $("$TOOL" report "$D/rec" -f json 2>/dev/null | wc -l) -ge $1 ]]
}

# record_steps COMMAND…: a recording with one snapshot after each command; TRUTHS.
record_steps() {
	local command n=0

	TRUTHS=()
	for command; do
		tell "$command"
		TRUTHS+=("$TRUTH")
		kill -USR1 "$TOOL_PID"
		until_true "$DEADLINE" recorded $((++n)) || fail "no snapshot number $n"
	done
}

# into REGEX FILE: has the file come to hold it?
into() {
	grep -Eaq -- "$1" "$2"
}

# One more step of a recording that has one snapshot.
record_steps_more() {
	tell "$1"
	kill -USR1 "$TOOL_PID"
	until_true "$DEADLINE" recorded 2 || fail 'no second snapshot'
}

# ---- Formats' own readers --------------------------------------------------------------------------------------------------

PERFETTO=$BUILD/perfetto

pprof() {
	HOME=$D go tool pprof -symbolize=none -nodecount=1000 "$@" 2>"$D/pprof.err" || fail "pprof: $(<"$D/pprof.err")"
}

needs_perfetto() {
	local why

	why=$("$ROOT/tests/perfetto/fetch" "$PERFETTO" 2>&1) || skip "no trace_processor: $why"
}

perfetto() {
	node "$ROOT/tests/perfetto/query.mjs" "$PERFETTO" "$@" 2>"$D/perfetto.err" || fail "trace_processor: $(<"$D/perfetto.err")"
}

# ---- The page of -f html, in a browser -------------------------------------------------------------------------------------

CHROMIUM=$BUILD/chromium

needs_chromium() {
	local why

	why=$("$ROOT/tests/html/fetch" "$CHROMIUM" 2>&1) || skip "no browser: $why"
}

# look PAGE STEP…: SEEN, the answers.
look() {
	local answers

	answers=$(HOME=$D timeout $((2 * DEADLINE)) node "$ROOT/tests/html/look.mjs" "$CHROMIUM" "$@" 2>"$D/look.err") || fail "the page: $(<"$D/look.err")"
	mapfile -t SEEN <<<"$answers"
}

# seen NUMBER VALUE WHAT
seen() {
	[[ ${SEEN[$1]} == "$2" ]] || fail "$3 is ${SEEN[$1]} in the page, not $2; all: ${SEEN[*]}"
}
