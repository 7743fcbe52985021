#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What is counted, to the byte and the block, and under every way to attach.

load lib.bash
ALL_MODES=1

leaf_sites() {
	start_target "$TARGETS/$1"
	attach
	tell go
	snap
	same
	tell free
	snap
	same
	tell go
	end_target
	tool_ends
	final
	same
	[[ $TOOL_STATUS -eq 0 ]] || fail "status $TOOL_STATUS"
}

# bats test_tags=quick
@test "leaf sites of differing sizes, half of it freed, to the byte; 1 MiB blocks carry their name" {
	each_mode leaf_sites leaf
}

@test "allocations of leaf functions are told apart without frame pointers" {
	each_mode leaf_sites leaf.nofp
}

whole_path() {
	start_target "$TARGETS/$1"
	attach
	tell go
	snap
	holds '[.stacks[] | select(.frames[1].function == "leak_16") | .frames | map(.function)[0:4]]
		== [["malloc", "leak_16", "middle", "outer"]]'
	holds '.stacks[] | select(.frames[1].function == "leak_16") | .frames | map(.function) | index("main") != null'
	holds '.stacks[] | select(.frames[1].function == "leak_16") | .truncated | not'
	# The line of the call itself, not the one it returns to.
	line=$(grep -n 'malloc(16)' "$ROOT/tests/targets/leaf.c" | cut -d: -f1)
	holds ".stacks[] | select(.frames[1].function == \"leak_16\") | .frames[1] | (.file | endswith(\"leaf.c\")) and .line == $line"
	holds '.stacks[] | select(.frames[1].function == "leak_4k") | .frames[0].function == "calloc"'
	holds '[.stacks[].id | test("^[0-9a-f]{16}$")] | all'
}

@test "the whole path from the allocation to main, with file and line" {
	whole_path leaf
}

# bats test_tags=quick
@test "stacks lead to main without frame pointers" {
	whole_path leaf.nofp
}

# Remembered walks are never taken for others: every path has its own stack and its own count.
twin_paths() {
	start_target "$TARGETS/$1"
	attach
	tell go
	tell go
	snap
	jq -e --argjson truth "$TRUTH" '
		[.stacks[] | {n: .live.count, path: [.frames[].function | select(IN("leak", "left", "right", "below"))]}]
		| map({n, key: ((if .path[1] == "below" then "below" else "leak" end) + "/"
			+ ([.path[] | select(. == "left" or . == "right")] | join("/")))})
		| (length == ($truth.paths | length)) and (map({(.key): .n}) | add) == $truth.paths' <<<"$SNAP" >/dev/null ||
		fail "the paths' counts differ"
	holds '[.stacks[] | select(.frames[2].function == "below") | [.frames[].function | select(. == "below")] | length] | all(. == 41)'
	end_target
}

# Few stacks are walked anew where a program allocates through a function of its own, from 64 callers in a random order.
@test "a thread remembers the stacks of 64 callers of one function" {
	start_target "$TARGETS/callers.nofp"
	attach -v
	tell go
	snap
	holds '[.stacks[] | select(.frames[1].function == "take")] | length == 64 and (map(.live.count) | add) == 20000'
	end_target
	walked=$(sed -nE 's/.*: 20000 allocations, the stacks of ([0-9]+) walked.*/\1/p' "$D/tool.err" | tail -n 1)
	[[ $walked -ge 64 && $walked -le 1000 ]] || fail "$walked stacks were walked"
}

@test "stacks that differ in one word far up are told apart, however often they take turns" {
	twin_paths paths
	clean
	fresh
	twin_paths paths.nofp
}

no_leak() {
	start_target "$TARGETS/leaf"
	attach
	for _ in 1 2 3; do
		tell churn
	done
	snap
	same
	holds '.live == {"bytes": 0, "count": 0} and .alloc.count == 6000 and .free.count == 6000'
	end_target
	tool_ends
	final
	holds '.live == {"bytes": 0, "count": 0}'
}

@test "a program without leaks has none" {
	each_mode no_leak
}

every_call() {
	start_target "$TARGETS/$1"
	attach
	tell go
	snap
	same
	# By the gate reallocarray() is the realloc() that it jumps to.
	holds '[.stacks[].frames[0].function] - ["malloc", "calloc", "reallocarray", "posix_memalign", "aligned_alloc",
		"memalign", "valloc", "pvalloc"] - (if .attach == "gate" then ["realloc"] else [] end) == []'
	tell free
	snap
	same
}

