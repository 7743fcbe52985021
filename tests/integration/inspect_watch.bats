#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# --inspect: each report is of one copy of the process: what has been traced with its verdicts, and the whole heap. Both are compared with what the
# program says of itself (tests/targets/verdict.h), and with each other.
# bats file_tags=beside

load lib.bash
load recording.bash

# both: SNAP, and LOOK, the inspection of the same copy.
both() {
	snap
	json_line || fail 'no inspection behind the snapshot'
	LOOK=$LINE
	belong
}

# belong: SNAP and LOOK are of one copy, and agree.
belong() {
	jq -n -e --argjson snap "$SNAP" --argjson look "$LOOK" '
		["definite", "indirect", "possible", "reachable"] as $classes
		| {bytes: 0, count: 0} as $none
		| $look.traced and $look.pid == $snap.pid and $look.final == $snap.final and $look.pause_ms == $snap.verdict.pause_ms
		and all($classes[]; . as $class
			| ($snap.verdict[$class], $snap.verdict.before_attach[$class] // $none) as $part
			| $part.count <= $look.verdict[$class].count and $part.bytes <= $look.verdict[$class].bytes)
		and all($classes[]; . as $class
			| ($snap.verdict.before_attach[$class] // $none) as $before
			| $look.verdict[$class] == {bytes: ($snap.verdict[$class].bytes + $before.bytes), count: ($snap.verdict[$class].count + $before.count)})
		and ([$look.groups[].since_attach.bytes] | add) == $snap.live.bytes
		and ([$look.groups[].since_attach.count] | add) == $snap.live.count
		and ([$look.losses[].lost.count] | add // 0) == $look.verdict.definite.count
		and ([$look.losses[].since_attach.count] | add // 0) == $snap.verdict.definite.count
		and all($look.groups[], $look.losses[] | .allocated_by.id // empty; . as $id | any($snap.stacks[]; .id == $id))
		and all($look.groups[] | select(.allocated_by); .allocated_by.count <= .since_attach.count and .since_attach.count <= .live.count)
	' >/dev/null || fail "they do not agree: $SNAP $LOOK"
	# Within 2 %, and some pages of files that were written to without being changed.
	jq -e '.memory | (.rss_anon_bytes + .swap_bytes) as $all
		| ([.slack_bytes, .allocator_free_bytes, .allocator_books_bytes, .unbelieved_bytes, .stacks_bytes,
			.other_anonymous_bytes, .file_private_bytes, .in_use.bytes] | add) as $known
		| ($known - $all | if . < 0 then -. else . end) * 100 <= $all * 2' <<<"$LOOK" >/dev/null || fail "it does not add up: $LOOK"
}

told() {
	jq "[.verdict[].$1.count] | add" <<<"$TRUTH"
}

# since: TRUTH without what BEFORE has: the sites of what came later.
since() {
	jq -c --argjson before "$BEFORE" '.verdict |= with_entries(select(.key as $name | $before.verdict[$name] | not))' <<<"$TRUTH"
}

# one_copy [OPTION…]: what was there before and what came since.
one_copy() {
	start_target "$TARGETS/verdict_heap"
	tell structures
	BEFORE=$(jq -c '.verdict |= with_entries(select(any(.value[]; .count > 0)))' <<<"$TRUTH")
	attach --inspect "$@"
	tell lost
	tell held
	both
	[[ $(field .verdict.definite.count "$LOOK") -eq $(told definite) && $(field .verdict.indirect.count "$LOOK") -eq $(told indirect) ]] ||
		fail "not as it says: $LOOK"
	holds '[.losses[] | select(.allocated_by.function == "lost_huge") | .lost] == [{"bytes": 4194304, "count": 4}]' "$LOOK"
	holds '[.groups[] | select(.allocated_by.function == "held_huge") | .live, .since_attach] == [{"bytes": 3145728, "count": 1}, {"bytes": 3145728, "count": 1}]' \
		"$LOOK"
	holds 'any(.groups[]; .since_attach.count == 0 and .live.count > 0)' "$LOOK"
	holds '.allocators | length == 1 and .[0].believed' "$LOOK"
	TRUTH=$(since)
	judged
	end_target
	tool_ends
	clean
}

# bats test_tags=quick
@test "one copy serves verdicts of new blocks' stacks and an inspection of all of the heap" {
	each_way one_copy
}

@test "--inspect with --snapshot=fork: one copy serves the verdict and the inspection" {
	one_copy --snapshot=fork
}

@test "inspections show the growth between two reports" {
	start_target "$TARGETS/verdict_heap"
	attach --inspect --sort growth
	tell lost
	both
	holds 'all(.groups[]; .growth_bytes_per_s == null)' "$LOOK"
	tell lost
	both
	holds '.groups[0] | .allocated_by.function == "lost_huge" and .live.count == 8 and .growth_bytes_per_s > 0' "$LOOK"
	holds '.elapsed_ms > 0' "$LOOK"
	stop_tool
	end_target
}

# What debug information says of types takes longer than all else of a look.
@test "debug information is read for the first report only" {
	start_target "$TARGETS/verdict_heap"
	attach --inspect -v
	both
	tell lost
	both
	mapfile -t types < <(grep -o 'types of variables: those of .* look' "$D/tool.err")
	[[ ${#types[@]} -eq 2 && ${types[0]} == *'those of '[1-9]*' files read, of 0 as at an earlier look' &&
		${types[1]} == *'those of 0 files read, of '[1-9]*' as at an earlier look' ]] || fail "it said: ${types[*]}"
	stop_tool
	end_target
}

@test "a process that ends is inspected at its end, with names" {
	start_target "$TARGETS/verdict_heap"
	attach --inspect
	tell lost
	end_target
	tool_ends
	[[ $TOOL_STATUS -eq 0 && ${#SNAPS[@]} -eq 2 ]] || fail "status $TOOL_STATUS: ${SNAPS[*]}"
	SNAP=${SNAPS[0]} LOOK=${SNAPS[1]}
	belong
	holds .exited
	holds .final "$LOOK"
	holds '.allocators[0].version != null' "$LOOK"
	[[ $(field .verdict.definite.count "$LOOK") -eq $(told definite) ]] || fail "not as it says: $LOOK"
}

# With its memory its inspection goes. What has been copied by then is inspected all the same.
@test "killed between two reports, and in the midst of one" {
	local round pause

	for round in 0 1 2 3 4 5; do
		fresh
		start_target "$TARGETS/verdict_heap"
		tell structures
		attach --inspect
		tell lost
		both
		# In the midst: some time after the report has been asked for.
		printf -v pause '0.%03d' $((round * 3))
		[[ $round -eq 0 ]] || kill -USR1 "$TOOL_PID"
		[[ $round -eq 0 ]] || pause $pause
		kill -KILL "$T_PID"
		tool_ends
		[[ $TOOL_STATUS -eq 0 ]] || fail "the tool ended with status $TOOL_STATUS"
		# Each inspection has its snapshot before it; and the last snapshot has none.
		printf '%s\n' "${SNAPS[@]}" | jq -s -e '
			[.[] | {look: has("groups"), taken: (.verdict | has("definite")), final}] as $all
			| all(range(0; $all | length); $all[.].look == false
				or (. > 0 and ($all[. - 1] | .look == false and .taken)))
			and all(range(0; $all | length); $all[.].look or ($all[.].taken | not) or ($all[. + 1] // {look: false} | .look))
			and ($all[-1] | .final and (.look or .taken | not))' >/dev/null || fail "not in order: ${SNAPS[*]}"
		! grep -v 'attached to' "$D/tool.err" || fail "it said: $(<"$D/tool.err")"
		clean
	done
}

# run_to_its_end PROGRAM: what its last report says.
run_to_its_end() {
	printf 'all\nquit\n' | timeout "$DEADLINE" "$TOOL" --inspect --max-pause 1m --no-default-suppressions -f json -T 100000 -o "$D/out.json" -- "$TARGETS/$1" >"$D/run.out" \
		2>"$D/tool.err" 3>&- || fail "status $?"
	TRUTH=$(grep '"phase":"quit"' "$D/run.out")
	SNAP=$(sed -n 1p "$D/out.json") LOOK=$(sed -n 2p "$D/out.json")
	[[ $(wc -l <"$D/out.json") -eq 2 ]] || fail "not one report: $(<"$D/out.json")"
	belong
	judged
	holds '.verdict.unknown_bytes == 0 and .verdict.before_attach == null'
	[[ $(field .verdict.definite.count "$LOOK") -eq $(told definite) && $(field .verdict.indirect.count "$LOOK") -eq $(told indirect) ]] ||
		fail "not as it says: $LOOK"
}

@test "a command inspected from its first instruction has no blocks from before" {
	run_to_its_end verdict_heap.nofp
	run_to_its_end verdict_cxx.nofp
	holds '[.groups[] | select(.kind == "class") | select(.since_attach != .live)] == []' "$LOOK"
	holds '[.groups[] | select(.kind == "class")] | length > 0' "$LOOK"
}

@test "--inspect with jemalloc, tcmalloc and mimalloc" {
	local name

	for name in jemalloc.so.2 tcmalloc_minimal.so.4 mimalloc.so.2.0; do
		[[ -e $LIBDIR/lib$name ]] || skip "no lib$name"
		fresh
		T_ENV=("LD_PRELOAD=$LIBDIR/lib$name")
		start_target "$TARGETS/verdict_heap"
		attach --inspect
		tell structures
		both
		judged
		holds '[.allocators[] | select(.in_use.count >= 176)] | length == 1 and .[0].believed' "$LOOK"
		end_target
		tool_ends
		clean
	done
}

# Its pool is in the program's own data.
@test "blocks of an allocator that nobody here reads count once" {
	start_target "$TARGETS/pool"
	attach --inspect --alloc-fn my_pool_alloc:2 --free-fn my_pool_free:2
	tell go
	both
	holds '[.allocators[] | select(.name == "traced, of others") | .in_use.count > 10] == [true]' "$LOOK"
	end_target
	tool_ends
}

# beside [OPTION…]: of a process that is watched, other memleakbpfs inspect it by a copy and as it stands. That is seen by nobody but them.
beside() {
	local how counts

	start_target "$TARGETS/verdict_heap"
	attach --inspect "$@"
	tell structures
	both
	counts=$(jq -c '[.verdict[] | .count?]' <<<"$LOOK")
	for how in fork stop; do
		run_tool inspect -p "$T_PID" -f json -v --snapshot=$how
		[[ $STATUS -eq 0 ]] || fail "inspect beside it: status $STATUS: $ERR"
		! grep -q 'a copy by fork is not possible' <<<"$ERR" || fail "no fork: $ERR"
		[[ $(jq -c '.memory.in_use.count' <<<"$OUT") -eq $(jq -c '.memory.in_use.count' <<<"$LOOK") ]] || fail "not the same: $OUT $LOOK"
	done
	tell held
	both
	judged
	[[ $(jq -c '[.verdict[] | .count?]' <<<"$LOOK") != "$counts" ]] || fail 'nothing has changed'
	end_target
	tool_ends
	[[ $(grep -c 'attached to' "$D/tool.err") -eq 1 ]] || fail "it took the copy for a child: $(<"$D/tool.err")"
	jq -s -e --argjson pid "$T_PID" 'all(.[]; .pid == $pid)' "$D/json.log" >/dev/null || fail 'it tells of another process'
	clean
}

@test "inspect, of a process that another memleakbpf watches" {
	each_way beside
	fresh
	beside --children exact
}

# Whose fork takes so long that what makes the copy could be taken for a process that goes on in the target's memory (20 ms; the longest is printed).
beside_long() {
	local i forks=''

	start_target "$TARGETS/many"
	attach --children late
	tell 'maps 60000'
	for ((i = 0; i < 10; i++)); do
		run_tool inspect -p "$T_PID" -f json -v --snapshot=fork --max-pause 5s
		[[ $STATUS -eq 0 ]] || fail "inspect beside it: status $STATUS: $ERR"
		! grep -q 'a copy by fork is not possible' <<<"$ERR" || fail "no fork: $ERR"
		forks+=$(sed -n 's/.*[^0-9.]\([0-9.]*\) ms to fork.*/\1/p' <<<" $ERR")$'\n'
	done
	snap
	holds '.lost | .late_probes == 0 and .short_children == 0'
	printf '# %s: %s ms to fork\n' "$MODE" "$(sort -n <<<"$forks" | tail -n 1)" >&3
	end_target
	tool_ends
}

@test "inspect, of a large process that another memleakbpf watches" {
	each_way beside_long
}

# Who comes first has it; the other one says so.
@test "two at the same time: each looks, or says why not" {
	local i looked=0 status

	start_target "$TARGETS/verdict_heap"
	tell big
	attach --inspect
	for ((i = 0; i < 10; i++)); do
		"$TOOL" inspect --max-pause 1m -p "$T_PID" -f json >"$D/beside.$i" 2>"$D/beside.err" 3>&- &
		PIDS+=($!)
		snap
		status=0
		wait $! || status=$?
		if [[ $status -eq 0 ]]; then
			looked=$((looked + 1))
			holds '.verdict.definite.count >= 1' "$(<"$D/beside.$i")"
		else
			grep -q 'not inspected: ' "$D/beside.err" || fail "status $status, and no reason: $(<"$D/beside.err")"
		fi
		if jq -e .verdict.definite <<<"$SNAP" >/dev/null; then
			json_line || fail 'no inspection behind the snapshot'
			LOOK=$LINE
			belong
		else
			holds '.verdict.refused != null'
		fi
	done
	both
	printf '%d of 10 looked beside\n' "$looked"
	end_target
	tool_ends
	[[ $TOOL_STATUS -eq 0 ]] || fail "the tool ended with status $TOOL_STATUS"
}

@test "in a recording: report shows both, diff and other formats the stacks" {
	start_target "$TARGETS/verdict_heap"
	tell structures
	: >"$D/tool.err"
	env --default-signal=INT "$TOOL" record --inspect --max-pause 1m -i 1h -o "$D/rec" -p "$T_PID" >"$D/tool.out" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	attached "$T_PID"
	tell lost
	kill -USR1 "$TOOL_PID"
	until_true "$DEADLINE" recorded 2 || fail 'nothing was recorded'
	tell held
	tool_stops
	report "$D/rec" -f json -T 100000
	[[ $(wc -l <<<"$REPORT") -eq 4 ]] || fail "not four: $REPORT"
	SNAP=$(sed -n 3p <<<"$REPORT") LOOK=$(sed -n 4p <<<"$REPORT")
	belong
	[[ $(field .verdict.definite.count "$LOOK") -eq $(told definite) && $(field .verdict.indirect.count "$LOOK") -eq $(told indirect) ]] ||
		fail "not as it says: $LOOK"
	report "$D/rec"
	[[ $(grep -c '^===' <<<"$REPORT") -eq 2 ]] || fail "not two: $REPORT"
	[[ $(grep '^===' <<<"$REPORT" | tail -1) == *'the whole heap'* ]] || fail "the inspection is not the last: $REPORT"
	grep -q 'since the attach: .* from held_huge' <<<"$REPORT" || fail "no origin: $REPORT"
	report "$D/rec" -f folded
	grep -q 'lost_huge' <<<"$REPORT" || fail "no stacks: $REPORT"
	run_tool diff "$D/rec" -f folded
	[[ $STATUS -eq 0 ]] || fail "$ERR"
	grep -q 'held_huge' <<<"$OUT" || fail "no difference: $OUT"
	! grep -q 'blocks of' <<<"$OUT" || fail "kinds of blocks among stacks: $OUT"
	end_target
}

@test "a line names the options that do not go with --inspect" {
	run_tool -p $$ --inspect -f folded
	refused 2 '^memleakbpf: --inspect: -f folded has no place for it; give one of text, json, folded=kept, folded=retained, or record$'
	run_tool -p $$ --inspect --mmap
	refused 2 '^memleakbpf: --inspect: excludes --mmap'
	run_tool -p $$ --inspect --merge
	refused 2 '^memleakbpf: --merge: excludes --inspect'
	run_tool survey --inspect
	refused 2 '^memleakbpf: .*--inspect'
}
