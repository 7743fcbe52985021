#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What a verdict does to the process: stopped ones stay stopped, those that cannot be stopped are left alone and the report says
# why, waits go on, memory does not grow.
# bats file_tags=beside

load lib.bash

scene() {
	start_target "$TARGETS/verdict_scene"
	attach --verdict "$@"
	tell allocate
}

# no_verdict REGEX: SNAP has no verdict and says why; the rest of it is there.
no_verdict() {
	holds '.verdict.refused | test("'"$1"'")'
	holds '.verdict.definite == null and ([.stacks[] | select(.verdict != null)] == [])'
	holds '[.stacks[] | select(.live.count == 64)] | length >= 2'
	printf '# %s\n' "$(field .verdict.refused "$SNAP")" >&3
}

# state PID: as in /proc, of its main thread.
state() {
	sed -E 's/.*\) (.).*/\1/' "/proc/$1/stat"
}

in_state() {
	[[ $(state "$1") == "$2" ]]
}

traced_by() {
	sed -n 's/^TracerPid:[[:space:]]*//p' "/proc/$1/status"
}

@test "a stopped process is judged and stays stopped" {
	scene
	kill -STOP "$T_PID"
	until_true "$DEADLINE" in_state "$T_PID" T || fail 'not stopped'
	for _ in 1 2 3; do
		snap
		judged
		in_state "$T_PID" T || fail "state $(state "$T_PID")"
		[[ $(traced_by "$T_PID") -eq 0 ]] || fail 'still traced'
	done
	kill -CONT "$T_PID"
	tell storm
	tell storm-ends
	snap
	judged
	end_target
	tool_ends
}

held_by_gdb() {
	[[ $(traced_by "$T_PID") -ne 0 ]]
}

let_go() {
	[[ $(traced_by "$T_PID") -eq 0 ]]
}

@test "a process held by gdb: no verdict, said why; the next one when gdb has let it go" {
	command -v gdb >/dev/null || skip 'no gdb'
	scene
	mkfifo "$D/gdb"
	gdb -nx -q -p "$T_PID" <"$D/gdb" >"$D/gdb.out" 2>&1 3>&- &
	PIDS+=($!)
	exec {GDB}>"$D/gdb"
	until_true "$DEADLINE" held_by_gdb || fail "gdb does not hold it: $(<"$D/gdb.out")"
	snap
	no_verdict 'debugger|trac'
	printf 'detach\nquit\n' >&"$GDB"
	until_true "$DEADLINE" let_go || fail 'gdb does not let go'
	snap
	judged
	end_target
	tool_ends
}

judged_in_time() {
	snap
	jq -e '.verdict.refused == null and .verdict.approximate == false' <<<"$SNAP" >/dev/null
}

@test "a vfork parent answers to nothing: no verdict by the deadline, said why; and later one" {
	scene --max-pause 200ms
	tell vfork
	snap
	no_verdict 'vfork|not stop|did not|uninterruptible'
	tell vfork-ends
	# A busy machine may need longer than that for the first one.
	until_true "$DEADLINE" judged_in_time || fail "refused, or approximate: $(field .verdict "$SNAP")"
	judged
	end_target
	tool_ends
}

# Whether this kernel lets threads be looked at without waking them.
leaves_asleep() {
	"$TOOL" doctor | grep -Eq 'ok +thread iterators'
}

waits_go_on() {
	scene -v --max-pause 20s "$@"
	tell wait
	for _ in 1 2 3; do
		snap
		judged
	done
	tell settled
	# Documented in docs/verdicts.md: these four may.
	holds '.waits | del(.epoll_wait, .semop, .sigtimedwait, .recv_timeout) | [.[]] | all(. == "waits")' "$TRUTH"
	holds '.waits | [.epoll_wait, .semop, .sigtimedwait, .recv_timeout] | all(. == "waits" or . == "EINTR")' "$TRUTH"
	field '.waits | to_entries | map("\(.key): \(.value)") | "# " + join(", ")' "$TRUTH" >&3
	end_target
	tool_ends
}

@test "waiting threads go on: no system call ends with EINTR, where threads can be left asleep" {
	waits_go_on
	leaves_asleep || skip 'this kernel has no iterator over the threads of a process'
	holds '.waits | [.[]] | all(. == "waits")' "$TRUTH"
	# Read and recv are the others: a stop would not have cut them short. And main's read.
	[[ $(grep -c '(7 left asleep)' "$D/tool.err") -eq 3 ]] || fail 'they were not left asleep'
}

