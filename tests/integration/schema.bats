#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What real runs print, against the schemas of docs/schema. tests/tools/schema.bats has what needs no root.

load lib.bash
load recording.bash
load survey.bash

schema() {
	"$ROOT/tests/tools/schema.py" "$@" >"$D/schema" || fail "$(<"$D/schema")"
}

@test "snapshots and inspections, with all that can be asked for" {
	printf 'leak:%s\n' structures >"$D/known"
	start_target "$TARGETS/verdict_heap"
	tell structures
	attach --inspect --lifetimes --temporary --peak --check-frees --older 1ms --gen-suppressions --suppressions "$D/known" --contents 16 -v
	tell lost
	tell held
	snap
	snap
	stop_tool
	end_target
	schema snapshot,inspection "$D/json.log"
	# It had to do with both.
	SNAP=$(jq -sc . "$D/json.log")
	holds 'any(.[]; has("verdict") and has("stacks") and has("older_ms") and has("bad_frees") and has("suppressed") and has("delta"))'
	holds 'any(.[]; has("groups") and any(.groups[]; has("allocated_by")))'
	holds 'any(.[].stacks[]?; has("held_by") and has("suppression") and has("end"))'
}

@test "bad frees, samples, a recording, its page and its comparison" {
	run_tool --check-frees -f json -o "$D/bad" -- "$TARGETS/bad_frees" all
	schema snapshot "$D/bad"
	SNAP=$(jq -sc . "$D/bad")
	holds 'any(.[]; any(.bad_frees[]; .kind == "double_free" and has("first_free")))'
	start_target "$TARGETS/leaf"
	tool_into "$D/rec" record -s 4k
	record_steps go churn go
	tool_stops
	end_target
	report "$D/rec" -f json -v
	schema snapshot - <<<"$REPORT"
	SNAP=$(head -n 1 <<<"$REPORT")
	holds '.sample_bytes == 4096'
	run_tool diff "$D/rec" -f json
	schema diff "$D/run.out"
	run_tool report "$D/rec" -f html
	[[ $ERR != *'no page in this build'* ]] || return 0
	sed -n '/.*id="data">/,/<\/script>/ { s/.*id="data">//; s/<\/script>.*//; p }' "$D/run.out" >"$D/data"
	schema --whole html "$D/data"
}

# Of the reports that have come whole.
grown_with_stacks() {
	jq -nR --argjson pid "$PID" 'any(inputs | fromjson?; any(.processes[]; .pid == $pid and .trend == "growing" and has("stacks")))' "$D/survey.json" | grep -qx true
}

@test "a survey that has had probes on one process, and its page" {
	scene leak 3000000
	"$TOOL" survey -f json -T 1000 -i 100ms --comm '^leak$' --window 1 --budget 20 --min-growth 64k --record "$D/rec" >"$D/survey.json" 2>"$D/tool.err" 3>&- {HOLD}>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	until_true $((2 * DEADLINE)) grown_with_stacks || fail "$(tail -n 1 "$D/survey.json")"
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?: $(<"$D/tool.err")"
	schema survey "$D/survey.json"
	"$TOOL" report "$D/rec" -f json >"$D/report"
	schema survey "$D/report"
	"$TOOL" report "$D/rec" -f html >"$D/page" 2>"$D/err" || {
		grep -q 'no page in this build' "$D/err" || fail "$(<"$D/err")"
		return 0
	}
	sed -n '/.*id="data">/,/<\/script>/ { s/.*id="data">//; s/<\/script>.*//; p }' "$D/page" >"$D/data"
	schema --whole html "$D/data"
}
