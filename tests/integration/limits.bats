#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# When something runs out: table space, ring buffers, descriptors, memory. What is lost is counted; the target never notices.

load lib.bash

# Few: bash takes a snapshot of thousands of stacks from a pipe byte by byte.
many_stacks() {
	start_target "$TARGETS/many"
	attach --max-stacks 100
	tell 'stacks 400'
	snap
	# Counted to the byte, though not all by their stacks.
	holds '.live == {"bytes": 12800, "count": 400} and .alloc == .live and .free == {"bytes": 0, "count": 0}'
	holds '.lost.stack_table_full >= 300 and .lost.stack_table_full <= 400'
	# Those that have a slot are right, each.
	holds '[.stacks[] | select(any(.frames[]?; .function == "many_leak")) | .live.count] | length > 90 and all(. == 1)'
	end_target
}

@test "the table of stacks is full: every block is counted, those without a stack are told" {
	each_mode many_stacks
}

@test "the ring of new stacks is full while the tool is stopped: all is counted, and the loss is told" {
	start_target "$TARGETS/many"
	attach --max-stacks 100000 -T 10 # bash reads slowly
	kill -STOP "$TOOL_PID"
	tell 'stacks 60000'
	kill -CONT "$TOOL_PID"
	snap
	holds '.live == {"bytes": 1920000, "count": 60000}'
	holds '.lost.stack_frames > 0'
	# And it goes on as if nothing had been.
	lost=$(field .lost.stack_frames "$SNAP")
	tell 'stacks 100'
	snap
	holds '.live.count == 60100'
	holds ".lost.stack_frames == $lost"
	end_target
}

@test "the live table is full: allocations lost and blocks recorded add up; frees make room" {
	start_target "$TARGETS/million" 20000
	attach --max-live 5000
	tell go
	snap
	same none direct lost
	holds '.lost.live_map_full >= 15000 and .live.count <= 5000'
	tell free
	snap
	holds '.live == {"bytes": 0, "count": 0}'
	end_target
}

@test "too few file descriptors: one line that says so, at every limit" {
	start_target "$TARGETS/leaf"
	worked=
	for limit in 8 16 24 32 40 48 56 64 96 128 256; do
		STATUS=0
		timeout "$DEADLINE" prlimit "--nofile=$limit:$limit" "$TOOL" -f json -p "$T_PID" -i 50ms -n 1 >"$D/run.out" \
			2>"$D/run.err" 3>&- {T_IN}>&- {T_OUT}<&- || STATUS=$?
		OUT=$(<"$D/run.out") ERR=$(<"$D/run.err")
		if [[ $STATUS -eq 0 ]]; then
			worked=$limit
			break
		fi
		refused 1 'open files'
	done
	[[ -n $worked ]] || fail 'not even 256 were enough'
	printf '# %s descriptors are enough for one small target\n' "$worked" >&3
	alive "$T_PID" || fail 'the target is gone'
	end_target
}

# in_cgroup BYTES ARG…: the tool, limited; STATUS, OUT, ERR.
in_cgroup() {
	local bytes=$1

	shift
	printf '%s\n' "$bytes" >"$LIMIT"
	STATUS=0
	timeout -k 5 "$DEADLINE" "$BASH" -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$CGROUP" "$TOOL" "$@" >"$D/run.out" \
		2>"$D/run.err" 3>&- || STATUS=$?
	OUT=$(<"$D/run.out") ERR=$(<"$D/run.err")
}

@test "a memory control group too small for the tool: it ends, and the target goes on" {
	memory_cgroup || skip 'no memory control group can be made here'
	start_target "$TARGETS/busy" 1
	code=$(code_sum "$T_PID")
	said=
	for megabytes in 4 16 32 48 64 128 256; do
		in_cgroup "${megabytes}M" -f json -p "$T_PID" -i 50ms -n 1
		case $STATUS in
		0) break ;;
		137) ;; # the kernel ended it
		*)
			refused 1 'no memory|Cannot allocate memory'
			said=1
			;;
		esac
	done
	until_true "$DEADLINE" rmdir "$CGROUP" || fail 'something goes on in the control group'
	[[ $STATUS -eq 0 ]] || fail '256 MiB were not enough'
	[[ -n $said ]] || fail 'no limit was between too small to say anything and large enough'
	until_true "$DEADLINE" eval '[[ $(code_sum "$T_PID") == "$code" ]]' || fail 'probes are left in the target'
	tell stat
	end_target
}

