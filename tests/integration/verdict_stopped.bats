#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The tool itself is stopped while it holds a process: that goes on when --max-pause is over, by its own clock; and the tool when it is let.
# bats file_tags=alone

load lib.bash

MAX_PAUSE=200
# What the last resort takes (50 ms), and that others let it wait on a busy machine.
SLACK=400

# The thread with the clock: main waits for a command, and may be left asleep.
clock_thread() {
	find "/proc/$T_PID/task" -mindepth 1 -maxdepth 1 ! -name "$T_PID"
}

held() {
	! grep -q '^TracerPid:[[:space:]]*0$' "$CLOCK/status"
}

turns() {
	tell turns
	field .turns "$TRUTH"
}

turns_above() {
	[[ $(turns) -gt $1 ]]
}

# It goes on, and by its own clock has not stood still for longer than it may.
goes_on() {
	until_true "$DEADLINE" turns_above $(($(turns) + 10)) || fail 'it stands still'
	tell longest
	holds ".longest_ms <= $MAX_PAUSE + $SLACK" "$TRUTH"
	LONGEST=$(jq --argjson most "$LONGEST" '[.longest_ms, $most] | max' <<<"$TRUTH")
}

state() {
	sed -E 's/.*\) (.).*/\1/' "/proc/$1/stat"
}

in_state() {
	[[ $(state "$1") == "$2" ]]
}

# Verdict after verdict. HOLD_MS: somewhat less than what one takes.
judging() {
	HOLD_MS=30
	[[ $* != *fork* ]] || HOLD_MS=3
	start_target "$TARGETS/clocked" 256
	CLOCK=$(clock_thread)
	LONGEST=0
	"$TOOL" -p "$T_PID" --verdict --max-pause ${MAX_PAUSE}ms -i 20ms -T 1 -f json -o "$D/result" "$@" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	attached "$T_PID"
	verdict_comes
	tell longest
}

verdicts() {
	grep -c '"verdict":{' "$D/result" || :
}

more_verdicts_than() {
	[[ $(verdicts) -gt $1 ]]
}

# One that was taken.
verdict_comes() {
	until_true "$DEADLINE" more_verdicts_than "$(verdicts)" || fail 'there is no further verdict'
}

# stop_held all|one|FILE: stops the tool, or all that it has started too, or freezes it, at a random moment after it has begun to hold the target.
stop_held() {
	python3 - "$CLOCK" "$TOOL_PID" "$1" "$HOLD_MS" "$RANDOM" 3>&- <<-'PY' || fail 'it holds nothing'
		import glob, os, random, signal, sys, time
		target, tool, how, hold_ms, seed = sys.argv[1:]
		status = os.open(target + "/status", os.O_RDONLY)
		# Before all ordinary processes, as the tool is meanwhile.
		os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
		end = time.monotonic() + int(os.environ.get("DEADLINE") or 30)
		while b"TracerPid:\t0\n" in os.pread(status, 4096, 0):
		    if time.monotonic() > end:
		        sys.exit(1)
		pause = time.monotonic() + random.Random(seed).random() * float(hold_ms) / 1000
		while time.monotonic() < pause:
		    pass
		if how.startswith("/"):
		    open(how, "w").write("1")
		    sys.exit(0)
		os.kill(int(tool), signal.SIGSTOP)
		while how == "all":
		    state = open("/proc/%s/stat" % tool).read().rpartition(")")[2].split()[0]
		    if state == "T":
		        break
		if how == "all":
		    for children in glob.glob("/proc/%s/task/*/children" % tool):
		        for child in open(children).read().split():
		            os.kill(int(child), signal.SIGSTOP)
	PY
	[[ $1 == /* ]] || until_true "$DEADLINE" in_state "$TOOL_PID" T || fail 'the tool is not stopped'
}

go_on_processes() {
	local child

	# shellcheck disable=SC2013
	for child in $(cat "/proc/$TOOL_PID"/task/*/children); do
		kill -CONT "$child" 2>/dev/null || :
	done
	kill -CONT "$TOOL_PID"
}

# stopped_at_any_moment HOW COUNT
stopped_at_any_moment() {
	local n held=0 long

	for ((n = 0; n < $2; n++)); do
		stop_held "$1"
		long=
		if held; then
			held=$((held + 1))
			[[ $held -gt 2 ]] || long=1
		fi
		goes_on
		# So long after the moment that no verdict can be made of the rest; of those that are held, as one stop in ten or so misses that.
		[[ -z $long ]] || sleep 1.2
		go_on_processes
		verdict_comes
		goes_on
	done
	HELD=$held
	printf '# %s stops, %s of them while it was held; it stood still for %s ms at most\n' "$2" "$held" "$LONGEST" >&3
	[[ $held -gt 0 ]] || fail 'not once was it held'
}

# What was given up is said, or that it is of several moments; everything else has a verdict.
given_up_is_said() {
	local refused approximate

	refused=$(jq -s '[.[] | select(.verdict.refused // "" | test("memleakbpf itself was stopped"))] | length' "$D/result")
	approximate=$(jq -s '[.[] | select(.verdict.approximate == true)] | length' "$D/result")
	printf '# %s verdicts were given up for it, %s are approximate\n' "$refused" "$approximate" >&3
	[[ $refused -gt 0 ]] || fail 'nothing was given up'
	# Of those that were held at the last look, which may have had all by then, and been about to let it go: the last 1 % of a verdict or so.
	[[ $((refused + approximate)) -ge $((HELD - 3)) ]] || fail "of $HELD"
	jq -es '[.[] | select(.final | not) | select(.verdict == null or (.verdict.refused // "" | test("^$|itself was stopped|its memory") | not))] == []' \
		"$D/result" >/dev/null || fail 'a snapshot without a verdict for another reason'
}

ends_well() {
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail "the tool ended with status $?"
	tell quit
	wait "$T_PID" || fail "the target ended with status $?"
}

@test "SIGSTOP in mid-verdict: the process goes on within --max-pause; the tool goes on with SIGCONT" {
	judging
	stopped_at_any_moment one 10
	given_up_is_said
	ends_well
}

@test "SIGSTOP to every process of the tool in mid-verdict: the target goes on" {
	judging
	stopped_at_any_moment all 10
	given_up_is_said
	ends_well
}

@test "SIGSTOP to every process of the tool, with --snapshot=fork" {
	judging --snapshot=fork
	stopped_at_any_moment all 10
	ends_well
}

@test "the tool's control group is frozen in mid-verdict" {
	local group n

	for group in /sys/fs/cgroup{,/unified}/memleakbpf-frozen-$$; do
		mkdir "$group" 2>/dev/null || continue
		[[ ! -e $group/cgroup.freeze ]] || break
		rmdir "$group"
	done
	[[ -e $group/cgroup.freeze ]] || skip 'no control group of version 2 can be made here'
	judging
	printf '%s\n' "$TOOL_PID" >"$group/cgroup.procs"
	verdict_comes
	tell longest
	for n in 1 2 3 4 5; do
		stop_held "$group/cgroup.freeze"
		goes_on
		printf '0\n' >"$group/cgroup.freeze"
		verdict_comes
		goes_on
	done
	ends_well
	rmdir "$group"
}

# A shell's job: stopped by Ctrl-Z ten times, each time let go on when a line comes. Says "stopped" and what the target's tracer is then.
job() {
	timeout $((2 * DEADLINE)) python3 -u - "$CLOCK" "$@" 3>&- <<-'PY'
		import os, pty, signal, sys, time
		target = sys.argv[1]
		def tracer():
		    with open(target + "/status") as status:
		        return next(line.split()[1] for line in status if line.startswith("TracerPid"))
		shell, terminal = pty.fork()
		if shell == 0:
		    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
		    tool = os.fork()
		    if tool == 0:
		        os.setpgid(0, 0)
		        os.tcsetpgrp(0, os.getpid())
		        signal.signal(signal.SIGTTOU, signal.SIG_DFL)
		        os.execv(sys.argv[2], sys.argv[2:])
		    while True:
		        _, status = os.waitpid(tool, os.WUNTRACED)
		        if not os.WIFSTOPPED(status):
		            os._exit(os.waitstatus_to_exitcode(status))
		        print("stopped, traced by", tracer())
		        time.sleep(0.5)
		        os.killpg(tool, signal.SIGCONT)
		        print("goes on")
		seen = b""
		def until(text):
		    global seen
		    while text not in seen:
		        seen += os.read(terminal, 4096)
		    seen = seen[seen.index(text) + len(text):]
		until(b"attached to")
		for _ in range(10):
		    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(2))
		    while tracer() == "0":
		        pass
		    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
		    os.write(terminal, b"\x1a")
		    until(b"stopped, traced by ")
		    while b"\n" not in seen:
		        seen += os.read(terminal, 4096)
		    print("stopped, traced by", seen.split()[0].decode())
		    until(b"goes on")
		os.write(terminal, b"\x03")
		print("status", os.waitstatus_to_exitcode(os.waitpid(shell, 0)[1]))
	PY
}

