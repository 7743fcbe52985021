#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Options that choose what is traced and what is shown.
# bats file_tags=beside

load lib.bash

sizes() {
	start_target "$TARGETS/misc"
	attach "$@"
	tell sizes
	snap
}

@test "-z and -Z count blocks of exactly these sizes" {
	sizes -z 100 -Z 1000
	holds '.live == {"bytes": 1201, "count": 3}'
}

@test "-z alone leaves out smaller blocks" {
	sizes -z 1k
	holds '.live == {"bytes": 65536, "count": 1}'
}

@test "-Z alone leaves out larger blocks" {
	sizes -Z 99
	holds '.live == {"bytes": 100, "count": 2}'
}

filtered_frees() {
	start_target "$TARGETS/calls"
	attach -z 1000
	tell go
	tell free
	snap
	# Blocks that the filter left out are freed as well: they are not unknown, and not counted.
	holds '.alloc.count == 40 and .live.count == 20 and .free.count == 20'
}

@test "frees of blocks that -z left out change nothing" {
	each_mode filtered_frees
}

# within MS SINCE: has no more time gone by since then (EPOCHREALTIME)?
within() {
	[[ $(((${EPOCHREALTIME/./} - ${2/./}) / 1000)) -lt $1 ]]
}

# LATE: a busy machine took longer for a snapshot than blocks may be old.
only_older() {
	local since old count bytes

	start_target "$TARGETS/leaf"
	attach --older 1500ms
	since=$EPOCHREALTIME
	tell go
	old=$TRUTH
	snap
	within 1500 "$since" || LATE=yes
	[[ -z $LATE ]] || return 0
	holds '[.stacks[] | .older // .live | .count] | add // 0 | . == 0'
	since=$EPOCHREALTIME
	while within 1600 "$since"; do
		pause
	done
	tell churn
	since=$EPOCHREALTIME
	tell go
	snap
	within 1500 "$since" || LATE=yes
	[[ -z $LATE ]] || return 0
	count=$(jq '[.live[].count] | add' <<<"$old")
	bytes=$(jq '[.live[].bytes] | add' <<<"$old")
	holds "([.stacks[] | .older // .live | .count] | add) == $count"
	holds "([.stacks[] | .older // .live | .bytes] | add) == $bytes"
}

@test "--older: only older blocks count" {
	local tries

	for tries in {1..10}; do
		fresh
		LATE=''
		only_older
		clean
		[[ -n $LATE ]] || return 0
	done
	fail "late each of $tries times"
}

mmaps() {
	start_target "$TARGETS/mmap"
	attach --mmap
	tell go
	snap
	same
	holds '[.stacks[].frames[0].function] | unique == ["malloc", "mmap", "mremap"]'
}

@test "--mmap: the program's own mappings, and not those that malloc makes" {
	probe_modes
	each_mode mmaps
}

# Blocks of 1 MiB are just too small to be recorded; what is mapped for them is not.
mmaps_for_filtered() {
	start_target "$TARGETS/mmap"
	attach --mmap -z 1048577
	tell go
	snap
	holds '[.stacks[] | select(any(.frames[]; .function == "leak_1m"))] == []'
	holds '[.stacks[].frames[0].function] | index("malloc") == null'
	end_target
}

@test "--mmap: an allocator's mappings for unrecorded blocks are not the program's" {
	probe_modes
	each_mode mmaps_for_filtered
	T_ENV=("LD_PRELOAD=$LIBDIR/libjemalloc.so.2")
	mmaps_for_filtered
	holds '[.stacks[] | select(any(.frames[]; .module == "libjemalloc.so.2"))] == []'
}

@test "without --mmap there is only malloc" {
	start_target "$TARGETS/mmap"
	attach
	tell go
	snap
	holds '.live == {"bytes": 10485760, "count": 10}'
	holds '[.stacks[].frames[1].function] == ["leak_1m"]'
}

@test "--mmap: a hole in a mapping leaves the rest, or is counted as lost" {
	start_target "$TARGETS/mmap"
	attach --mmap
	tell split
	snap
	holds '.live.bytes == 24576 or .lost.partial_unmap == 1'
}

unmapped_ranges() {
	start_target "$TARGETS/mmap"
	attach --mmap
	tell ranges
	snap
	same
	holds '.lost.partial_unmap == 0 and .live.bytes == 24576 and .free.count == 7'
	end_target
}

@test "--mmap: one munmap over several mappings takes what is in its range of each" {
	probe_modes
	each_mode unmapped_ranges
}

pool() {
	start_target "$TARGETS/pool"
	attach --alloc-fn my_pool_alloc:2 --free-fn my_pool_free:2
	tell go
	snap
	same
	holds '[.stacks[].frames[0].function] | unique == ["my_pool_alloc"]'
	tell jump
	snap
	same
}