# bats test_tags=quick
@test "every allocating call counts, and failed ones (calloc overflow, bad alignment) do not" {
	each_mode every_call calls
}

@test "every allocating call without frame pointers" {
	each_mode every_call calls.nofp
}

reallocs() {
	start_target "$TARGETS/$1"
	attach
	tell go
	snap
	same
	tell go
	snap
	same
}

# bats test_tags=quick
@test "realloc: grow, shrink, fail, to zero, from NULL; a block that could not grow lives on" {
	each_mode reallocs realloc
}

threads() {
	start_target "$TARGETS/threads" "$(by_day 2000 5000)"
	attach
	tell go
	snap
	same
	tell free
	snap
	same
	holds '.live == {"bytes": 0, "count": 0}'
	holds '.unknown_frees == 0'
}

@test "8 threads allocate and free each other's blocks for seconds" {
	each_mode threads
}

@test "every snapshot made under load is consistent" {
	local odd=0

	start_target "$TARGETS/threads" 3000
	start_tool -p "$T_PID" -i 50ms
	attached "$T_PID"
	# A busy machine makes few of them in three seconds.
	while [[ ${#SNAPS[@]} -lt 10 ]]; do
		tell go
		snap
		same
	done
	for line in "${SNAPS[@]}"; do
		SNAP=$line
		# 4096 slots, and what 8 threads hold in their hands; a free may be counted while its allocation is not yet. A snapshot whose reader loses its
		# processor between two of its twelve numbers, for which it takes a microsecond, has more: of a hundred snapshots hardly ever a second one.
		if ! jq -e '(.live.count >= -16 and .live.count <= 4096 + 32 and .live.bytes <= 4096 * 4100) and
			([.stacks[] | .live.count] | add // 0 | . >= -16 and . <= 4128)' <<<"$SNAP" >/dev/null; then
			odd=$((odd + 1))
			[[ $odd -le 2 ]] || fail "three snapshots are not consistent, the last: $(shortened <<<"$SNAP")"
		fi
		holds '.live.count == .alloc.count - .free.count'
	done
	[[ $(printf '%s\n' "${SNAPS[@]}" | jq -s '[.[].alloc.count] | . == sort') == true ]] || fail 'counters went backwards'
}

million() {
	DEADLINE=$((2 * DEADLINE))
	start_target "$TARGETS/million" 1300000
	attach "$@"
	tell go
	snap
}

million_exact() {
	million
	same
	tell free
	snap
	same
}

@test "1.3 million live blocks are all there" {
	ALL_MODES='' each_mode million_exact
}

@test "1.3 million live blocks in a table of 100000: live + lost is the truth" {
	million --max-live 100000
	same none direct lost
	holds '.lost.live_map_full > 0'
	holds '.live.count <= 100000 and .live.count >= 90000'
	holds ".live.count + .lost.live_map_full == 1300000"
}

@test "1.3 million live samples, more than a gate knows: live + lost is the truth" {
	[[ " $MODES " == *' gate '* ]] || skip 'the gate is not among the modes'
	MODE=gate million -s 1
	holds '.lost.gate_full > 0 and .live.count >= 40000'
	# A block of 24 bytes is no sample with probability exp(-24): one of all of them once in 20,000 runs, and two never.
	holds ".live.count + .lost.gate_full | . == 1300000 or . == 1299999"
}

# As `same freed any`. Where stacks go by frame pointers the caller of operator new is not in them, as libstdc++ keeps none: what is live is compared in
# total, which shows as well that nothing is lost.
same_live() {
	local live

	if [[ ${STACKS-} != fp ]]; then
		same freed any
		return
	fi
	live=$(jq -c '[.live[]] | {bytes: map(.bytes) | add, count: map(.count) | add}' <<<"$TRUTH")
	holds ".live == $live"
	holds '[.lost[]] | add == 0'
}

exceptions() {
	start_target "$TARGETS/$1"
	attach
	tell go
	snap
	same_live
	tell go
	snap
	same_live
}

@test "operator new that throws: later allocations, deeper or not, are not lost" {
	each_mode exceptions exceptions
}

@test "operator new without frame pointers: the caller of new is in the stack" {
	start_target "$TARGETS/exceptions.nofp"
	attach
	tell go
	snap
	same freed any
	holds '[.stacks[] | select(any(.frames[]; .function == "leak_new")) | .frames | map(.function)[0:3]] | unique
		| map(.[1] | startswith("operator new")) | all'
}

old_blocks() {
	start_target "$TARGETS/misc"
	attach
	tell null
	tell old
	snap
	same
	holds '.unknown_frees == 10 and .free.count == 0'
	tell old
	snap
	holds '.unknown_frees == 10'
}

# bats test_tags=quick
@test "free(NULL) does not count; frees of blocks from before the attach count as unknown" {
	each_mode old_blocks
}

small_cases() {
	start_target "$TARGETS/misc"
	attach
	tell signal
	snap
	same
	tell limit
	snap
	same
}

@test "malloc in a signal handler; malloc that fails for lack of memory is no leak" {
	each_mode small_cases
}

@test "recursion deeper than 127 frames is marked as truncated, less deep is not" {
	start_target "$TARGETS/misc"
	attach -v
	tell deep
	snap
	same
	holds '.stacks | length == 1'
	holds '.stacks[0].truncated and (.stacks[0].frames | length >= 127)'
	tell shallow
	snap
	same
	holds '[.stacks[] | select(.truncated | not) | .frames | map(.function) | index("main") != null] == [true]'
	holds '[.stacks[] | select(.truncated)] | length == 1'
	holds '.ends.truncated | .stacks == 1 and .allocs == 1'
}

@test "the stack of a strdup has strdup and its caller" {
	start_target "$TARGETS/misc"
	attach
	tell strdup
	snap
	same none any
	holds '.stacks[0].frames | map(.function)[0:3] | .[0] == "malloc" and (.[1] | test("strdup")) and .[2] == "leak_strdup"'
}

@test "free_sized, where the C library has it" {
	start_target "$TARGETS/misc"
	attach
	tell sized
	reason=$(field '.skip // ""' "$TRUTH")
	[[ -z $reason ]] || skip "$reason"
	snap
	same
}

# bats test_tags=quick
@test "two targets at once are kept apart" {
	start_target "$TARGETS/leaf"
	first=$T_PID first_in=$T_IN first_out=$T_OUT
	rm "$D/in" "$D/out"
	mkfifo "$D/in" "$D/out"
	start_target "$TARGETS/leaf"
	start_tool -p "$first,$T_PID"
	attached "$first"
	attached "$T_PID"
	tell go
	snap
	same
	snap "$first"
	holds '.live.count == 0 and .stacks == []'
	second=$T_PID second_in=$T_IN second_out=$T_OUT
	T_PID=$first T_IN=$first_in T_OUT=$first_out
	tell go
	tell free
	snap
	same
	end_target
	await_final
	same
	T_PID=$second T_IN=$second_in T_OUT=$second_out
	tell free
	snap
	same
	end_target
	tool_ends
	final
	same
}

@test "python3 as target: its own functions are told apart" {
	T_PID=
	python3=$(python3 -c 'import sys; print(sys.executable)')
	run_target "$python3" -c '
import sys
kept = []
print("ready", flush=True)
for line in sys.stdin:
    kept.append([bytearray(5000 + i) for i in range(100)])
    print("done", flush=True)
'
	target_line ready
	attach
	echo go >&"$T_IN"
	target_line 'done'
	snap
	holds '.live.bytes >= 100 * 5000 and .live.bytes < 100 * 6500'
	holds '.stacks[0].live.count >= 90 and .stacks[0].live.bytes >= 450000'
	holds '[.stacks[0].frames[] | select(.function != null)] | length >= 3'
	holds '[.stacks[0].frames[].function // ""] | any(test("yte[Aa]rray|PyByteArray|bytearray"))'
}

# The first blocks come while user space reads the mappings, when walks end early and the stack itself is told apart.
first_blocks() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		start_target "$TARGETS/leaf"
		attach "$@"
		tell go
		snap
		same
		stop_tool
		end_target
	done
}

@test "by frame pointers the first blocks after attaching are counted for their own stacks" {
	each_mode first_blocks --stack fp
}
