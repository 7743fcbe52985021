#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The gate as a user meets it: --gate and --attach gate. That its numbers are right in all that core.bats and providers.bats do is shown
# there, in mode "gate". The targets have a C library of their own: a probe that somebody else has in all processes would be in the way.

load lib.bash
load recording.bash
load sampling.bash
load survey.bash

setup() {
	[[ -x $TOOL ]] || fail "no $TOOL: run make first"
	need_gate
	fresh
	own_libc
}

# shellcheck disable=SC2030,SC2031 # each test is a subshell
# Nothing that the tool says is about probes in place of the gate.
gated() {
	! grep 'not a gate' "$D/tool.err" || fail 'probes'
	holds '.attach == "gate"'
}

gate_mappings() {
	grep -c ' /memfd:memleakbpf-gate' "/proc/$1/maps" || :
}

# The text of the target's C library in memory is what the file has.
as_in_file() {
	local range offset start end

	read -r range _ offset _ < <(grep ' r-xp .*/lib/libc.so.6$' "/proc/$T_PID/maps")
	start=$((0x${range%-*})) end=$((0x${range#*-}))
	cmp <(dd if="/proc/$T_PID/mem" bs=4096 skip=$((start / 4096)) count=$(((end - start) / 4096)) status=none) \
		<(dd if="$D/lib/libc.so.6" bs=4096 skip=$((0x$offset / 4096)) count=$(((end - start) / 4096)) status=none) 2>&1
}

# The sum over all stacks, whatever they are.
live_in_all() {
	holds ".live == $(jq -c '[.live[]] | {bytes: map(.bytes) | add, count: map(.count) | add}' <<<"$TRUTH")"
}

# ---- Coming and going ------------------------------------------------------------------------------------------------------

# bats test_tags=quick
@test "twice in a row, sampled and exact: right each time, the code as in the file after each end, and one mapping" {
	local options

	start_target "$TARGETS/leaf"
	for options in '' '-s 1' '' '-s 64k'; do
		# shellcheck disable=SC2086
		attach --gate $options
		[[ $(gate_mappings "$T_PID") -eq 1 ]] || fail "$(gate_mappings "$T_PID") mappings"
		as_in_file >/dev/null && fail 'nothing is patched'
		snap
		gated
		holds '.live.count == 0'
		stop_tool
		as_in_file || fail "not the file's bytes after --gate $options"
	done
	[[ $(gate_mappings "$T_PID") -eq 1 ]] || fail "$(gate_mappings "$T_PID") mappings in the end"
	attach --gate
	tell go
	snap
	same
	end_target
}

# It would stand still for as long as it takes to put probes in: 50 ms.
@test "a process of one thread that runs already is not kept waiting until its gate is there" {
	start_target "$TARGETS/leaf"
	attach --gate -v
	grep "process $T_PID .*: a gate before .*; a thread stood still for" "$D/tool.err" || fail "$(cat "$D/tool.err")"
	stop_tool
	end_target
}

# run_gated GATES [OPTION…] -- COMMAND: TRUTH and SNAP. So many gates have come while it waited; it is held for four seconds at most (user/trace/trace.h), and where a
# busy machine has taken longer for one it runs meanwhile: once more then.
run_gated() {
	local gates=$1 tries since

	shift
	for tries in {1..10}; do
		since=${EPOCHREALTIME/./}
		env "${T_ENV[@]}" timeout "$DEADLINE" "$TOOL" -v -f json -T 1000 --sort alloc --attach gate "$@" >"$D/both" 2>"$D/tool.err" 3>&- || fail "status $?"
		[[ $(grep -c 'a gate before .*; it waited, and stood still for' "$D/tool.err") -ne $gates ]] || break
		[[ $((${EPOCHREALTIME/./} - since)) -ge 4000000 && $tries -lt 10 ]] || fail "try $tries, no $gates gates: $(cat "$D/tool.err")"
	done
	TRUTH=$(grep '"phase":"exit"' "$D/both")
	SNAP=$(grep '"version":1' "$D/both" | tail -n 1)
	gated
}

@test "the gate counts a COMMAND exactly from its first call on" {
	run_gated 1 -- "$TARGETS/short"
	same
}

@test "a COMMAND, sampled so that nothing is left out" {
	run_gated 1 -s 1 -- "$TARGETS/short"
	holds '[.stacks[] | select(any(.frames[]; .function == "leak_short"))] | .[0].live == {"bytes": 3690, "count": 30}'
	holds '[.stacks[] | select(any(.frames[]; .function == "leak_shorter"))] | .[0].live == {"bytes": 2000, "count": 1}'
}

# Between the first gate and the second it would run.
@test "a COMMAND with two allocators: from its first call on, of both" {
	local options

	for options in '' '-s 1'; do
		# shellcheck disable=SC2086
		run_gated 2 $options -- "$TARGETS/two_heaps"
		same
	done
}

# ---- Where there is none (and gate_refused.bats) -----------------------------------------------------------------------------------------------

@test "two at once: the first has the gate, the second leaves the process alone and says so" {
	local status=0

	start_target "$TARGETS/leaf"
	attach --gate
	"$TOOL" -i 1h -p "$T_PID" >/dev/null 2>"$D/second.err" 3>&- {T_IN}>&- {T_OUT}<&- || status=$?
	[[ $status -eq 1 ]] || fail "the second ended with status $status"
	grep -q 'is not traced: another memleakbpf has its gate in it' "$D/second.err" || fail "$(<"$D/second.err")"
	tell go
	snap
	gated
	same
	tell free
	snap
	same
	stop_tool
	as_in_file || fail 'not as in the file'
}

@test "options that do not go with --gate: exit 2" {
	local options

	start_target "$TARGETS/leaf"
	for options in '--gate --mmap' '--gate --check-frees' '--gate --children exact-systemwide' '--gate --attach usdt' '--attach gate --mmap' \
		'--attach gate --check-frees'; do
		# shellcheck disable=SC2086
		run_tool $options -p "$T_PID"
		refused 2 '^memleakbpf: --gate: does not go with --'
	done
	run_tool report --gate "$D/none"
	refused 2 'not an option of'
	[[ $(gate_mappings "$T_PID") -eq 0 ]] || fail 'it left pages'
	end_target
}

# ---- Allocators ------------------------------------------------------------------------------------------------------------

# exactly PROGRAM…: each of the program's calls.
exactly() {
	MODE=gate
	start_target "$@"
	attach
	tell go
	snap
	gated
	same
	stop_tool
	end_target
	clean
	fresh
	own_libc
}

@test "the gate counts static and static-pie programs exactly" {
	exactly "$TARGETS/leaf.static"
	exactly "$TARGETS/leaf.static-pie"
}

# estimated PROGRAM [LIBRARY]: the mean of ten runs.
estimated() {
	# shellcheck disable=SC2034 # of sampling.bash
	MODE=gate ROUNDS=10
	[[ -z ${2-} ]] || T_ENV+=("LD_PRELOAD=$2")
	start_target "$1"
	attach -s 16k
	rounds >"$D/rounds"
	holds '.attach == "gate" and .lost.live_map_full == 0'
	judge <"$D/rounds" >"$D/verdict" || fail "$1 ${2-}: $(cat "$D/verdict")"
	sed "s|^|# ${1##*/} ${2##*/} |" "$D/verdict" >&3
	clean
	fresh
	own_libc
}

@test "sampled: the mean of ten runs is the truth with jemalloc and tcmalloc, musl, and in static programs" {
	local library

	for library in libjemalloc.so.2 libtcmalloc_minimal.so.4; do
		[[ ! -e $LIBDIR/$library ]] || estimated "$TARGETS/mixed" "$LIBDIR/$library"
	done
	estimated "$TARGETS/mixed.static"
	[[ ! -x $TARGETS/mixed.musl ]] || estimated "$TARGETS/mixed.musl"
	[[ ! -x $TARGETS/mixed.musl-static ]] || estimated "$TARGETS/mixed.musl-static"
}

# Blocks are not lost from the set of samples, wherever the allocator puts them: jemalloc's slabs.
@test "sampled: 20,000 blocks of jemalloc's that are all samples are all there" {
	[[ -x $TARGETS/verdict_heap.jemalloc ]] || skip 'no libjemalloc.so.2'
	MODE=gate
	start_target "$TARGETS/verdict_heap.jemalloc"
	attach -s 1
	tell all
	snap
	holds '[.stacks[] | select(any(.frames[]; .function == "big_held"))] | .[0].live.count == 10000'
	holds '[.stacks[] | select(any(.frames[]; .function == "big_list"))] | .[0].live.count == 10000'
	end_target
}

@test "sampled: operator new that throws, of jemalloc, tcmalloc and libstdc++" {
	local library

	MODE=gate
	for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 ''; do
		[[ -e $LIBDIR/$library ]] || continue
		[[ -z $library ]] || T_ENV+=("LD_PRELOAD=$LIBDIR/$library")
		start_target "$TARGETS/exceptions"
		attach -s 1
		tell go
		tell go
		snap
		holds '.attach == "gate"'
		# Blocks of a few bytes may be left out.
		jq -e --argjson truth "$TRUTH" '([.stacks[] | select(any(.frames[]; .function == "leak_new"))] | map(.live.count) | add)
			== $truth.live.leak_new.count' <<<"$SNAP" >/dev/null || fail "leak_new with $library"
		end_target
		clean
		fresh
		own_libc
	done
}

# ---- Children --------------------------------------------------------------------------------------------------------------

# child_with HOW OPTION…: a child that is made so has its own gate, and is counted from its first call on or from when it is attached to.
child_with() {
	local child how=$1

	shift
	MODE=gate
	start_target "$TARGETS/family"
	attach "$@"
	tell go
	parent=$TRUTH
	tell "$how-wait"
	child=$(field .child "$TRUTH")
	[[ $how != spawn ]] || truth spawned
	until_true "$DEADLINE" grep -Eq "attached to $child \\((family|exe)" "$D/tool.err" || fail 'the child is not attached'
	kill -USR2 "$child"
	truth child
	snap "$child"
	same freed
	snap "$T_PID"
	TRUTH=$parent
	same
	kill -TERM "$child"
	await_final "$child"
	stop_tool
	end_target
	clean
	fresh
	own_libc
}

@test "fork and posix_spawn: a child has a gate of its own, followed late and exact" {
	local children

	for children in late exact; do
		child_with fork --children "$children"
		child_with spawn --children "$children"
	done
}

@test "vfork and exec: the parent goes on, the new program has a gate of its own" {
	MODE=gate
	start_target "$TARGETS/family"
	attach --children exact
	tell go
	tell vfork
	tell go
	snap
	same
	printf 'exec\n' >&"$T_IN"
	target_line 'ready '
	tell go
	snap
	same freed
	[[ $(gate_mappings "$T_PID") -eq 1 ]] || fail "$(gate_mappings "$T_PID") mappings"
	end_target
}

# Where it comes to them late, with hundreds, it would have fallen back more and more, and not have ended for minutes.
@test "children that have ended cost the tool no look at their allocator" {
	need strace
	# The tool keeps its number, and strace is another process.
	printf '#!/bin/bash\nexec strace -D -qq -e trace=pread64 -o %q %q "$@"\n' "$D/reads" "$TOOL" >"$D/tool"
	chmod +x "$D/tool"
	start_target "$TARGETS/ledger" 0
	TOOL=$D/tool attach --gate --children late
	kill -STOP "$TOOL_PID"
	tell 'fork 20'
	kill -CONT "$TOOL_PID"
	snap
	gated
	holds '.lost.short_children == 60'
	# The text of the C library is read for the first process, not for each.
	[[ $(grep -cE ' = [0-9]{6,}$' "$D/reads") -lt 20 ]] || fail "it reads the text $(grep -cE ' = [0-9]{6,}$' "$D/reads") times"
	stop_tool
}

@test "python's multiprocessing, by fork and spawn: every child is counted to its end" {
	MODE=''
	cat >"$D/work.py" <<-'END'
		import multiprocessing, sys
		kept = []
		def work(n):
		    kept.append(bytearray(2000000 + n))
		    return len(kept[-1])
		if __name__ == "__main__":
		    with multiprocessing.get_context(sys.argv[1]).Pool(3) as pool:
		        print(sum(pool.map(work, range(30), chunksize=1)))
	END
	for how in fork spawn; do
		env "${T_ENV[@]}" PYTHONMALLOC=malloc timeout "$((2 * DEADLINE))" "$TOOL" --merge -f json -T 10000 --sort alloc --children exact --gate -o "$D/report" -- \
			/usr/bin/python3 "$D/work.py" $how >"$D/run.out" 2>"$D/tool.err" 3>&- || fail "$how: status $?"
		[[ $(<"$D/run.out") == $((30 * 2000000 + 435)) ]] || fail "$how: $(<"$D/run.out")"
		jq -es 'all(.[]; .attach == "gate") and ([.[].live.bytes] | add | . > 60000435 and . < 120000000)' "$D/report" >/dev/null ||
			fail "$how: $(jq -c 'del(.stacks)' "$D/report")"
		jq -es 'map(.processes) | add >= 2' "$D/report" >/dev/null || fail "$how: $(jq -c 'del(.stacks)' "$D/report")"
	done
}

# ---- What is made of it ----------------------------------------------------------------------------------------------------

@test "record: report shows a gate's trace as it was" {
	start_target "$TARGETS/leaf"
	tool_into "$D/rec" record --gate
	record_steps go churn free go
	tool_stops
	end_target
	report "$D/rec" -f json -T 1000 --sort alloc
	mapfile -t SNAPS <<<"$REPORT"
	[[ ${#SNAPS[@]} -eq 5 ]] || fail "${#SNAPS[@]} snapshots, not 5"
	for i in 0 1 2 3; do
		TRUTH=${TRUTHS[i]} SNAP=${SNAPS[i]}
		gated
		same
	done
	"$TOOL" report "$D/rec" -f pprof -o "$D/pprof" || fail 'pprof'
	"$TOOL" report "$D/rec" -f perfetto -o "$D/perfetto" || fail 'perfetto'
	[[ -s $D/perfetto ]] || fail 'an empty trace'
	if command -v go >/dev/null; then
		HOME=$D go tool pprof -symbolize=none -top -unit=B "$D/pprof" 2>/dev/null | grep -q "Total samples = $(live)B" || fail "not $(live)"
	fi
}

@test "survey: names the leaking site by a gate" {
	WRAP=(env "${T_ENV[@]}")
	scene leak 3000000
	survey_until "any(.processes[]; .pid == $PID and .drill.open == false and .trend == \"growing\")" --gate -i 200ms --window 2000ms --budget 20 --comm '^leak$'
	[[ $(of "$PID" .trend) == growing ]] || fail "$(of "$PID" .reason)"
	[[ $(of "$PID" '.stacks[0].frames | any(.function == "leaked_here")') == true ]] || fail "not named: $(of "$PID" .drill)"
	[[ $(gate_mappings "$PID") -eq 1 ]] || fail 'it had no gate'
}

# The gate's own notes of samples lie in the target's memory, and must not hold what the program has lost. Of blocks of no bytes none is a sample.
@test "verdict: a gate's lost blocks are lost, exact and sampled" {
	local program options

	MODE=gate
	for program in verdict_heap.nofp verdict_roots.nofp verdict_threads.nofp verdict_heap.jemalloc verdict_heap.tcmalloc; do
		[[ -x $TARGETS/$program ]] || continue
		for options in '' '-s 1'; do
			start_target "$TARGETS/$program"
			# shellcheck disable=SC2086
			attach --verdict $options
			tell all
			[[ -z $options ]] || TRUTH=$(jq -c '(.verdict[] | select([.[].bytes] | add == 0) | .[].count) = 0' <<<"$TRUTH")
			snap
			judged
			stop_tool
			clean
			fresh
			own_libc
		done
	done
}
