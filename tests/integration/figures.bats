#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What is known of stacks beside their sums: how long their blocks live, which have far outlived others, which are temporary.
# bats file_tags=beside

load lib.bash

# TRUTH and SNAP agree, about figures as about sums.
figures_same() {
	local differences

	same any any
	differences=$(jq -r --argjson truth "$TRUTH" -f "$HERE/figures.jq" <<<"$SNAP")
	[[ -z $differences ]] || fail "$differences"
}

lifetimes_and_temporary() {
	start_target "$TARGETS/figures"
	attach --lifetimes --temporary
	tell 'all 100'
	snap
	figures_same
	tell 'hold 50 30'
	tell 'hold 300 2'
	tell hand
	snap
	figures_same
	# Nothing is said where nothing is known.
	holds '[.stacks[] | select(.free.count == 0 and .lifetime_ns)] == []'
	stop_tool
	end_target
}

@test "lifetimes and temporary blocks are those of the target's books" {
	each_mode lifetimes_and_temporary
}

# Estimates: of each number the standard error is known by the books.
sampled() {
	local site

	start_target "$TARGETS/figures"
	attach --lifetimes --temporary -s 1k
	tell 'all 5000'
	snap
	# Every free has a lifetime, by the same weight; [of each class a rounding].
	holds '[.stacks[] | select((.lifetime_ns.classes // [] | map(.count) | add // 0) - .free.count | fabs > 24)] == []'
	for site in passing inner outer; do
		jq -e --arg site "$site" --argjson truth "$TRUTH" '
			([.stacks[] | select(any(.frames[]; .function == $site))] | first) as $s
			| $truth.free[$site] as $true | ($true.bytes / $true.count) as $size | (1 - (-$size / 1024 | exp)) as $p
			| ($true.count * (1 - $p) / $p | sqrt) as $error
			| (($s.lifetime_ns.classes | map(.count) | add) - $true.count | fabs) < 6 * $error' <<<"$SNAP" >/dev/null ||
			fail "$site: $(shortened <<<"$SNAP")"
		# What the gate lets by nobody has seen.
		[[ $MODE != gate ]] || continue
		jq -e --arg site "$site" --argjson truth "$TRUTH" '
			([.stacks[] | select(any(.frames[]; .function == $site))] | first) as $s
			| $truth.temporary[$site] as $true
			| if $true.count == 0 then $s.temporary == {bytes: 0, count: 0, error_bytes: 0} else
				($true.bytes / $true.count) as $size | (1 - (-$size / 1024 | exp)) as $p
				| ($true.count * (1 - $p) / $p | sqrt * $size) as $error
				| ($s.temporary.bytes - $true.bytes | fabs) < 6 * $error
				and $s.temporary.error_bytes > $error / 2 and $s.temporary.error_bytes < $error * 2
			end' <<<"$SNAP" >/dev/null || fail "$site: $(shortened <<<"$SNAP")"
	done
	[[ $MODE != gate ]] || holds '[.stacks[], . | select(.temporary)] == []'
	stop_tool
	end_target
}

@test "under sampling lifetimes are estimates without bias, and unknown figures are left out" {
	each_mode sampled
}

outlived() { # N
	snap
	[[ $(field '[.stacks[].outlived.count // 0] | add' "$SNAP") == "$1" ]]
}

@test "live blocks that have outlived others of their stack are told, and rank" {
	local top

	start_target "$TARGETS/figures"
	attach --lifetimes
	tell 'leak 500 5'
	tell 'hold 200 1'
	snap
	# Too young for that, unless the snapshot has come late.
	holds '[.stacks[] | select(.outlived.count > 0 and .oldest_ms < 1000)] == []'
	# After a second at the earliest, or 64 times as long as 99 % have lived.
	until_true "$DEADLINE" outlived 5
	holds '[.stacks[] | select(.outlived.count > 0) | .outlived.bytes, any(.frames[]; .function == "mostly_freed")] == [240, true]'
	holds '[.stacks[] | select(.outlived) | .outlived.older_ms >= 1000] | all'
	stop_tool
	# What is sorted by is kept, without a word.
	start_tool -p "$T_PID" --sort lifetime
	attached "$T_PID"
	tell 'hold 30 2'
	tell 'leak 500 3'
	until_true "$DEADLINE" outlived 3
	holds '.stacks[0].outlived.count == 3 and .stacks[1].lifetime_ns.p50 > 1000000'
	stop_tool
	end_target
}