@test "--alloc-fn and --free-fn: a pool, which also leaves by longjmp" {
	each_mode pool
}

DEVICE=(--alloc-fn device_alloc:2:out=1 --alloc-fn device_table:1:2:out=3:ok=1 --realloc-fn device_resize:1:2 --free-fn device_free:1)

device() {
	start_target "$TARGETS/pool"
	attach "${DEVICE[@]}"
	tell device
	snap
	same
	holds '[.stacks[].frames[0].function] | unique == ["device_alloc", "device_resize", "device_table"]'
	holds '.lost | all(. == 0)'
}

@test "--alloc-fn with :out= and :ok=, --realloc-fn: functions that store the block through an argument" {
	each_mode device
}

# always_fails FUNCTION COMMAND REGEX: nothing is counted, and standard error says why.
always_fails() {
	start_target "$TARGETS/pool"
	attach --alloc-fn "$1" --free-fn device_free:1
	tell "$2"
	snap
	holds '.live.bytes == 0'
	stop_tool
	grep -Eq -e "$3" "$D/tool.err" || fail "$(<"$D/tool.err")"
	end_target
}

@test "--alloc-fn of a function whose calls all fail: no all-clear without a word" {
	always_fails device_alloc:2 device-works 'alloc-fn device_alloc:2: all 200 calls so far have failed, the last with the result 0, .*:out=N:ok=0$'
	always_fails device_table:1:2:out=3 device-works 'device_table:1:2:out=3: all 200 calls so far have failed, the last with the result 1, .*:ok=1$'
	always_fails device_alloc:2:out=1 no-device 'device_alloc:2:out=1: all 3 calls so far have failed, the last with the result 2, '
}

@test "--symbols-prefix: a malloc family with a prefix" {
	start_target "$TARGETS/pool"
	attach --symbols-prefix my_pool_
	tell prefix
	snap
	same
	holds '[.stacks[].frames[0].function] | unique == ["my_pool_calloc", "my_pool_malloc", "my_pool_realloc"]'
}

@test "-O: an object with a name of more than 31 characters" {
	cp "$LIBDIR/libjemalloc.so.2" "$D/libmalloc-with-a-name-of-very-many-characters.so"
	T_ENV=("LD_PRELOAD=$D/libmalloc-with-a-name-of-very-many-characters.so")
	start_target "$TARGETS/leaf"
	attach -O libmalloc-with-a-name-of-very-many-characters.so
	tell go
	snap
	same
}

@test "-O: by path; another object's allocator is not traced" {
	start_target "$TARGETS/leaf"
	libc=$(awk '/libc\.so/ { print $6; exit }' "/proc/$T_PID/maps")
	attach -O "$libc"
	tell go
	snap
	same
}

@test "-O: an object that is not there is an error" {
	start_target "$TARGETS/leaf"
	run_tool -p "$T_PID" -O libnothing.so
	refused 1 'libnothing\.so'
}

# bats test_tags=quick
@test "-T cuts the list and leaves the totals" {
	start_target "$TARGETS/leaf"
	attach -T 2 --sort live
	tell go
	snap
	holds '.stacks | length == 2'
	holds '[.stacks[].frames[1].function] == ["leak_1m", "leak_4k"]'
	[[ $(field .live.count "$SNAP") -eq $(jq '[.live[].count] | add' <<<"$TRUTH") ]] || fail 'totals'
}

@test "--sort count and --sort alloc put stacks into that order" {
	start_target "$TARGETS/leaf"
	attach --sort count -T 1
	tell go
	snap
	holds '.stacks[0].frames[1].function == "leak_16"'
	stop_tool
	end_target
	fresh
	start_target "$TARGETS/leaf"
	attach --sort alloc -T 1
	tell go
	tell churn
	snap
	holds '.stacks[0].frames[1].function == "all_freed"'
}

@test "--no-inlines leaves inlined calls out" {
	start_target "$TARGETS/leaf"
	attach
	tell go
	snap
	holds '[.stacks[].frames[] | select(.inlined) | .function] | index("truth_serve") != null'
	stop_tool
	end_target
	fresh
	start_target "$TARGETS/leaf"
	attach --no-inlines
	tell go
	snap
	same
	holds '[.stacks[].frames[] | select(.inlined)] == []'
	holds '.stacks[0].frames | map(.function) | index("main") != null'
}

@test "-s: estimates are near the truth and say so" {
	start_target "$TARGETS/million" 300000
	attach -s 512
	tell go
	snap
	holds '.sample_bytes == 512'
	# 300000 blocks of 24 bytes: about 13700 samples, a standard deviation of about 1 %.
	holds '.live.bytes > 7200000 * 0.93 and .live.bytes < 7200000 * 1.07'
	holds '.live.count > 300000 * 0.93 and .live.count < 300000 * 1.07'
	tell free
	snap
	holds '.live == {"bytes": 0, "count": 0}'
}
