#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A survey's recording says offline what the survey said, in every format.

load lib.bash
load recording.bash
load survey.bash

setup_file() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
}

# A leaker and an idle process, surveyed until the leaker has been drilled: LEAK, IDLE, SNAP (the last line of the survey).
recorded_survey() {
	scene leak 3000000
	LEAK=$PID
	scene idle
	IDLE=$PID
	survey_until "any(.processes[]; .pid == $LEAK and .samples >= 25 and .drill.open == false)" -i 200ms --window 2s --min-growth 0 \
		--comm '^(leak|idle)$' --record "$D/rec"
	SNAP=$(tail -n 1 "$D/survey.json")
	holds ".processes[] | select(.pid == $LEAK) | .drill.live.bytes > 0 and (.drill.open | not)"
}

# What is measured anew for each report.
same_report() {
	jq -S 'del(.tool_cpu_percent, .probe_cpu_percent, .time, .elapsed_ms, .processes[].regime.full_at)' <<<"$1"
}

@test "survey --record: report shows what the survey showed" {
	local last live=()

	recorded_survey
	report "$D/rec" -f json -T 1000
	[[ $(wc -l <<<"$REPORT") -eq $(wc -l <"$D/survey.json") ]] || fail 'not as many reports'
	last=$(tail -n 1 <<<"$REPORT")
	diff <(same_report "$SNAP") <(same_report "$last") >"$D/differs" || fail "$(<"$D/differs")"
	# In the middle, too, when the trend was not known.
	diff <(same_report "$(sed -n 20p "$D/survey.json")") <(same_report "$(sed -n 20p <<<"$REPORT")") >"$D/differs" || fail "$(<"$D/differs")"
	report "$D/rec"
	[[ $(grep -c '^===' <<<"$REPORT") -eq 1 && $REPORT == *FINAL* ]] || fail "not one report, the last: $REPORT"
	grep -Eq "^ +1 +$LEAK leak .*(leaking|growing)" <<<"$REPORT" || fail "$REPORT"
	grep -q "leaked_here.*survey_scene.c:" <<<"$REPORT" || fail 'no stack'
	report "$D/rec" -T 1
	! grep -q " $IDLE idle " <<<"$REPORT" || fail 'more than one process'
	report "$D/rec" -p "$IDLE" -f json
	[[ $(tail -n 1 <<<"$REPORT" | jq -c '[.processes[].pid]') == "[$IDLE]" ]] || fail 'not the one asked for'
	report "$D/rec" -f folded
	[[ $(awk '{ sum += $NF } END { printf "%.0f", sum }' <<<"$REPORT") == "$(of "$LEAK" .drill.live.bytes)" ]] || fail folded
	grep -Eq '^leak;.*main;leak;leaked_here' <<<"$REPORT" || fail "$REPORT"
	# It names everything that a survey without it does not.
	head -c $(($(stat -c %s "$D/rec") - 3)) "$D/rec" >"$D/cut"
	report "$D/cut" -f json
	[[ $(wc -l <<<"$REPORT") -eq $(($(wc -l <"$D/survey.json") - 1)) ]] || fail 'cut: not all but the last'
}

@test "perfetto: of a survey, every process is a counter track, and what was drilled a heap profile" {
	local why

	why=$("$ROOT/tests/perfetto/fetch" "$BUILD/perfetto" 2>&1) || skip "no trace_processor: $why"
	recorded_survey
	report "$D/rec" -f json -T 1000
	"$TOOL" report "$D/rec" -f perfetto -o "$D/trace"
	node "$ROOT/tests/perfetto/query.mjs" "$BUILD/perfetto" "$D/trace" \
		"select name, value from stats where severity != 'info' and value != 0" \
		"select p.pid, t.name, c.value from counter c join process_counter_track t on t.id = c.track_id join process p using (upid)
			where t.name = 'anonymous memory' order by c.ts" \
		"select p.pid, p.name, h.heap_name, sum(h.size) as bytes, sum(h.count) as count from heap_profile_allocation h
			join process p using (upid) group by 1, 2, 3" >"$D/answers" || fail 'trace_processor'
	[[ $(sed -n 1p "$D/answers") == '[]' ]] || fail "$(sed -n 1p "$D/answers")"
	holds "[.[] | select(.pid == $LEAK) | .value] | last == $(of "$LEAK" .rss_anon_bytes)" "$(sed -n 2p "$D/answers")"
	holds "[.[] | select(.pid == $IDLE)] | length >= 1" "$(sed -n 2p "$D/answers")"
	holds "map(select(.heap_name == \"libc.malloc\")) == [{pid: $LEAK, name: \"leak\", heap_name: \"libc.malloc\",
		bytes: $(of "$LEAK" .drill.live.bytes), count: $(of "$LEAK" .drill.live.count)}]" "$(sed -n 3p "$D/answers")"
}

@test "html: of a survey, the charts of all processes and the stacks of what was drilled" {
	needs_chromium
	scene leak 3000000
	LEAK=$PID
	scene idle
	IDLE=$PID
	# Live, without a recording.
	: >"$D/tool.err" # now, so that nobody reads what an earlier one said
	"$TOOL" survey -v -f html -o "$D/page.html" -i 200ms --window 2s --min-growth 0 --comm '^(leak|idle)$' 2>"$D/tool.err" 3>&- {HOLD}>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	DEADLINE=$((2 * DEADLINE)) tool_says 'a window took'
	# While nothing came for a while, on a busy machine, it does not grow.
	until_true $((2 * DEADLINE)) grep -q "\"pid\":$LEAK,.*\"trend\":\"growing\"" "$D/page.html" || fail 'it does not grow'
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID" || fail "survey: status $?"
	look "$D/page.html" 'count|#processes tr.row' "text|#processes tr[data-pid='$LEAK']" 'value|#flame' 'value|#card-live b' 'count|#survey-chart path.series' \
		"click|#processes tr[data-pid='$LEAK']" 'click|tr.row[data-id]' 'text|ol.frames' "click|#processes tr[data-pid='$IDLE']" \
		'type|#find-process|idle' 'count|#processes tr.row'
	seen 0 2 processes
	[[ ${SEEN[1]} =~ (leaking|growing).*leak.*stacks ]] || fail "row: ${SEEN[1]}"
	[[ ${SEEN[2]} -gt 1000000 && ${SEEN[2]} == "${SEEN[3]}" ]] || fail "drilled: ${SEEN[*]}"
	seen 4 1 'lines of what grows'
	[[ ${SEEN[5]} == *malloc*leaked_here*survey_scene.c* ]] || fail "frames: ${SEEN[5]}"
	seen 6 1 'found'
}