@test "a recording has lifetimes, and text prints them" {
	run_tool record -o "$D/figures.mlb" --lifetimes --temporary -- "$TARGETS/figures" 'all 200' 'hold 150 3'
	[[ $STATUS -eq 0 ]] || fail "$ERR"
	TRUTH=$(grep '"phase":"hold' <<<"$OUT")
	run_tool report "$D/figures.mlb" -f json -T 1000 --sort alloc
	SNAP=$OUT
	figures_same
	"$ROOT/tests/tools/schema.py" snapshot "$D/run.out" || fail 'not as the schema has it'
	run_tool report "$D/figures.mlb" -T 1 --sort temporary -v --by stack
	[[ $OUT == *'temporary: 976.6 KiB in 200 blocks, 100.0 % of its allocations'* && $OUT == *' in the median, 99 % after '*'(200 blocks)'* ]] || fail "$OUT"
	# A trace without them has none.
	run_tool -f json -T 1000 --sort alloc -- "$TARGETS/figures" 'all 2'
	SNAP=$(grep '"version"' <<<"$OUT")
	holds '[.stacks[], . | select(.lifetime_ns or .temporary or .outlived)] == []'
}

# The last peak that the tool has kept is within 1/32 of the truth's.
near_peak() {
	local kept

	kept=$(sed -n "s/^memleakbpf: process $T_PID: has had \([0-9]*\) bytes$/\1/p" "$D/tool.err" | tail -n 1)
	((${kept:-0} * 33 >= $(field .peak.bytes "$TRUTH") * 32))
}

peaks() {
	start_target "$TARGETS/figures"
	attach --lifetimes --temporary --peak -v
	tell 'rise 500'
	tell 'all 20'
	# Nobody has asked for a snapshot: the kernel side tells of it.
	until_true "$DEADLINE" near_peak || fail 'the peak is not kept'
	tell 'fall 400'
	snap
	figures_same
	jq -e --argjson truth "$TRUTH" '
		.peak.bytes == $truth.peak.bytes
		and (.peak.captured.bytes | . <= $truth.peak.bytes and . * 33 >= $truth.peak.bytes * 32)
		and ([.stacks[].peak.at_peak.bytes] | add) == .peak.captured.bytes
		and .peak.time <= .time' <<<"$SNAP" >/dev/null || fail "$(shortened <<<"$SNAP") $TRUTH"
	# Higher, and held: a snapshot has it whole, or whole with the block that has come and gone at its end, if
	# the kernel side has told of it just then.
	tell 'rise 900'
	snap
	tell 'fall 950'
	snap
	figures_same
	jq -e --argjson truth "$TRUTH" '
		.peak.bytes == $truth.peak.bytes and .live.bytes == 50000
		and (.peak.captured.bytes | . == 1000000 or . == $truth.peak.bytes)
		and ([.stacks[] | select(any(.frames[]; .function == "risen"))] | map(.peak.at_peak) == [{bytes: 1000000, count: 1000}])' \
		<<<"$SNAP" >/dev/null || fail "$(shortened <<<"$SNAP") $TRUTH"
	stop_tool
	end_target
}

@test "the peak is exact, and the stacks' shares of it are close" {
	each_mode peaks
}

@test "report --at peak shows the process as it was then" {
	run_tool record -o "$D/figures.mlb" --peak -- "$TARGETS/figures" 'rise 700' 'hold 1 200' 'fall 690'
	[[ $STATUS -eq 0 ]] || fail "$ERR"
	TRUTH=$(grep '"phase":"fall' <<<"$OUT")
	run_tool report "$D/figures.mlb" -f json -T 1000 --sort alloc
	SNAP=$OUT
	holds '.live.bytes == 10000 and .peak.captured.bytes <= .peak.bytes'
	[[ $(field .peak.bytes "$SNAP") == "$(field .peak.bytes "$TRUTH")" ]] || fail "$SNAP $TRUTH"
	run_tool report "$D/figures.mlb" -f json --at peak
	"$ROOT/tests/tools/schema.py" snapshot "$D/run.out" || fail 'not as the schema has it'
	# The same stacks, as they were.
	jq -e --argjson was "$SNAP" '.live.bytes == $was.peak.captured.bytes and .time == $was.peak.captured.time
		and .live == .alloc and .free == {bytes: 0, count: 0} and .final == false
		and (.stacks | map({id, live}) | sort_by(.id)) == ($was.stacks | map({id, live: .peak.at_peak} | select(.live.count > 0)) | sort_by(.id))' \
		<<<"$OUT" >/dev/null || fail "$OUT"
	run_tool report "$D/figures.mlb" -f folded --at peak
	[[ $(awk '{sum += $NF} END {print sum}' <<<"$OUT") == "$(field .peak.captured.bytes "$SNAP")" ]] || fail "$OUT"
	run_tool record -o "$D/without.mlb" -- "$TARGETS/figures" 'rise 7'
	run_tool report "$D/without.mlb" --at peak
	refused 1 'has no peak; record with --peak'
}

