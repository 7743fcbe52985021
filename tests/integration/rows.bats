#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Rows of stacks that have something in common (--by), and whose line it is (--own).

# bats file_tags=beside

load lib.bash
load recording.bash

# Bytes and blocks of each row of a text report, a line each, and of no stack below a row.
rows_of() {
	sed -nE 's/^#[0-9]+ +([^,(]* \()?([0-9,]+) B\)? in ([0-9,]+) blocks?\b.*/\2 \3/p' <<<"$REPORT" | tr -d ',' | sort
}

# The same by the sites of a JSON report's stacks.
sites_of() {
	jq -r --argjson key "$1" '[.stacks[] | select(.live.count > 0)] | group_by([.site[$key[]]])[]
		| "\(map(.live.bytes) | add) \(map(.live.count) | add)"' <<<"$SNAP" | sort
}

@test "rows are the exact sums of their stacks: by line, function, file and module" {
	local by key

	for target in leaf leaf.nofp; do
		start_target "$TARGETS/$target"
		tool_into "$D/rec" record
		record_steps go free churn go
		tool_stops
		end_target
		report "$D/rec" -f json -T 100000
		SNAP=$(tail -n 1 <<<"$REPORT")
		[[ $(jq '[.stacks[].site.own] | all' <<<"$SNAP") == true ]] || fail "$SNAP"
		for by in line:'["function","file","line"]' function:'["function","file"]' file:'["file"]' module:'["module"]'; do
			key=${by#*:}
			report "$D/rec" --by "${by%%:*}" -T 100000
			[[ $(rows_of) == "$(sites_of "$key")" ]] || fail "$target, $by: $(rows_of), not $(sites_of "$key")"
			(($(rows_of | awk '{ sum += $1 } END { print sum }') == $(jq .live.bytes <<<"$SNAP"))) || fail "$target, $by: $REPORT"
		done
	done
}

@test "--own and --not-own: whose line it is, in text and JSON, by the command line and by the file of defaults" {
	start_target "$TARGETS/leaf"
	tool_into "$D/rec" record
	record_steps go
	tool_stops
	end_target
	report "$D/rec" --short -T 1
	grep -qE '^#1 .*  leak_1m  leaf\.c:[0-9]+ < middle < outer' <<<"$REPORT" || fail "$REPORT"
	report "$D/rec" --short -T 1 --not-own 'leak_*'
	grep -qE '^#1 .*  middle  leaf\.c:[0-9]+ < outer' <<<"$REPORT" || fail "$REPORT"
	report "$D/rec" --short -T 1 --not-own leaf.c --own outer
	grep -qE '^#1 .*  outer  leaf\.c:[0-9]+' <<<"$REPORT" || fail "$REPORT"
	report "$D/rec" -f json -T 1 --not-own '*/leaf'
	[[ $(tail -n 1 <<<"$REPORT" | jq '.stacks[0].site.own') == false ]] || fail "$REPORT"
	mkdir -p "$D/home/.config/memleakbpf"
	printf 'not-own = leak_*\nnot-own = middle\n' >"$D/home/.config/memleakbpf/config"
	OUT=$(XDG_CONFIG_HOME='' HOME=$D/home "$TOOL" report "$D/rec" --short -T 1) || fail "$OUT"
	grep -qE '^#1 .*  outer  leaf\.c:[0-9]+' <<<"$OUT" || fail "$OUT"
}

@test "Node: a line is one row, whether it is interpreted or compiled" {
	local stacks

	need node
	cat >"$D/leaky.js" <<-'END'
		const kept = [];
		function leak() {
			kept.push(Buffer.alloc(20000));
		}
		for (let i = 0; i < 3000; i++)
			leak();
		process.kill(process.pid, 'SIGKILL');
	END
	run_tool --short -T 1 -- node "$D/leaky.js"
	# The buffers, and what V8 has for each of them.
	grep -qE '^#1 +57\.[0-9] MiB +[0-9,]+ +-  leak  leaky\.js:3 ' <<<"$OUT" || fail "$STATUS $OUT $ERR"
	run_tool --short -T 1000 --by stack -- node "$D/leaky.js"
	stacks=$(grep -cE '^#.*  leak  leaky\.js:3' <<<"$OUT")
	((stacks > 1)) || fail "there is but one stack, so nothing was put together: $OUT"
}

@test "no two rows read the same: redis-server, of which names of functions are all that is known" {
	local port

	need redis-server
	need redis-benchmark
	port=$(free_port)
	start_redis "$port"
	redis-benchmark -p "$port" -t lpush -d 1000 -n 1000000 -l -q >/dev/null 2>&1 3>&- &
	PIDS+=($!)
	run_tool -p "$T_PID" -i 1s -n 1 --short -T 1000
	[[ $STATUS -eq 0 ]] || fail "$STATUS $OUT $ERR"
	[[ -z $(grep '^#[0-9]' <<<"$OUT" | cut -c 38- | sort | uniq -d) ]] || fail "$OUT"
	kill "${PIDS[-1]}"
}
