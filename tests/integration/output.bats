#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What is printed, as text and as JSON.
# bats file_tags=beside

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
		: >"$D/screen" # now, so that nobody reads what an earlier one said
		timeout "$DEADLINE" script -qec "exec env -u NO_COLOR --default-signal=INT TERM=xterm $setting $TOOL -p $T_PID -i 1h" /dev/null \
			<"$D/json" >"$D/screen" 2>&1 3>&- &
		screen=$!
		PIDS+=("$screen")
		exec {keyboard}>"$D/json"
		until_true "$DEADLINE" grep -q 'attached to' "$D/screen" || fail "$(<"$D/screen")"
		tell go
		printf '\003' >&"$keyboard"
		wait "$screen" || fail "status $?: $(<"$D/screen")"
		grep -q leak_1m "$D/screen" || fail "no report: $(<"$D/screen")"
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

@test "the text report names losses, and the remedy" {
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

@test "growth is shown, and no trend before it is known" {
	start_target "$TARGETS/leaf"
	attach
	tell go
	snap
	holds '[.stacks[] | has("verdict")] | any | not'
}

@test "-o FILE: the old contents stay until there is something to write" {
	echo old >"$D/file"
	run_tool -p 4194305 -o "$D/file"
	[[ $STATUS -eq 1 && $(<"$D/file") == old ]] || fail "status $STATUS: $(<"$D/file")"
	run_tool record -p 4194305 -o "$D/file"
	[[ $STATUS -eq 1 && $(<"$D/file") == old ]] || fail "record: status $STATUS: $(<"$D/file")"
	echo garbage >"$D/garbage"
	run_tool report "$D/garbage" -o "$D/file"
	[[ $STATUS -eq 1 && $(<"$D/file") == old ]] || fail "report: status $STATUS: $(<"$D/file")"
	# An end without anything to say is something all the same, and shorter than what was there.
	head -c 100000 /dev/zero >"$D/file"
	run_tool -f json -o "$D/file" -- /bin/true
	[[ $STATUS -eq 0 ]] || fail "status $STATUS: $ERR"
	holds '.live.count == 0' "$(<"$D/file")"
	head -c 100000 /dev/zero >"$D/file"
	run_tool record -o "$D/recording" -- /bin/true
	run_tool report "$D/recording" -p 4194305 -f json -o "$D/file"
	[[ $STATUS -eq 0 && $(stat -c %s "$D/file") -lt 1000 ]] || fail 'still there'
}

@test "-o FILE where everybody may make files: no link, FIFO or file of another user" {
	local there

	mkdir "$D/all"
	chmod 1777 "$D/all"
	echo precious >"$D/victim"
	ln -s "$D/victim" "$D/all/link"
	ln -s "$D/made" "$D/all/dangling"
	mkfifo "$D/all/FIFO"
	echo precious >"$D/all/file"
	chown -h 65534 "$D/all"/*
	run_tool record -o "$D/recording" -- /bin/true
	for there in link dangling FIFO file; do
		run_tool record -o "$D/all/$there" -- /bin/true
		refused 1 "cannot open $D/all/$there for writing: a ${there/dangling/link} that belongs to user 65534 is there"
		run_tool report "$D/recording" -o "$D/all/$there"
		refused 1 "cannot open $D/all/$there for writing: a ${there/dangling/link} that belongs to user 65534 is there"
		run_tool diff "$D/recording" "$D/recording" -o "$D/all/$there"
		refused 1 "cannot open $D/all/$there for writing: a ${there/dangling/link} that belongs to user 65534 is there"
	done
	[[ $(<"$D/victim") == precious && $(<"$D/all/file") == precious && ! -e $D/made ]] || fail 'written to'
	# One's own is one's own affair.
	ln -s "$D/made" "$D/all/own"
	run_tool report "$D/recording" -o "$D/all/own"
	[[ $STATUS -eq 0 && -s $D/made ]] || fail "status $STATUS: $ERR"
	# Elsewhere whoever may make files is trusted by whoever owns the directory.
	ln -s "$D/elsewhere" "$D/link"
	chown -h 65534 "$D/link"
	run_tool report "$D/recording" -o "$D/link"
	[[ $STATUS -eq 0 && -s $D/elsewhere ]] || fail "status $STATUS: $ERR"
}

@test "a file of -o with --contents is readable for its owner alone" {
	umask 022
	: >"$D/there"
	chmod 644 "$D/there"
	for file in new there; do
		run_tool record --verdict --contents 16 -o "$D/$file" -- /bin/true
		[[ $STATUS -eq 0 && $(stat -c %a "$D/$file") == 600 ]] || fail "$file: status $STATUS, $(stat -c %a "$D/$file")"
	done
	umask 277
	run_tool record --verdict --contents 16 -o "$D/less" -- /bin/true
	[[ $(stat -c %a "$D/less") == 400 ]] || fail "$(stat -c %a "$D/less")"
	umask 022
	run_tool record --verdict -o "$D/without" -- /bin/true
	[[ $(stat -c %a "$D/without") == 644 ]] || fail "$(stat -c %a "$D/without")"
}
