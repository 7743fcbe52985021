#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Recordings, and every format by its own reader, against what the target says it did.
# bats file_tags=beside

load lib.bash
load recording.bash

folded_sum() {
	awk '{ sum += $NF } END { printf "%.0f\n", sum }' "$1"
}

android_sum() {
	awk '$1 == "z" { bytes += $4 * $6; count += $6 } END { printf "%.0f %.0f\n", bytes, count }' "$1"
}

# bats test_tags=quick
@test "record: every snapshot is there as it was, also for a reader without root" {
	local i

	start_target "$TARGETS/leaf"
	tool_into "$D/rec" record
	record_steps go churn go free go
	tool_stops
	end_target
	report "$D/rec" -f json -T 1000 --sort alloc
	mapfile -t SNAPS <<<"$REPORT"
	[[ ${#SNAPS[@]} -eq 6 ]] || fail "${#SNAPS[@]} snapshots, not 6"
	for i in 0 1 2 3 4; do
		TRUTH=${TRUTHS[i]} SNAP=${SNAPS[i]}
		same
	done
	SNAP=${SNAPS[5]}
	holds '.final and (.exited | not)'
	same
	holds '.cmdline == ["'"$TARGETS/leaf"'"] and .comm == "leaf"'
	holds '[.stacks[].frames[] | select(.function == "leak_16")][0] | .file | test("leaf\\.c$")'
	report "$D/rec" --at 0
	[[ -z $REPORT ]] && grep -q 'no snapshot' "$D/report.err" || fail 'something before the beginning'
	report "$D/rec"
	[[ $(grep -c '^===' <<<"$REPORT") -eq 1 && $REPORT == *FINAL* ]] || fail "not the last one: $REPORT"
}

@test "record: readable after kill -9, and after a cut in the middle" {
	start_target "$TARGETS/leaf"
	tool_into "$D/rec" record
	record_steps go go
	kill -KILL "$TOOL_PID"
	wait "$TOOL_PID" || :
	end_target
	report "$D/rec" -f json -T 1000 --sort alloc
	[[ $(wc -l <<<"$REPORT") -eq 2 ]] || fail 'not two snapshots'
	TRUTH=${TRUTHS[1]} SNAP=$(tail -n 1 <<<"$REPORT")
	same
	head -c $(($(stat -c %s "$D/rec") - 3)) "$D/rec" >"$D/cut"
	report "$D/cut" -f json -T 1000 --sort alloc
	TRUTH=${TRUTHS[0]} SNAP=$REPORT
	same
	grep -Eq 'in the middle of a snapshot, at offset [0-9]+; the 1 before' "$D/report.err" || fail "$(<"$D/report.err")"
	run_tool report "$TOOL"
	refused 1 'not a recording'
}

@test "record: a command, its exit status passed on" {
	run_tool record -o "$D/rec" -- sh -c 'exit 7'
	[[ $STATUS -eq 7 ]] || fail "status $STATUS: $ERR"
	report "$D/rec" -f json
	SNAP=$(tail -n 1 <<<"$REPORT")
	holds '.final and .exited'
}

@test "report and diff refuse what makes no sense" {
	run_tool report
	refused 2 'report needs one recording'
	run_tool report a b
	refused 2 'report needs one recording'
	run_tool report /dev/null --at 3 --to 4
	refused 2 '--at'
	run_tool report "$D/none"
	refused 1 'cannot open'
	run_tool record -p $$
	refused 2 '-o'
	run_tool diff
	refused 2 'diff needs'
	run_tool diff a b -f pprof
	refused 2 'no format'
}

@test "folded and android: SIGUSR1 writes the file anew, the exit the last" {
	local format

	for format in folded android; do
		fresh
		start_target "$TARGETS/leaf"
		tool_into "$D/file" -f "$format"
		tell go
		kill -USR1 "$TOOL_PID"
		until_true "$DEADLINE" into leak_1m "$D/file" || fail "$format: no file"
		tell go
		tell free
		tool_stops
		end_target
		case $format in
		folded)
			[[ $(folded_sum "$D/file") == "$(live)" ]] || fail "$(folded_sum "$D/file") is not $(live)"
			grep -Eq '^leaf;.*main.*;outer.*;middle.*;leak_4k.*' "$D/file" && fail 'freed'
			grep -Eq '^leaf;.*main.*;outer;middle;leak_1m;malloc [0-9]+$' "$D/file" || fail "$(<"$D/file")"
			;;
		android)
			[[ $(android_sum "$D/file") == "$(live) $(live count)" ]] || fail "$(android_sum "$D/file")"
			[[ $(head -n 1 "$D/file") == 'Android Native Heap Dump v1.2' ]] || fail 'no heap dump'
			[[ $(tail -n 1 "$D/file") == END ]] || fail 'not whole'
			;;
		esac
		clean
	done
}

@test "android: the addresses, by the maps that stand there, are the functions" {
	local address start end offset

	start_target "$TARGETS/leaf"
	tool_into "$D/file" -f android
	tell go
	tool_stops
	# The caller of malloc in the record of 1 MiB blocks.
	address=$(awk '$1 == "z" && $4 == 1048576 { print $9; exit }' "$D/file")
	[[ -n $address ]] || fail "$(<"$D/file")"
	# The target lives: its own maps must say the same.
	read -r start end offset < <(sed -nE "s#^([0-9a-f]+)-([0-9a-f]+) r-xp ([0-9a-f]+) .* $TARGETS/leaf\$#\1 \2 \3#p" "$D/file")
	grep -Eq "^0*$start-0*$end r-xp 0*$offset " "/proc/$T_PID/maps" || fail 'not the maps of the process'
	((0x$address >= 0x$start && 0x$address < 0x$end)) || fail "$address is not in $start-$end"
	# As the viewer has it: the offset in the file; here it is the address of the symbol table, too.
	addr2line -f -e "$TARGETS/leaf" "$(printf '%x' $((0x$address - 0x$start + 0x$offset)))" | grep -qx leak_1m ||
		fail 'not leak_1m'
	end_target
}

@test "pprof: go tool pprof reads it, and its sums are the truth" {
	start_target "$TARGETS/leaf"
	tool_into "$D/file" -f pprof
	tell go
	tell churn
	tool_stops
	end_target
	pprof -top -unit=B "$D/file" >"$D/top"
	grep -q "Total samples = $(live)B" "$D/top" || fail "not $(live): $(<"$D/top")"
	grep -q 'File: leaf' "$D/top" || fail 'not the program'
	pprof -top -sample_index=inuse_objects "$D/file" | grep -q "Total samples = $(live count)" || fail 'count'
	pprof -top -unit=B -sample_index=alloc_space "$D/file" |
		grep -q "Total samples = $(jq '[.alloc[].bytes] | add' <<<"$TRUTH")B" || fail 'alloc_space'
	pprof -traces -unit=B "$D/file" >"$D/traces"
	grep -qE "^ +$(jq .live.leak_1m.bytes <<<"$TRUTH")B +leak_1m" "$D/traces" || fail "$(<"$D/traces")"
	pprof -list=leak_1m "$D/file" | grep -q 'leaf\.c' || fail 'no lines'
	pprof -raw "$D/file" | grep -q "$(readelf -n "$TARGETS/leaf" | awk '/Build ID/ { print $3 }')" || fail 'no build-id'
}

@test "perfetto: trace_processor reads it, and at every dump its sums are the truth" {
	local sums i

	needs_perfetto
	start_target "$TARGETS/leaf"
	tool_into "$D/rec" record
	record_steps go go free churn go
	tool_stops
	end_target
	"$TOOL" report "$D/rec" -f perfetto -o "$D/trace" || fail 'report'
	perfetto "$D/trace" \
		"select name, value from stats where severity != 'info' and value != 0" \
		"select ts, sum(size) as bytes, sum(count) as count from heap_profile_allocation group by ts order by ts" \
		"select distinct f.name, s.source_file as file, s.line_number as line, m.name as module, m.build_id as id
			from stack_profile_frame f join stack_profile_mapping m on m.id = f.mapping
			left join stack_profile_symbol s using (symbol_set_id) where f.name = 'leak_1m'" \
		"select t.name, count(*) as n, max(c.value) as top from counter c join process_counter_track t on t.id = c.track_id
			join process p using (upid) where p.pid = $T_PID group by t.name" \
		"select distinct heap_name as name, p.cmdline from heap_profile_allocation join process p using (upid)" >"$D/answers"
	[[ $(sed -n 1p "$D/answers") == '[]' ]] || fail "$(sed -n 1p "$D/answers")"
	# Of a snapshot in which nothing changed there are no rows: the sum so far is what counts.
	sums=$(sed -n 2p "$D/answers" | jq -c '[foreach .[] as $d ({b: 0, c: 0}; {b: (.b + $d.bytes), c: (.c + $d.count)})]')
	for i in 0 1 2 4; do
		TRUTH=${TRUTHS[i]}
		jq -e --argjson b "$(live)" --argjson c "$(live count)" 'any(.b == $b and .c == $c)' <<<"$sums" >/dev/null ||
			fail "step $i: $(live) in $(live count) is not among $sums"
	done
	jq -e --argjson b "$(live)" --argjson c "$(live count)" 'last | .b == $b and .c == $c' <<<"$sums" >/dev/null || fail "last: $sums"
	holds 'length == 1 and (.[0].file | test("leaf\\.c$")) and .[0].line > 0 and (.[0].module | test("leaf$")) and .[0].id != ""' \
		"$(sed -n 3p "$D/answers")"
	holds 'map(.name) == ["RSS", "allocation rate", "anonymous memory", "live blocks", "live bytes"] and all(.n >= 5)' \
		"$(sed -n 4p "$D/answers")"
	holds ".[] | select(.name == \"live bytes\") | .top == $(live)" "$(sed -n 4p "$D/answers")"
	holds "length == 1 and .[0].name == \"libc.malloc\" and .[0].cmdline == \"$TARGETS/leaf\"" "$(sed -n 5p "$D/answers")"
}

@test "perfetto: several processes and one that execs, in one trace" {
	local child

	needs_perfetto
	start_target "$TARGETS/family"
	tool_into "$D/file" -f perfetto
	tell go
	tell fork-wait
	child=$(field .child "$TRUTH")
	attached "$child"
	printf 'exec\n' >&"$T_IN"
	target_line 'ready '
	tell again
	tool_stops
	kill -TERM "$child"
	end_target
	perfetto "$D/file" \
		"select name, value from stats where severity != 'info' and value != 0" \
		"select heap_name as name, sum(size) as bytes, sum(count) as count from heap_profile_allocation join process p using (upid)
			where p.pid = $T_PID group by heap_name order by heap_name" >"$D/answers"
	[[ $(sed -n 1p "$D/answers") == '[]' ]] || fail "$(sed -n 1p "$D/answers")"
	holds 'map([.name, .count]) == [["libc.malloc", 10], ["libc.malloc (program 2)", 3]]' "$(sed -n 2p "$D/answers")"
}

# Five intervals, of which two grew.
@test "all formats agree about one recording, to the byte" {
	start_target "$TARGETS/leaf"
	tool_into "$D/rec" record
	record_steps churn go churn go free
	tool_stops
	end_target
	SNAP=$("$TOOL" report "$D/rec" -f json | tail -n 1)
	holds ".live == {bytes: $(live), count: $(live count)}"
	"$TOOL" report "$D/rec" -f folded -o "$D/folded"
	[[ $(folded_sum "$D/folded") == "$(live)" ]] || fail folded
	"$TOOL" report "$D/rec" -f folded --sort count >"$D/folded"
	[[ $(folded_sum "$D/folded") == "$(live count)" ]] || fail 'folded counts'
	"$TOOL" report "$D/rec" -f android >"$D/android"
	[[ $(android_sum "$D/android") == "$(live) $(live count)" ]] || fail android
	"$TOOL" report "$D/rec" -f text | grep -q "($(live | sed ':a;s/\B[0-9]\{3\}\>/,&/;ta') B)" || fail text
	"$TOOL" report "$D/rec" -f pprof -o "$D/pprof"
	pprof -top -unit=B "$D/pprof" | grep -q "Total samples = $(live)B" || fail pprof
	pprof -top -sample_index=inuse_objects "$D/pprof" | grep -q "Total samples = $(live count)" || fail 'pprof counts'
	needs_chromium
	"$TOOL" report "$D/rec" -f html -o "$D/page.html"
	look "$D/page.html" 'value|#card-live b' 'value|#flame' 'click|#measures [data-key=blocks]' 'value|#flame'
	seen 0 "$(live)" live
	seen 1 "$(live)" 'the flame graph'
	seen 2 "$(live count)" 'the flame graph of blocks'
	needs_perfetto
	"$TOOL" report "$D/rec" -f perfetto -o "$D/trace"
	perfetto "$D/trace" 'select sum(size) as bytes, sum(count) as count from heap_profile_allocation' \
		'select count(distinct ts) as dumps from heap_profile_allocation' >"$D/answers"
	[[ $(sed -n 1p "$D/answers") == "[{\"bytes\":$(live),\"count\":$(live count)}]" ]] || fail "perfetto: $(<"$D/answers")"
}

# bats test_tags=quick
@test "diff: two runs compare by name, and two times of one" {
	local run of pids=()

	for run in old new; do
		start_target "$TARGETS/leaf"
		pids+=("$T_PID")
		tool_into "$D/rec" record
		record_steps go
		[[ $run == old ]] || record_steps_more go
		tool_stops
		end_target
		mv "$D/rec" "$D/$run"
	done
	SNAP=$("$TOOL" diff "$D/old" "$D/new" -f json -T 100) || fail 'diff'
	holds '[.stacks[] | .change] | unique == ["grew"]'
	holds '.new.live.bytes == 2 * .old.live.bytes and .delta == .old.live'
	holds '[.stacks[] | select(.delta != .old)] == []'
	# Restarted, it has another number: that of either is its name, and another one's is none.
	for of in "${pids[@]}" "${pids[0]},${pids[1]}"; do
		"$TOOL" diff "$D/old" "$D/new" -f json -T 100 -p "$of" >"$D/named" 2>"$D/named.err" || fail "diff -p $of"
		[[ $(<"$D/named") == "$SNAP" ]] || fail "-p $of: $(<"$D/named")"
		[[ $of == *,* ]] || grep -q "no process that -p names is in it; those with the name of the other recording's are compared, 'leaf'$" "$D/named.err" || fail "-p $of: $(<"$D/named.err")"
	done
	[[ ! -s $D/named.err ]] || fail "$(<"$D/named.err")"
	"$TOOL" diff "$D/old" "$D/new" -f json -p 1 2>"$D/named.err" | jq -e '.old.processes == 0 and .new.processes == 0' >/dev/null || fail 'another one'
	"$TOOL" diff "$D/old" "$D/old" | grep -q '0 grew, 0 new, 0 shrank, 0 gone' || fail 'differs from itself'
	SNAP=$("$TOOL" diff "$D/new" -f json) || fail 'diff of one'
	holds '.delta == .old.live'
}

recorded_live() {
	[[ $("$TOOL" report "$1" -f json 2>/dev/null | tail -n 1 | jq .live.bytes) == "$(live)" ]]
}

@test "record: a disk that fills up is an error that names the file, which has all complete snapshots; the target lives" {
	local disk=$D/disk inside snapshots

	mkdir "$disk"
	mount -t tmpfs -o size=64k none "$disk" 2>"$D/mount.err" || skip "no file system can be mounted here: $(<"$D/mount.err")"
	start_target "$TARGETS/leaf"
	env --default-signal=INT "$TOOL" record -i 20ms -o "$disk/rec" -p "$T_PID" >"$D/tool.out" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	# It goes away by itself with the last that has it open, however this test ends.
	until_true "$DEADLINE" test -e "$disk/rec" || { umount -l "$disk"; fail 'no file'; }
	exec {inside}<"$disk"
	umount -l "$disk"
	disk=/proc/self/fd/$inside
	attached "$T_PID"
	tell go
	until_true "$DEADLINE" recorded_live "$disk/rec" || fail 'no snapshot with the stacks'
	head -c 1M /dev/zero >"$disk/filler" 2>/dev/null || :
	! wait "$TOOL_PID" || fail 'it said nothing of the disk'
	grep -q "cannot write to $D/disk/rec: No space left on device" "$D/tool.err" || fail 'it does not name the file'
	report "$disk/rec" -f json -T 1000 --sort alloc
	[[ ! -s $D/report.err ]] || fail "the file is not whole: $(<"$D/report.err")"
	snapshots=$(wc -l <<<"$REPORT")
	[[ $snapshots -gt 1 ]] || fail "$snapshots snapshots"
	SNAP=$(tail -n 1 <<<"$REPORT")
	same
	tell churn
	end_target
}

@test "a recording whose writer was killed in the middle of a write is read up to there" {
	local status=0

	start_target "$TARGETS/leaf"
	tool_into "$D/rec" record
	record_steps go go
	# The next write is cut off after 20 bytes, and the signal for that kills the tool.
	prlimit --pid "$TOOL_PID" --fsize=$(($(stat -c %s "$D/rec") + 20))
	kill -USR1 "$TOOL_PID"
	wait "$TOOL_PID" || status=$?
	[[ $(kill -l "$status") == XFSZ ]] || fail "the tool ended with status $status"
	end_target
	report "$D/rec" -f json -T 1000 --sort alloc
	grep -Eq 'in the middle of a snapshot, at offset [0-9]+; the 2 before' "$D/report.err" || fail "$(<"$D/report.err")"
	TRUTH=${TRUTHS[1]} SNAP=$(tail -n 1 <<<"$REPORT")
	same
}