@test "a thread that is left asleep and wakes up meanwhile: all is read again, as of one moment" {
	leaves_asleep || skip 'this kernel has no iterator over the threads of a process'
	scene -v --max-pause 20s
	tell restless
	snap
	judged
	holds '.verdict.approximate == false'
	until_true "$DEADLINE" woke_up
	end_target
	tool_ends
}

# Another verdict, which is right whether it did or not.
woke_up() {
	snap
	judged
	holds '.verdict.approximate == false'
	grep -q 'left asleep woke up' "$D/tool.err"
}

@test "--snapshot=fork: four system calls may end with EINTR and no others, and no child is left" {
	waits_go_on --snapshot=fork
	[[ $(grep -c 'of it for the copy' "$D/tool.err") -ge 3 ]] || fail 'not from copies'
}

@test "--snapshot=fork in a storm of threads that come and go" {
	scene --snapshot=fork
	tell storm
	for _ in 1 2 3 4 5; do
		snap
		judged
		[[ -z $(cat "/proc/$T_PID"/task/*/children 2>/dev/null) ]] || fail 'it has a child'
	done
	tell storm-ends
	end_target
	tool_ends
}

@test "threads that come and go during the stop of a verdict go on" {
	scene
	tell storm
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		snap
		if jq -e '.verdict.refused' <<<"$SNAP" >/dev/null; then
			fail "refused: $(field .verdict.refused "$SNAP")"
		fi
		judged
	done
	tell storm-ends
	snap
	judged
	end_target
	tool_ends
}

# Everything is either judged or says why it is not.
accounted_for() {
	printf '%s\n' "${SNAPS[@]}" | jq -es '[.[] | select(.verdict == null and (.final | not))] == []' >/dev/null ||
		fail 'a snapshot without a verdict and without a reason'
}

@test "a process that becomes another program again and again" {
	scene -i 100ms
	for _ in {1..30}; do
		printf 'exec\n' >&"$T_IN"
		target_line 'ready '
		[[ $LINE == "ready $T_PID" ]] || fail "$LINE"
	done
	tell allocate
	stop_tool
	accounted_for
	end_target
}

@test "a process that is killed amid a verdict ends, and so does the tool" {
	local number

	for number in {1..10}; do
		fresh
		scene -i 100ms
		tell storm
		json_line
		kill -KILL "$T_PID"
		tool_ends
		[[ $TOOL_STATUS -eq 0 ]] || fail "status $TOOL_STATUS"
		accounted_for
		clean
	done
}

# memory PID: what its pages cost it; the proportional size of those that no file of a disk is behind: other processes share the others, and the vdso.
memory() {
	grep -E '^(VmHWM|VmRSS|RssAnon|RssFile|RssShmem|VmSwap):' "/proc/$1/status"
	awk '/^[0-9a-f]+-[0-9a-f]+ / { own = $6 !~ /^(\/|\[v)/ || $6 ~ /^\/(memfd:|dev\/zero)/ }
		own && /^(Rss|Pss|Swap|Anonymous|Private_Dirty|Shared_Dirty):/ { sum[$1] += $2 }
		END { for (i in sum) print i, sum[i] }' "/proc/$1/smaps" | sort
}

# read_page PID: reads a page of its memfd, from outside, that nobody has touched.
read_page() {
	local start

	start=$(sed -n 's/^\([0-9a-f]*\)-.* rw-s .*memfd:untouched.*/\1/p' "/proc/$1/maps")
	dd if="/proc/$1/mem" of=/dev/null bs=4096 count=1 skip=$((0x$start / 4096 + 1)) status=none
}

# looked_at: BEFORE and AFTER, the memory of a process that has not been looked at yet.
looked_at() {
	scene
	tell untouched
	BEFORE=$(memory "$T_PID")
	snap
	judged
	AFTER=$(memory "$T_PID")
}

@test "memory does not grow by being looked at" {
	local tries

	# The kernel may take pages of files back just then, where memory is short: that does not happen to three of three.
	for tries in 1 2 3; do
		fresh
		looked_at
		[[ $BEFORE != "$AFTER" && $tries -lt 3 ]] || break
		clean
	done
	[[ $BEFORE == "$AFTER" ]] || fail "$(diff <(printf '%s' "$BEFORE") <(printf '%s' "$AFTER"))"
	# Would it be seen if it did?
	read_page "$T_PID"
	[[ $(memory "$T_PID") != "$BEFORE" ]] || fail 'this measurement sees nothing'
	end_target
	tool_ends
}