@test "a memory control group that the live blocks fill: counted as lost, or the tool is ended; the target goes on" {
	[[ ${SANITIZE-} != 1 ]] || skip 'AddressSanitizer takes more memory than the limit by itself'
	memory_cgroup || skip 'no memory control group can be made here'
	start_target "$TARGETS/million" 200000
	TOOL_REAL=$TOOL
	printf '#!/bin/bash\necho $$ >%q/cgroup.procs\nexec %q "$@"\n' "$CGROUP" "$TOOL" >"$D/tool"
	chmod +x "$D/tool"
	TOOL=$D/tool
	attach
	bpf_ids "$TOOL_PID" >"$D/ids"
	# Little more than it has, so that few blocks fill it: calls take their time, on a busy machine more than the target has for all of them.
	usage=${LIMIT%/*}/memory.current
	[[ -e $usage ]] || usage=${LIMIT%/*}/memory.usage_in_bytes
	printf '%s\n' $(($(<"$usage") + (6 << 20))) >"$LIMIT"
	tell go
	truth=$TRUTH
	kill -USR1 "$TOOL_PID" 2>/dev/null || :
	if json_line; then
		SNAP=$LINE
		TRUTH=$truth
		same none direct lost
		holds '.lost | add > 0'
		kill -TERM "$TOOL_PID"
		tool_ends
	else
		TOOL_STATUS=0
		wait "$TOOL_PID" || TOOL_STATUS=$?
		[[ $TOOL_STATUS -eq 137 || $TOOL_STATUS -eq 1 ]] || fail "the tool ended with status $TOOL_STATUS"
	fi
	printf '# the tool ended with %s\n' "$TOOL_STATUS" >&3
	until_true "$DEADLINE" rmdir "$CGROUP" || fail 'something goes on in the control group'
	until_true "$DEADLINE" eval '! bpf_any_left <"$D/ids"' || fail 'programs, links or maps are left'
	tell free
	end_target
}

@test "no address space for the tool: an error, no crash" {
	[[ ${SANITIZE-} != 1 ]] || skip "AddressSanitizer's shadow needs terabytes of address space"
	start_target "$TARGETS/leaf"
	for megabytes in 30 40 50 60 80 100; do
		STATUS=0
		timeout "$DEADLINE" prlimit "--as=$((megabytes << 20)):$((megabytes << 20))" "$TOOL" -f json -p "$T_PID" -i 50ms -n 1 \
			>"$D/run.out" 2>"$D/run.err" 3>&- || STATUS=$?
		[[ $STATUS -le 1 || $STATUS -eq 127 ]] || fail "$megabytes MiB: status $STATUS: $(<"$D/run.err")"
		[[ $STATUS -eq 0 || -s $D/run.err ]] || fail "$megabytes MiB: it failed without a word"
	done
	alive "$T_PID" || fail 'the target is gone'
	end_target
}

@test "1,000 children, one after the other: they run, and the tool's own size stays" {
	start_target "$TARGETS/many"
	attach -T 3
	tell 'forks 50'
	snap
	rss() { awk '$1 == "VmRSS:" { print $2 }' "/proc/$TOOL_PID/status"; }
	before=$(rss) fds=$(find "/proc/$TOOL_PID/fd" | wc -l)
	tell 'forks 1000'
	holds '.children == 1000' "$TRUTH"
	snap
	# Those that have ended hold none, though their tables are cleared by the dozen.
	few() {
		snap
		[[ $(find "/proc/$TOOL_PID/fd" | wc -l) -le $((fds + 12)) ]]
	}
	until_true "$DEADLINE" few || fail "descriptors: $fds before, $(find "/proc/$TOOL_PID/fd" | wc -l) after"
	printf '# RSS %d KiB after 50 children, %d KiB after 1,050\n' "$before" "$(rss)" >&3
	at_most "$(rss)" $((before + 2048)) || fail "RSS grew from $before to $(rss) KiB"
	end_target
}

descriptors() {
	find "/proc/$TOOL_PID/fd" | wc -l
}

# many_programs COUNT FILE: copies of it, run one after the other. What is known of a file that nobody maps any more (names, unwind tables, probes) is kept for
# a while, each with a descriptor; ended targets are cleared by the dozen.
many_programs() {
	local DEADLINE=$((4 * DEADLINE)) # a busy machine starts some ten a second

	own_libc
	cd "$D" || fail "no directory $D"
	start_target "$TARGETS/many"
	attach --children exact -o "$D/all.json" # bash reads slowly
	before=$(descriptors)
	tell "programs $1 $2"
	holds ".programs == $1" "$TRUTH"
	met() {
		[[ $(grep -c '(program\.' "$D/tool.err") -ge $(($1 * 9 / 10)) ]]
	}
	until_true "$DEADLINE" met "$1" || fail 'the programs were not traced'
	few() {
		[[ $(descriptors) -le $((before + 300)) ]]
	}
	until_true "$DEADLINE" few || fail "$(descriptors) descriptors, $before before"
	printf '# %s: %d descriptors, %d after %d programs\n' "${2##*/}" "$before" "$(descriptors)" "$1" >&3
}

@test "400 programs, each a file of its own: the tool's descriptors stay, and a program that is met again has the stacks that it had" {
	many_programs 400 "$TARGETS/many"
	tell "programs 10 $TARGETS/many"
	end_target
	tool_ends
	jq -c 'select(.final) | .comm as $comm | .stacks[] | [$comm, .id, .frames[1].function]' "$D/all.json" |
		grep -E '"program\.[0-9]"' | sort | uniq -c >"$D/stacks"
	[[ $(grep -c '"child_leak"' "$D/stacks") -eq 10 && $(wc -l <"$D/stacks") -eq 10 ]] || fail "not one stack each: $(<"$D/stacks")"
	grep -q '^ *2 ' "$D/stacks" || fail "none was met again: $(<"$D/stacks")"
}

@test "150 programs with an allocator of their own: the tool's descriptors stay" {
	many_programs 150 "$TARGETS/many.static"
	end_target
	tool_ends
}