# by_heaptrack COST: SUMS, what heaptrack counts of the program's own functions, by site.
by_heaptrack() {
	heaptrack_print -f "$D"/ht.* -F "$D/folded" --flamegraph-cost-type "$1" >"$D/printed" 2>&1 || fail "$(<"$D/printed")"
	# main;...;outer (figures.c); 0
	SUMS=$(awk '/^main \(/ { site = $(NF - 2); sub(/.*;/, "", site); sums[site] += $NF }
		END { for (site in sums) print site, sums[site] }' "$D/folded" | LC_ALL=C sort)
}

# ours KEY: OURS, the same of the snapshot.
ours() {
	OURS=$(jq -r '.stacks[] | "\(.frames[1].function) \('"$1"')"' <<<"$SNAP" |
		awk '{ sums[$1] += $2 } END { for (site in sums) print site, sums[site] }' | LC_ALL=C sort)
}

@test "heaptrack counts as many temporary blocks, and the same peak" {
	local commands=('all 300' 'rise 700' 'hold 50 3' 'fall 690')

	need heaptrack
	heaptrack -o "$D/ht" "$TARGETS/figures" "${commands[@]}" >"$D/started" 2>&1 || fail "$(<"$D/started")"
	run_tool -f json -T 1000 --sort alloc --temporary --peak -- "$TARGETS/figures" "${commands[@]}"
	SNAP=$(grep '"version"' <<<"$OUT")
	by_heaptrack temporary
	ours .temporary.count
	[[ $SUMS == "$OURS" ]] || fail "temporary: heaptrack has $SUMS, we have $OURS"
	by_heaptrack allocations
	ours .alloc.count
	[[ $SUMS == "$OURS" ]] || fail "allocations: heaptrack has $SUMS, we have $OURS"
	# It keeps what each function had at the peak exactly, as it sees each call; we have the height exactly.
	by_heaptrack peak
	[[ $(awk '{sum += $2} END {print sum}' <<<"$SUMS") == "$(field .peak.bytes "$SNAP")" ]] || fail "peak: heaptrack has $SUMS, we have $(shortened <<<"$SNAP")"
	[[ $SUMS == *'risen 700000'* ]] || fail "$SUMS"
	holds '[.stacks[] | select(.frames[1].function == "risen") | .peak.bytes] == [700000]'
}

sizes() {
	start_target "$TARGETS/figures"
	attach --sizes
	tell 'sizes 8 5'
	snap
	# Eight: each by its value; one of each has been freed.
	holds '[.stacks[] | select(any(.frames[]; .function == "sized")) | .sizes | sort_by(.bytes)] == [[range(8) | {bytes: (24 + 16 * .), count: 4}]]'
	tell 'sizes 9 2'
	until_true "$DEADLINE" has_sizes
	# A ninth: 24; 40 and 56; 72 to 120; 136 and 152 bytes, with 5 of the first eight, and one of the ninth.
	holds '[.stacks[] | select(any(.frames[]; .function == "sized")) | .sizes] == [[{from: 16, count: 5}, {from: 32, count: 10}, {from: 64, count: 20}, {from: 128, count: 6}]]'
	holds '[.stacks[] | select(.live.count > 0) | ([.sizes[].count] | add) == .live.count] | all'
	stop_tool
	end_target
}

by_size() {
	start_target "$TARGETS/figures"
	attach --group size
	tell 'sizes 30 3'
	tell 'all 5'
	tell 'rise 20'
	snap
	same any any
	# 30 sizes with 2 blocks of each; and 20 of 1,000 bytes. What was freed is in rows without.
	holds '[.stacks[] | select(.live.count > 0) | .sizes[0].bytes * .sizes[0].count == .live.bytes and (.sizes | length) == 1 and .live == .alloc] | length == 31 and all'
	holds '[.stacks[] | select(any(.frames[]; .function == "sized")) | select(.live.count > 0) | .live] | sort_by(.bytes) == [range(30) | {bytes: (2 * (24 + 16 * .)), count: 2}]'
	holds '[.stacks[] | select(any(.frames[]; .function == "risen")).live] | max_by(.bytes) == {bytes: 20000, count: 20}'
	holds '([.stacks[].id] | unique | length) == (.stacks | length) and all(.stacks[]; .live.count == 0 or .oldest_ms >= 0)'
	stop_tool
	end_target
}

@test "--group size: a row for each size and stack, and no sum is another" {
	each_mode by_size
	run_tool record -o "$D/sizes.mlb" --group size -- "$TARGETS/figures" 'sizes 12 3'
	[[ $STATUS -eq 0 ]] || fail "$ERR"
	run_tool report "$D/sizes.mlb" -T 1 --sort count
	[[ $OUT == *' in 2 blocks, '*'    sizes: 2 of '*'sized'* ]] || fail "$OUT"
	run_tool report "$D/sizes.mlb" -f android
	[[ $(grep -c '^z 0  *sz ' <<<"$OUT") == 12 ]] || fail "$OUT"
	run_tool --group size --verdict -- "$TARGETS/figures" 'sizes 1 2'
	refused 2 '--group size: excludes --verdict'
}

# They are not read again at once, to save time, and left out then.
has_sizes() {
	snap
	[[ $(field '[.stacks[] | has("sizes")] | any' "$SNAP") == true ]]
}

@test "sizes of live blocks: up to eight by value, more by powers of two" {
	each_mode sizes
	run_tool record -o "$D/figures.mlb" --sizes -- "$TARGETS/figures" 'sizes 2 3'
	[[ $STATUS -eq 0 ]] || fail "$ERR"
	run_tool report "$D/figures.mlb"
	[[ $OUT == *'    sizes: 2 of 24 B, 2 of 40 B'* ]] || fail "$OUT"
	run_tool report "$D/figures.mlb" -f json
	"$ROOT/tests/tools/schema.py" snapshot "$D/run.out" || fail 'not as the schema has it'
}

# By the books of a thousand blocks of one size the standard error is known.
peak_sampled() {
	start_target "$TARGETS/figures"
	attach --peak -s 1k
	tell 'rise 900'
	snap
	tell 'fall 900'
	snap
	jq -e '([.stacks[] | select(any(.frames[]; .function == "risen"))] | first.peak) as $s
		| 1000 as $size | (1 - (-$size / 1024 | exp)) as $p | (900 * (1 - $p) / $p | sqrt * $size) as $error
		| ($s.at_peak.bytes - 900000 | fabs) < 6 * $error and $s.at_peak.error_bytes > $error / 2 and $s.at_peak.error_bytes < $error * 2
		and .peak.captured.error_bytes >= $s.at_peak.error_bytes and .live.bytes < 200000' <<<"$SNAP" >/dev/null || fail "$(shortened <<<"$SNAP")"
	stop_tool
	end_target
}

@test "under sampling the peak's stacks are estimates with a standard error" {
	each_mode peak_sampled
}

# usable_as_told PROGRAM [GIVEN]: of every block the tool knows what malloc_usable_size() says of it. GIVEN asked_bytes: musl's gives nothing away
# beyond that, whatever it has set aside.
usable_as_told() {
	start_target "$TARGETS/$1"
	attach --usable
	tell 'sizes 70 6'
	tell 'all 20'
	tell 'rise 500'
	tell 'large 9'
	tell 'fall 100'
	snap
	jq -e --argjson truth "$TRUTH" --arg given "${2:-bytes}" '
		([$truth.usable | to_entries[] | select(.value.count > 0)] | map({key, value: (.value)}) | from_entries) as $true
		| ([.stacks[] | select(.usable) | {key: (first(.frames[].function | select(in($true)))), value: .usable}] | from_entries) as $seen
		| ($seen | map_values({bytes: .[$given], count})) == $true and ([$seen[].bytes] | add) == .usable.bytes and .usable.bytes > .live.bytes
		and .usable.asked_bytes == .live.bytes and .verdict' <<<"$SNAP" >/dev/null ||
		fail "$1 ${T_ENV[*]}: $(jq -c '.usable, [.stacks[] | {f: .frames[1].function, live, usable}]' <<<"$SNAP") $(jq -c .usable <<<"$TRUTH")"
	stop_tool
	end_target
}

@test "usable bytes of five allocators' blocks equal malloc_usable_size()" {
	local library skipped=()

	usable_as_told figures
	for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
		[[ -e $LIBDIR/$library ]] || { skipped+=("$library"); continue; }
		fresh
		T_ENV=("LD_PRELOAD=$LIBDIR/$library")
		usable_as_told figures.nofp
	done
	fresh
	if [[ -x $TARGETS/figures.musl ]]; then
		usable_as_told figures.musl asked_bytes
	else
		skipped+=(musl)
	fi
	run_tool record -o "$D/figures.mlb" --usable -- "$TARGETS/figures" 'sizes 2 30'
	[[ $STATUS -eq 0 ]] || fail "$ERR"
	run_tool report "$D/figures.mlb"
	# 29 of 24 and of 40 bytes, which are what glibc has.
	[[ $OUT == *$'\nusable '*'    usable: 1.8 KiB are set aside for 58 blocks that asked for 1.8 KiB: 0.0 % more'* ]] || fail "$OUT"
	run_tool report "$D/figures.mlb" -f json
	"$ROOT/tests/tools/schema.py" snapshot "$D/run.out" || fail 'not as the schema has it'
	[[ ${#skipped[@]} -eq 0 ]] || skip "without ${skipped[*]}"
}
