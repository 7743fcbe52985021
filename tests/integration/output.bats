#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What is printed, as text and as JSON.

load lib.bash

# bats test_tags=quick
@test "json: every snapshot has the members of the contract, with the right types" {
	start_target "$TARGETS/leaf"
	attach --sort live
	tell go
	snap
	holds '.version == 1 and (.final | type) == "boolean" and .sample_bytes == 0'
	holds ".pid == $T_PID and .comm == \"leaf\" and .cmdline == [\"$TARGETS/leaf\"]"
	holds '.time | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$")'
	holds '(.elapsed_ms | type) == "number" and .elapsed_ms >= 0'
	holds '[.live, .alloc, .free | .bytes, .count | type] | unique == ["number"]'
	holds '.unknown_frees == 0 and (.lost | type) == "object"'
	holds '.stacks | length == 5'
	holds '[.stacks[] | .id, (.truncated | type)] | length == 10'
	holds '[.stacks[].live.bytes] | . == (sort | reverse)'
	# Unknown values are left out, never invented.
	holds '[.. | select(. == null or . == "")] == []'
	holds '[.stacks[].frames[] | select(has("line") and (.line == 0 or (has("file") | not)))] == []'
	holds '[.stacks[].frames[] | .offset | type] | unique == ["number"]'
}

@test "json: names that JSON must escape" {
	cp "$TARGETS/leaf" "$D/a \"b\\"$'\x01\xff'
	start_target "$D/a \"b\\"$'\x01\xff'
	attach
	tell go
	snap
	same
	LC_ALL=C.UTF-8 iconv -f UTF-8 -t UTF-8 <<<"$SNAP" >/dev/null || fail 'not UTF-8'
	holds '.cmdline[0] | test("a \"b")'
	end_target
}

# bats test_tags=quick
@test "text: header, totals, the stack with its lines, its share; attached line on standard error" {
	start_target "$TARGETS/leaf"
	"$TOOL" -p "$T_PID" -i 1h >"$D/text" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	attached "$T_PID"
	tell go
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID"
	grep -q "$T_PID" "$D/text" || fail 'no pid'
	grep -q 'leak_1m' "$D/text" || fail 'no leak_1m'
	grep -q 'leaf\.c:[0-9]' "$D/text" || fail 'no file and line'
	grep -q 'malloc' "$D/text" || fail 'no malloc'
	! grep -q $'\x1b' "$D/text" || fail 'colours in a file'
	# The largest comes first.
	[[ $(grep -no 'leak_1m' "$D/text" | head -n 1 | cut -d: -f1) -lt $(grep -no 'leak_16\b' "$D/text" | head -n 1 | cut -d: -f1) ]] ||
		fail 'not sorted'
	end_target
}

@test "text: colour on a terminal, none with NO_COLOR" {
	command -v script >/dev/null || skip 'no script(1)'
	start_target "$TARGETS/leaf"
	tell go
	# Something to show: blocks allocated while it is attached.
	for setting in '' 'NO_COLOR=1'; do
		timeout "$DEADLINE" script -qec "env -u NO_COLOR TERM=xterm $setting $TOOL -p $T_PID -i 200ms -n 2" /dev/null \
			<"$D/json" >"$D/screen" 2>&1 3>&- &
		screen=$!
		PIDS+=("$screen")
		exec {keyboard}>"$D/json"
		until_true "$DEADLINE" grep -q 'attached to' "$D/screen" || fail "$(<"$D/screen")"
		tell go
		wait "$screen" || fail "$(<"$D/screen")"
		exec {keyboard}>&-
		if [[ -z $setting ]]; then
			grep -q $'\x1b\\[[0-9;]*m' "$D/screen" || fail 'no colour on a terminal'
		else
			! grep -q $'\x1b\\[[0-9;]*m' "$D/screen" || fail 'colour in spite of NO_COLOR'
		fi
	done
	end_target
}

@test "text: terminal escapes in a target's names do no harm" {
	cp "$TARGETS/leaf" "$D/x"$'\x1b'"[31mred"
	start_target "$D/x"$'\x1b'"[31mred"
	"$TOOL" -p "$T_PID" -i 1h >"$D/text" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	tool_says 'attached to'
	tell go
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID"
	! grep -q $'\x1b' "$D/text" "$D/tool.err" || fail 'an escape got through'
	end_target
}

@test "losses are said on the text report, with what to do" {
	start_target "$TARGETS/million" 5000
	"$TOOL" -p "$T_PID" -i 1h --max-live 1000 >"$D/text" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	attached "$T_PID"
	tell go
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID"
	cat "$D/text" "$D/tool.err" | grep -q -- '--max-live' || fail 'the remedy is not named'
	end_target
}

@test "-o writes a file; an old one is replaced" {
	start_target "$TARGETS/leaf"
	seq 10000 >"$D/report"
	run_tool -f json -p "$T_PID" -i 100ms -n 1 -o "$D/report"
	[[ $STATUS -eq 0 && -z $OUT ]] || fail "$STATUS $OUT $ERR"
	[[ $(wc -l <"$D/report") -eq 1 ]] || fail 'the old file is still there'
	holds '.version == 1' "$(<"$D/report")"
	end_target
}

@test "growth, and no trend before it is known" {
	start_target "$TARGETS/leaf"
	attach
	tell go
	snap
	holds '[.stacks[] | has("verdict")] | any | not'
}