@test "Ctrl-Z in mid-verdict: the process has been let go when the tool stops" {
	start_target "$TARGETS/clocked" 256
	CLOCK=$(clock_thread)
	job "$TOOL" -p "$T_PID" --verdict --max-pause 5s -i 20ms -T 1 -f json -o "$D/result" >"$D/job" || fail "$(<"$D/job")"
	[[ $(grep -c '^stopped, traced by 0$' "$D/job") -eq 10 ]] || fail "$(<"$D/job")"
	grep -qx 'status 0' "$D/job" || fail "$(<"$D/job")"
	# No verdict was given up: it stops when it has been taken.
	jq -es '[.[] | select(.verdict.refused != null)] == [] and length > 10' "$D/result" >/dev/null || fail 'a verdict was given up'
	tell quit
	wait "$T_PID"
}

# Children that come and end while the tool is stopped, each with the time that it took in ms; then as many with the tool.
# shellcheck disable=SC2016
CHILDREN='read -r _; for i in 1 2 3 4 5; do s=$(date +%s%N); "$0" _exit; e=$(date +%s%N); echo "$(((e - s) / 1000000))"; done; echo over; read -r _; "$0" _exit'

@test "processes that begin and end while the tool is stopped wait for nobody" {
	mkfifo "$D/go"
	"$TOOL" --verdict -f json -o "$D/result" -- sh -c "$CHILDREN" "$TARGETS/ending" <"$D/go" >"$D/times" 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	exec {GO}>"$D/go"
	tool_says 'attached to .*\(sh\)'
	kill -STOP "$TOOL_PID"
	until_true "$DEADLINE" in_state "$TOOL_PID" T || fail 'the tool is not stopped'
	printf '\n' >&"$GO"
	until_true "$DEADLINE" grep -q over "$D/times" || fail "they wait: $(<"$D/times")"
	sed 's/^/# ms: /' "$D/times" | head -n 5 | paste -sd ' ' >&3
	[[ $(grep -cE '^[0-9]{1,3}$' "$D/times") -eq 5 ]] || fail "they waited: $(<"$D/times")"
	kill -CONT "$TOOL_PID"
	printf '\n' >&"$GO"
	wait "$TOOL_PID" || :
	# The last one, whose end was held again, has its verdict.
	holds '.verdict.refused == null and .verdict.definite.count >= 49' \
		"$(jq -c 'select(.final and .comm == "ending")' "$D/result" | tail -n 1)"
}
