#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The page of -f html, opened in Chromium: it is clicked, and its numbers are compared with those of JSON and with the truth.
# bats file_tags=beside

load lib.bash
load recording.bash

@test "html: every number is that of the recording, live, allocated and growth, in bytes and blocks" {
	needs_chromium
	start_target "$TARGETS/leaf"
	tool_into "$D/rec" record
	record_steps go go free churn go
	tool_stops
	end_target
	report "$D/rec" -f json -T 1000 --sort alloc
	mapfile -t SNAPS <<<"$REPORT"
	report "$D/rec" -f html
	printf '%s\n' "$REPORT" >"$D/page.html"
	grep -Eq 'https?://[^ "]*\.(js|css)' "$D/page.html" && fail 'it names files to load'
	look "$D/page.html" 'value|#card-live b' 'value|#flame' 'value|#card-growth b' 'click|#modes [data-key=alloc]' 'value|#flame' \
		'click|#modes [data-key=growth]' 'value|#flame' 'click|#measures [data-key=blocks]' 'value|#flame' \
		'click|#modes [data-key=alloc]' 'value|#flame' 'click|#modes [data-key=live]' 'value|#flame' 'count|tr.row' \
		'count|#findings li' 'text|#findings li'
	seen 0 "$(live)" 'live'
	seen 1 "$(live)" 'the flame graph of what is live'
	SNAP=${SNAPS[5]}
	seen 2 "$(jq ".live.bytes - $(jq .live.bytes <<<"${SNAPS[0]}")" <<<"$SNAP")" 'growth since the first snapshot'
	seen 3 "$(jq .alloc.bytes <<<"$SNAP")" 'the flame graph of what was allocated'
	# Only what grew has a place in the flame graph.
	growth() {
		jq -n --argjson a "${SNAPS[0]}" --argjson b "$SNAP" '($a.stacks | map({(.id): .live.'"$1"'}) | add) as $old
			| [$b.stacks[] | .live.'"$1"' - ($old[.id] // 0) | select(. > 0)] | add'
	}
	seen 4 "$(growth bytes)" 'growth in bytes'
	seen 5 "$(growth count)" 'growth in blocks'
	seen 6 "$(jq .alloc.count <<<"$SNAP")" 'calls'
	seen 7 "$(live count)" 'blocks'
	seen 8 "$(jq '[.stacks[] | select(.alloc.count > 0)] | length' <<<"$SNAP")" 'rows of the table'
	seen 9 "$(jq '.findings | length' <<<"$SNAP")" 'sentences'
	seen 10 "$(jq -r '.findings[0].text' <<<"$SNAP")" 'the first of them'
}

@test "html: chosen times, sorting, searching, frames with file and line" {
	local columns="td[data-key=growth]"

	needs_chromium
	start_target "$TARGETS/leaf"
	tool_into "$D/rec" record
	record_steps go go free
	tool_stops
	end_target
	report "$D/rec" -f json -T 1000 --sort alloc
	mapfile -t SNAPS <<<"$REPORT"
	report "$D/rec" -f html
	printf '%s\n' "$REPORT" >"$D/page.html"
	look "$D/page.html" 'type|#search|LEAK_4K' 'value|#found' 'click|tr.row' 'text|ol.frames' 'type|#search|nothing like it' 'value|#found' \
		'type|#search|' "click|th [data-key=growth]" "value|$columns" 'click|th [data-key=growth]' "value|$columns" \
		'drag|#chart .overlay|0.05|0.02' 'value|#card-live b' 'click|#whole' 'value|#card-live b' 'dark' 'value|#card-live b'
	seen 0 1 'found stacks'
	[[ ${SEEN[1]} == *malloc*leak_4k*leaf.c:[0-9]*middle*main* ]] || fail "frames: ${SEEN[1]}"
	seen 2 0 'found'
	growths() {
		jq -n --argjson a "${SNAPS[0]}" --argjson b "${SNAPS[3]}" '($a.stacks | map({(.id): .live.bytes}) | add) as $old
			| [$b.stacks[] | .live.bytes - ($old[.id] // 0)] | '"$1"
	}
	seen 3 "$(growths max)" 'the most growth'
	seen 4 "$(growths min)" 'the least growth'
	# Until the second snapshot at most.
	[[ ${SEEN[5]} == "$(jq .live.bytes <<<"${SNAPS[0]}")" || ${SEEN[5]} == "$(jq .live.bytes <<<"${SNAPS[1]}")" ]] ||
		fail "live at the chosen time: ${SEEN[5]}"
	seen 6 "$(live)" 'live of the whole time'
	seen 7 "$(live)" 'live, in the dark'
}

# The page with its times so many times as far apart.
stretched() {
	local head data tail

	head=$(sed '/ id="data">$/q' <<<"$REPORT")
	data=$(sed '1,/ id="data">$/d; /<\/script>/,$d' <<<"$REPORT")
	tail=$(sed '1,/ id="data">$/d' <<<"$REPORT" | sed -n '/<\/script>/,$p')
	data+=${tail%%</script>*}
	printf '%s\n' "$head" "$(jq -c --argjson by "$1" '.targets[] |= ((.time[0]) as $first
		| (.time, .moments) |= map($first + (. - $first) * $by))' <<<"$data")</script>${tail#*</script>}"
}

@test "html: rows by the keyboard, the flame graph from either end, labels and cards beside each other" {
	local step=() width at=0

	needs_chromium
	cp "$ROOT/tests/golden/recording/"*.mlb "$D/"
	report "$D/notes.mlb" -f html
	printf '%s\n' "$REPORT" >"$D/page.html"
	look "$D/page.html" 'press|tr.row|Enter' 'count|tr.frames' 'press|tr.row|ArrowDown' 'focused' 'press|tr.row:focus|ArrowUp' 'focused' \
		'press|tr.row:focus|Space' 'count|tr.frames' 'count|tr.row[aria-expanded=true]'
	seen 0 1 'opened by Enter'
	[[ ${SEEN[1]} != "${SEEN[2]}" && ${SEEN[1]} == [0-9a-f]* && ${SEEN[2]} == [0-9a-f]* ]] || fail "the arrows: ${SEEN[*]}"
	seen 3 0 'closed by the space bar'
	seen 4 0 'and said to be'
	report "$D/shop.mlb" -f html
	stretched 4 >"$D/page.html"
	step=('choose|#targets|0')
	for width in 1400 1000 800 700 610 400; do
		step+=("size|$width|900" 'apart|#chart .tick text:not([x^="-"])' 'alike|#cards .card:not(.warn)')
	done
	look "$D/page.html" "${step[@]}"
	for ((at = 0; at < 12; at += 2)); do
		seen $at apart "labels, look $at"
		seen $((at + 1)) alike "cards, look $at"
	done
	# All of it, from whichever end.
	look "$D/page.html" 'value|#flame' 'click|#ways [data-key=callees]' 'value|#flame' 'text|#flame svg' 'click|#ways [data-key=sites]' 'value|#flame' 'text|#flame svg'
	seen 1 "${SEEN[0]}" 'callees first'
	seen 3 "${SEEN[0]}" 'sites first'
	[[ ${SEEN[2]} == *malloc* && ${SEEN[4]} != *malloc* ]] || fail "the flame graphs: ${SEEN[*]}"
}

@test "html: while tracing, the file is a whole page at every snapshot" {
	needs_chromium
	start_target "$TARGETS/leaf"
	tool_into "$D/page.html" -f html
	tell go
	kill -USR1 "$TOOL_PID"
	until_true "$DEADLINE" into '^</html>$' "$D/page.html" || fail 'no page'
	look "$D/page.html" 'value|#card-live b' 'value|#flame' 'count|#modes [disabled]'
	seen 0 "$(live)" live
	seen 1 "$(live)" 'the flame graph'
	# Of one snapshot no growth is known.
	seen 2 1 'modes that cannot be chosen'
	tell go
	tool_stops
	end_target
	look "$D/page.html" 'value|#card-live b' 'count|#modes [disabled]'
	seen 0 "$(live)" 'live at the end'
	seen 1 0 'modes that cannot be chosen'
}

@test "html: several processes can be chosen, and together they are the sum" {
	local child sum

	needs_chromium
	start_target "$TARGETS/family"
	tool_into "$D/page.html" -f html
	tell go
	tell fork-wait
	child=$(field .child "$TRUTH")
	attached "$child"
	tell again
	tool_stops
	kill -TERM "$child"
	end_target
	look "$D/page.html" 'count|#targets option' 'value|#card-live b' 'choose|#targets|0' 'value|#card-live b' 'choose|#targets|1' 'value|#card-live b'
	seen 0 3 'processes to choose from, and all of them'
	sum=$((SEEN[2] + SEEN[3]))
	seen 1 "$sum" 'the sum'
	[[ ${SEEN[2]} -gt 0 ]] || fail 'nothing in the parent'
}

@test "html: names that are HTML are text" {
	local evil='</script><img src=x onerror=alert(1)>'

	needs_chromium
	objcopy --strip-debug --redefine-sym leak_1m="$evil" "$TARGETS/leaf" "$D/<iframe onload>"
	start_target "$D/<iframe onload>" '</script><script>alert(3)</script>'
	tool_into "$D/page.html" -f html
	tell go
	tool_stops
	end_target
	look "$D/page.html" 'value|#card-live b' 'count|img, iframe' 'type|#search|onerror=alert(1)' 'value|#found' 'click|tr.row' 'text|ol.frames' 'text|#about' 'count|img, iframe'
	seen 0 "$(live)" live
	seen 1 0 'images'
	seen 2 1 'stacks through the function'
	# What looks like template arguments is folded.
	[[ ${SEEN[3]} == *'</script><..>'*'(<iframe onload>)'* ]] || fail "frames: ${SEEN[3]}"
	[[ ${SEEN[4]} == *'</script><script>alert(3)</script>'* ]] || fail "command line: ${SEEN[4]}"
	seen 5 0 'images after the click'
}

@test "html: what holds a block, in an opened row, as in the text" {
	local holder

	needs_chromium
	start_target "$TARGETS/verdict_heap"
	tool_into "$D/rec" record --verdict --max-pause 1m
	tell all
	tool_stops
	end_target
	report "$D/rec" -f json -T 1000
	holder=$(jq -r '.stacks[] | select(.frames[1].function == "big_held") | .held_by | join(" → ")' <<<"$REPORT")
	[[ $holder == *'a block of'* ]] || fail "held by '$holder'"
	report "$D/rec" -f html
	printf '%s\n' "$REPORT" >"$D/page.html"
	look "$D/page.html" 'type|#search|big_held' 'value|#found' 'click|tr.row' 'text|.held-by'
	seen 0 1 'found stacks'
	seen 1 "held by $holder" 'what holds it'
}

@test "html: bad frees, with the stacks of their calls" {
	needs_chromium
	T_ENV=(LD_PRELOAD="$TARGETS/noop_free.so")
	start_target "$TARGETS/bad_frees" all wait
	tool_into "$D/rec" record --check-frees
	echo go >&"$T_IN"
	tool_ends
	report "$D/rec" -f html
	printf '%s\n' "$REPORT" >"$D/page.html"
	printf '{\n  all of them\n  Memcheck:Free\n  ...\n  fun:main\n}\n' >"$D/supp"
	"$TOOL" report "$D/rec" -f html --suppressions "$D/supp" -o "$D/other.html" || fail 'suppressed'
	look "$D/page.html" 'count|.bad-free' 'click|.bad-free summary' 'text|.bad-free' 'text|#bad-frees'
	seen 0 7 'bad frees listed'
	[[ ${SEEN[1]} == 'double free, 6 times'*freed*put_again*'freed before'*put*allocated*get*main* ]] || fail "the first: ${SEEN[1]}"
	[[ ${SEEN[2]} == *'free by the wrong function, 5 times: allocated by new, freed by delete[]'*new_and_array_delete* ]] || fail "all: ${SEEN[2]}"
	look "$D/other.html" 'text|#bad-frees'
	[[ ${SEEN[0]} == *'suppressed: 28' ]] || fail "${SEEN[0]}"
}

@test "html: a page with a verdict has what is lost" {
	local lost count

	needs_chromium
	start_target "$TARGETS/verdict_heap"
	tool_into "$D/page.html" --verdict -f html
	tell all
	kill -USR1 "$TOOL_PID"
	until_true "$DEADLINE" into '^</html>$' "$D/page.html" || fail 'no page'
	look "$D/page.html" 'value|#card-lost b' 'click|#modes [data-key=lost]' 'value|#flame' 'click|#measures [data-key=blocks]' 'value|#flame' \
		'value|td[data-key=lost]' 'click|#measures [data-key=bytes]' 'value|td[data-key=lost]'
	lost=$(jq '[.verdict[] | .definite, .indirect | .bytes] | add' <<<"$TRUTH")
	count=$(jq '[.verdict[] | .definite, .indirect | .count] | add' <<<"$TRUTH")
	[[ $lost -gt 0 ]] || fail 'nothing is lost'
	seen 0 "$lost" 'lost'
	seen 1 "$lost" 'the flame graph of what is lost'
	seen 2 "$count" 'the flame graph of lost blocks'
	seen 3 "$(jq '[.verdict[] | .definite.count + .indirect.count] | max' <<<"$TRUTH")" 'the most blocks lost'
	seen 4 "$(jq '[.verdict[] | .definite.bytes + .indirect.bytes] | max' <<<"$TRUTH")" 'the largest loss'
	end_target
	tool_ends
}

@test "html: no sideways scrolling at 1400, 800 and 400 pixels, light and dark; Blocks sorts blocks" {
	local step=() width at=0

	needs_chromium
	cp "$ROOT/tests/golden/recording/"*.mlb "$D/"
	for recording in shop notes; do
		report "$D/$recording.mlb" -f html
		printf '%s\n' "$REPORT" >"$D/page.html"
		step=()
		for width in 1400 800 400 320; do
			step+=("size|$width|900" fits 'click|tr.row' fits)
		done
		look "$D/page.html" "${step[@]}" ground dark ground "${step[@]}"
		for ((at = 0; at < 8; at++)); do
			seen $at fits "$recording, look $at"
			seen $((at + 10)) fits "$recording in the dark, look $at"
		done
		seen 8 light "$recording: its ground"
		seen 9 dark "$recording: its ground in the dark"
	done
	# Below 600 pixels a row is a card: its numbers stand below each other, under their names.
	look "$D/page.html" 'size|400|900' 'display|tr.row' 'display|#table td[data-key=live]' 'inside|#flame svg' 'size|1400|900' 'display|#table'
	seen 0 grid 'a card'
	seen 1 block 'a number in it'
	seen 2 inside 'the flame graph'
	seen 3 table 'the table'
	# A module is not broken, beside whatever name it stands.
	look "$D/page.html" 'size|320|900' 'click|tr.row' 'whole|ol.frames .module' 'size|290|900' 'whole|ol.frames .module' 'size|260|900' 'whole|ol.frames .module'
	seen 0 whole 'modules'
	seen 1 whole 'modules'
	seen 2 whole 'modules'
	start_target "$TARGETS/leaf"
	tool_into "$D/page.html" -f html
	tell go
	tool_stops
	end_target
	# Most bytes are in one stack, most blocks in another.
	look "$D/page.html" 'value|#table td[data-key=live]' 'click|#measures [data-key=blocks]' 'value|#table td[data-key=count]' \
		'click|#modes [data-key=alloc]' 'value|#table td[data-key=allocs]' 'click|#measures [data-key=bytes]' 'value|#table td[data-key=alloc]'
	seen 0 "$(jq '[.live[].bytes] | max' <<<"$TRUTH")" 'most bytes'
	seen 1 "$(jq '[.live[].count] | max' <<<"$TRUTH")" 'most blocks'
	seen 2 "$(jq '[.alloc[].count] | max' <<<"$TRUTH")" 'most calls'
	seen 3 "$(jq '[.alloc[].bytes] | max' <<<"$TRUTH")" 'most allocated'
}
