#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What goes wrong, and what is left behind: nothing.

load lib.bash

# bats test_tags=quick
@test "without root the tool ends with one clear line" {
	start_target "$TARGETS/leaf"
	cp "$TOOL" "$BATS_TEST_TMPDIR/memleakbpf"
	chmod 755 "$BATS_TEST_TMPDIR/memleakbpf"
	for directory in "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"; do
		chmod 755 "$directory"
	done
	STATUS=0
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$BATS_TEST_TMPDIR/memleakbpf" -p "$T_PID" \
		>"$D/run.out" 2>"$D/run.err" || STATUS=$?
	OUT=$(<"$D/run.out") ERR=$(<"$D/run.err")
	refused 1 'root|sudo|capabilit'
}

@test "root without CAP_BPF and CAP_SYS_ADMIN: one clear line that names what is missing" {
	start_target "$TARGETS/leaf"
	STATUS=0
	setpriv --bounding-set=-all,+kill --inh-caps=-all "$TOOL" -p "$T_PID" >"$D/run.out" 2>"$D/run.err" || STATUS=$?
	OUT=$(<"$D/run.out") ERR=$(<"$D/run.err")
	refused 1 'CAP_|root|capabilit'
}

# bats test_tags=quick
@test "-p with a number that no process has is refused with a line that names it" {
	# The largest number that the kernel gives is below this one.
	run_tool -p 4194304
	refused 1 '4194304'
}

@test "one process of several is missing: it is named, the others are traced" {
	start_target "$TARGETS/leaf"
	run_tool -f json -p "$T_PID,4194304" -i 100ms -n 1
	[[ $STATUS -eq 0 ]] || fail "status $STATUS: $ERR"
	grep -q 'no process 4194304' <<<"$ERR" || fail "it did not say so: $ERR"
	holds ".pid == $T_PID" "$OUT"
	end_target
}

@test "-p with the number of a kernel thread is refused, and says what it is" {
	[[ $(ps -o ppid= -p 2 2>/dev/null | tr -d ' ') == 0 && $(ps -o comm= -p 2) == kthreadd ]] || skip 'no kernel thread in sight'
	run_tool -p 2
	refused 1 '2.*kernel thread'
}

@test "-p with a thread's number is refused with a line that names the process" {
	start_target "$TARGETS/threads"
	tid=$(find "/proc/$T_PID/task" -maxdepth 1 -mindepth 1 -printf '%f\n' | grep -vx "$T_PID" | head -n 1)
	run_tool -p "$tid"
	refused 1 "$tid.*thread.*$T_PID"
}

@test "-p with the number of a zombie is refused with a line that names it" {
	"$BASH" -c 'sleep 0.1 & echo $!; exec sleep 1000' >"$D/out" 3>&- &
	PIDS+=("$!")
	exec {T_OUT}<"$D/out"
	IFS= read -r -t "$DEADLINE" -u "$T_OUT" zombie
	until_true "$DEADLINE" eval '[[ $(ps -o state= -p "$zombie") == Z* ]]' || fail 'no zombie'
	run_tool -p "$zombie"
	refused 1 "$zombie"
}

@test "a 32-bit program is refused, and goes on" {
	[[ -x $TARGETS/noalloc.m32 ]] || skip 'this machine has no 32-bit programs'
	"$TARGETS/noalloc.m32" </dev/null >/dev/null || skip 'this kernel runs no 32-bit programs'
	run_target "$TARGETS/noalloc.m32"
	target_line ready
	run_tool -p "$T_PID"
	refused 1 "$T_PID.*32-bit"
	alive "$T_PID" || fail 'the target is gone'
}

@test "-p with the tool's own number: the tool neither hangs nor dies" {
	STATUS=0
	# The shell's PID becomes the tool's.
	timeout "$DEADLINE" "$BASH" -c "exec '$TOOL' -n 1 -i 100ms -p \$\$" >"$D/run.out" 2>"$D/run.err" || STATUS=$?
	[[ $STATUS -le 1 ]] || fail "status $STATUS"
	grep -q '^memleakbpf: ' "$D/run.err" || fail 'no word'
}

# ---- Nothing stays -------------------------------------------------------------------------------------------------------------

killed() {
	local code

	own_libc
	start_target "$TARGETS/busy" 2
	code=$(code_sum "$T_PID")
	attach
	bpf_ids "$TOOL_PID" >"$D/ids"
	grep -q '^prog' "$D/ids" && grep -q '^map' "$D/ids" || fail 'the tool holds no BPF programs or maps'
	bpf_any_left <"$D/ids" || fail 'bpftool does not see the programs of a running tool'
	[[ $(code_sum "$T_PID") != "$code" ]] || fail 'the probes do not show in the memory of the target'
	snap
	kill -KILL "$TOOL_PID"
	wait "$TOOL_PID" 2>/dev/null || :
	until_true "$DEADLINE" eval '! bpf_any_left <"$D/ids"' || fail 'programs, links or maps are left'
	until_true "$DEADLINE" eval '[[ $(code_sum "$T_PID") == "$code" ]]' || fail 'probes are left in the target'
	tell stat
	before=$(field .blocks "$TRUTH")
	more() {
		tell stat
		[[ $(field .blocks "$TRUTH") -gt $((before + 1000)) ]]
	}
	until_true "$DEADLINE" more || fail 'the target stands still'
	end_target
}

@test "kill -9 of the tool under load: the target lives and nothing stays attached" {
	probe_modes # after a gate's end by kill -9 its jumps stay: gate_kill.bats
	each_mode killed
}

@test "kill -9 of the tool while it attaches" {
	own_libc
	start_target "$TARGETS/busy" 2
	code=$(code_sum "$T_PID")
	for delay in 0.02 0.05 0.1 0.15 0.2 0.3; do
		start_tool -p "$T_PID"
		# Not a wait for something: the point is to strike at different moments.
		sleep "$delay"
		bpf_ids "$TOOL_PID" >"$D/ids"
		kill -KILL "$TOOL_PID"
		wait "$TOOL_PID" 2>/dev/null || :
		until_true "$DEADLINE" eval '! bpf_any_left <"$D/ids"' || fail 'programs, links or maps are left'
		until_true "$DEADLINE" eval '[[ $(code_sum "$T_PID") == "$code" ]]' || fail 'probes are left in the target'
	done
	tell stat
	end_target
}

# killed_at_work COUNT: kill -9 at the moment when the tool has had that many children: each puts probes in or takes them out
# (user/kernel/unkillable.h). Fewer when it ends before.
killed_at_work() {
	local seen='' child state count=$1 since

	since=$(cut -d' ' -f1 /proc/uptime)
	# The list has no end of line, so that read is never content.
	while [[ $count -gt 0 ]] && read -r _ _ state _ <"/proc/$TOOL_PID/stat" && [[ $state != Z ]]; do
		child=''
		read -r child _ <"/proc/$TOOL_PID/task/$TOOL_PID/children" || :
		if [[ -n $child && $child != "$seen" ]]; then
			seen=$child
			count=$((count - 1))
		fi
	done 2>/dev/null
	kill -KILL "$TOOL_PID" 2>/dev/null || :
	wait "$TOOL_PID" 2>/dev/null || :
	[[ $count -gt 0 ]] || struck=$((struck + 1))
	# What another tool finds there it would take out.
	until_true "$DEADLINE" eval '[[ $(code_sum "$T_PID") == "$code" ]]' || fail "probes are left in the target ($1)"
	! dmesg 2>/dev/null | tr -d '[]' | awk -v since="$since" -v pids=":($TOOL_PID|$seen) " '$1 > since && $0 ~ pids && /leaking uprobe/' | grep . ||
		fail "the kernel has lost a probe ($1)"
}

between_calls() {
	local code n struck=0 tried=0

	[[ -e /proc/$BASHPID/task/$BASHPID/children ]] || skip 'the kernel does not list children'
	own_libc
	start_target "$TARGETS/busy" 2
	code=$(code_sum "$T_PID")
	# Trying what the kernel can do, attaching, and taking everything off again after one report. A busy shell does not see all of them, and then tries again.
	for n in 1 2 3 5 7 9 12 20 30 1 2 1 2 1 2 1 1 1 1 1; do
		[[ $tried -lt 9 || $struck -lt 2 ]] || break
		tried=$((tried + 1))
		start_tool -p "$T_PID" -i 10ms -n 1
		killed_at_work "$n"
		exec {J_OUT}<&-
	done
	printf '# struck %d of %d times in the midst of it\n' "$struck" "$tried" >&3
	[[ $struck -ge 2 ]] || fail 'too seldom to say anything'
	tell stat
	end_target
}

@test "kill -9 of the tool at the very moment when it puts probes in or takes them out: none stays" {
	probe_modes
	each_mode between_calls
}

# signalled COUNT: the tool is started, and sent a signal at any moment from before its first instruction to long after the attach.
signalled() {
	local signals=(KILL TERM HUP INT STOP) count=$1 i signal code

	own_libc
	start_target "$TARGETS/busy" 2
	code=$(code_sum "$T_PID")
	for ((i = 0; i < count; i++)); do
		signal=${signals[RANDOM % ${#signals[@]}]}
		# Bash starts what runs in the background with SIGINT ignored.
		env --default-signal=INT,HUP,TERM "$TOOL" -f json -p "$T_PID" -i 20ms >/dev/null 2>>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
		TOOL_PID=$!
		PIDS=("$T_PID" "$TOOL_PID")
		pause "0.$(printf '%03d' $((RANDOM % 500)))"
		# Until it is the tool, the process ignores what the shell does (SIGINT, as any job in the background).
		[[ $signal == KILL || $signal == STOP ]] || until_true "$DEADLINE" test "/proc/$TOOL_PID/exe" -ef "$TOOL" || fail 'it does not start'
		kill -"$signal" "$TOOL_PID"
		if [[ $signal == STOP ]]; then
			bpf_ids "$TOOL_PID" >>"$D/ids"
			pause "0.0$((RANDOM % 10))"
			kill -KILL "$TOOL_PID"
		fi
		until_true "$DEADLINE" eval '! alive "$TOOL_PID"' || fail "round $i: SIG$signal does not end it in $DEADLINE s"
		STATUS=0
		wait "$TOOL_PID" 2>/dev/null || STATUS=$?
		case $signal:$STATUS in
		# Before its handlers are in place a signal does what it does to any program.
		KILL:137 | STOP:137 | *:0 | TERM:143 | HUP:129 | INT:130) ;;
		*) fail "round $i: SIG$signal gave status $STATUS" ;;
		esac
		alive "$T_PID" || fail "round $i: SIG$signal to the tool ended the target"
	done
	PIDS=("$T_PID")
	until_true "$DEADLINE" eval '! bpf_any_left <"$D/ids"' || fail 'programs, links or maps are left'
	until_true "$DEADLINE" eval '[[ $(code_sum "$T_PID") == "$code" ]]' || fail 'probes are left in the target'
	# The target checks every block's contents itself.
	tell stat
	before=$(field .blocks "$TRUTH")
	until_true "$DEADLINE" eval 'tell stat; [[ $(field .blocks "$TRUTH") -gt $((before + 1000)) ]]' || fail 'the target stands still'
	end_target
	printf '# %d signals\n' "$count" >&3
}

@test "signals to the tool at random moments, under load (SIGNALS, 60)" {
	: >"$BATS_TEST_TMPDIR/ids"
	signalled "${SIGNALS:-60}"
}

@test "the tool stopped by SIGSTOP does not hold the target up, and counts on after SIGCONT" {
	start_target "$TARGETS/leaf"
	attach
	kill -STOP "$TOOL_PID"
	for _ in 1 2 3 4 5; do
		tell go
		tell free
	done
	kill -CONT "$TOOL_PID"
	snap
	same
}

@test "a stopped target can be traced and is left stopped" {
	start_target "$TARGETS/leaf"
	tell churn
	kill -STOP "$T_PID"
	until_true "$DEADLINE" eval '[[ $(ps -o state= -p "$T_PID") == T* ]]' || fail 'not stopped'
	attach
	snap
	holds '.stacks == []'
	stop_tool
	[[ $(ps -o state= -p "$T_PID") == T* ]] || fail 'the target was continued'
	kill -CONT "$T_PID"
	end_target
}

confined() {
	start_target "$TARGETS/sandbox"
	attach
	tell go
	snap
	same
	end_target
}

@test "a target under seccomp is not killed by its return probes" {
	each_mode confined
}

# worked_on: the target has had half a second of processor time since it had so many `ns`.
worked_on() {
	tell stat
	[[ $(field .ns "$TRUTH") -gt $((ns + 500000000)) ]]
}

throughput() { # of the busy target, in blocks per second of its CPU time
	local blocks ns

	tell stat
	blocks=$(field .blocks "$TRUTH") ns=$(field .ns "$TRUTH")
	until_true "$DEADLINE" worked_on || fail 'the target does not work'
	RATE=$((($(field .blocks "$TRUTH") - blocks) * 1000000000 / ($(field .ns "$TRUTH") - ns)))
}

cycles() {
	local code count=$1 i base best=0

	own_libc
	start_target "$TARGETS/busy" 1
	code=$(code_sum "$T_PID")
	base=0
	for i in 1 2 3; do
		throughput
		[[ $RATE -le $base ]] || base=$RATE
	done
	fds=$(find "/proc/$T_PID/fd" | wc -l)
	for ((i = 0; i < count; i++)); do
		start_tool -p "$T_PID"
		attached "$T_PID"
		[[ $((i % 10)) -ne 0 ]] || bpf_ids "$TOOL_PID" >>"$D/ids"
		stop_tool TERM
		exec {J_OUT}<&-
		SNAPS=()
		: >"$D/json.log"
	done
	until_true "$DEADLINE" eval '! bpf_any_left <"$D/ids"' || fail 'programs, links or maps are left'
	until_true "$DEADLINE" eval '[[ $(code_sum "$T_PID") == "$code" ]]' || fail 'probes are left in the target'
	[[ $(find "/proc/$T_PID/fd" | wc -l) -eq $fds ]] || fail 'descriptors in the target'
	# Other work on the machine, and other machines on the same one, take from it: the best counts, as soon as it is good.
	for ((i = 0; i < 30 && best * 100 < base * 80; i++)); do
		throughput
		[[ $RATE -le $best ]] || best=$RATE
	done
	printf '# %d cycles, %d blocks/s before, %d after\n' "$count" "$base" "$best" >&3
	[[ $((best * 100)) -ge $((base * 80)) ]] || fail "throughput: $base blocks/s before, $best after"
	end_target
}

# bats test_tags=alone
@test "start and stop again and again on a busy target (CYCLES, 20)" {
	cycles "${CYCLES:-20}"
}

@test "three tools on one target do not disturb each other" {
	start_target "$TARGETS/leaf"
	attach
	first=$TOOL_PID first_out=$J_OUT
	mv "$D/tool.err" "$D/first.err"
	rm "$D/json"
	mkfifo "$D/json"
	attach
	tell go
	snap
	same
	stop_tool
	TOOL_PID=$first J_OUT=$first_out SNAPS=()
	tell free
	snap
	same
	stop_tool
}

@test "output to a full device is an error" {
	start_target "$TARGETS/leaf"
	STATUS=0
	timeout "$DEADLINE" "$TOOL" -p "$T_PID" -i 100ms -n 2 >/dev/full 2>"$D/run.err" || STATUS=$?
	[[ $STATUS -eq 1 ]] || fail "status $STATUS"
	grep -q 'No space left on device' "$D/run.err" || fail "$(<"$D/run.err")"
	run_tool -p "$T_PID" -i 100ms -n 2 -o /dev/full
	[[ $STATUS -eq 1 ]] || fail "status $STATUS"
	grep -q '/dev/full.*No space left on device' <<<"$ERR" || fail "$ERR"
	end_target
}

@test "output to a pipe that is closed: the tool ends quietly" {
	start_target "$TARGETS/leaf"
	timeout "$DEADLINE" "$BASH" -c 'set -o pipefail; "$0" -f json -p "$1" -i 50ms 2>"$2" | head -n 1' "$TOOL" "$T_PID" "$D/run.err" \
		>"$D/run.out" 3>&- || STATUS=$?
	[[ ${STATUS:-0} -ne 124 ]] || fail 'the tool went on'
	[[ $(wc -l <"$D/run.out") -eq 1 ]] || fail 'no line'
	! grep -vE 'attached to|by frame pointers on this kernel' "$D/run.err" || fail 'noise on standard error'
	end_target
}

@test "standard output, error or input closed: nothing else takes their place" {
	start_target "$TARGETS/leaf"
	# The first file that is opened would have number 2, and the messages in it.
	"$TOOL" record -p "$T_PID" -i 50ms -n 2 -o "$D/recording" 2>&- 3>&- || fail "status $?"
	"$TOOL" report "$D/recording" -f json >"$D/run.out" || fail 'the recording cannot be read'
	[[ $(wc -l <"$D/run.out") -eq 2 ]] || fail "$(<"$D/run.out")"
	STATUS=0
	"$TOOL" -p "$T_PID" -i 50ms -n 1 >&- 2>"$D/run.err" 3>&- || STATUS=$?
	[[ $STATUS -eq 1 ]] || fail "status $STATUS"
	grep -q 'standard output: Bad file descriptor' "$D/run.err" || fail "$(<"$D/run.err")"
	"$TOOL" -p "$T_PID" -i 50ms -n 1 -o "$D/report" <&- >&- 2>&- 3>&- || fail "status $?"
	grep -q "PID $T_PID" "$D/report" || fail "$(<"$D/report")"
	# A command has what its caller had.
	"$TOOL" -o "$D/report" -- sh -c '! test -e /proc/self/fd/0 && ! test -e /proc/self/fd/1' <&- >&- 2>/dev/null 3>&- ||
		fail 'the command has been given some'
	end_target
}

# By the kernel's function, such as anon_pipe_write.
sleeps_in() {
	[[ $(<"/proc/$TOOL_PID/wchan") =~ $1 ]]
}

ended_by() {
	until_true "$DEADLINE" eval '! alive "$TOOL_PID"' || fail "SIG$1 does not end it"
	STATUS=0
	wait "$TOOL_PID" || STATUS=$?
	[[ $STATUS -eq $((128 + $(kill -l "$1"))) ]] || fail "status $STATUS"
}

@test "output to a FIFO that nobody opens, and to one that nobody reads: signals end the tool" {
	own_libc
	start_target "$TARGETS/leaf"
	code=$(code_sum "$T_PID")
	mkfifo "$D/fifo"
	"$TOOL" -p "$T_PID" -o "$D/fifo" 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	until_true "$DEADLINE" sleeps_in 'wait_for_partner|fifo_open' || fail 'it does not wait'
	kill -TERM "$TOOL_PID"
	ended_by TERM
	# Held open, and never read.
	exec {fifo}<>"$D/fifo"
	"$TOOL" -f json -p "$T_PID" -i 10ms >"$D/fifo" 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	until_true "$DEADLINE" sleeps_in pipe_write || fail 'the pipe does not fill'
	kill -HUP "$TOOL_PID"
	until_true "$DEADLINE" eval '[[ $(awk "/^ShdPnd/ { print \$2 }" "/proc/$TOOL_PID/status") =~ ^0+$ ]]' || fail 'not taken'
	until_true "$DEADLINE" sleeps_in pipe_write || fail 'what a slow reader is to have is cut off'
	kill -TERM "$TOOL_PID"
	ended_by TERM
	exec {fifo}>&-
	until_true "$DEADLINE" eval '[[ $(code_sum "$T_PID") == "$code" ]]' || fail 'probes are left in the target'
	end_target
}

@test "output to a slow reader: a signal ends the tool, and the reader gets the last snapshot whole" {
	start_target "$TARGETS/leaf"
	mkfifo "$D/fifo"
	exec {fifo}<>"$D/fifo"
	"$TOOL" -f json -p "$T_PID" -i 10ms >"$D/fifo" 2>"$D/tool.err" 3>&- {fifo}>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	until_true "$DEADLINE" sleeps_in pipe_write || fail 'the pipe does not fill'
	kill -TERM "$TOOL_PID"
	until_true "$DEADLINE" eval '[[ $(awk "/^ShdPnd/ { print \$2 }" "/proc/$TOOL_PID/status") =~ ^0+$ ]]' || fail 'not taken'
	cat <&"$fifo" >"$D/all" 3>&- &
	PIDS+=($!)
	STATUS=0
	wait "$TOOL_PID" || STATUS=$?
	[[ $STATUS -eq 0 ]] || fail "status $STATUS: $(<"$D/tool.err")"
	until_true "$DEADLINE" eval '[[ $(tail -n 1 "$D/all" | jq .final) == true ]]' || fail 'no last snapshot'
	end_target
}

@test "-o: a directory that does not exist, a file that cannot be written" {
	start_target "$TARGETS/leaf"
	run_tool -p "$T_PID" -n 1 -i 100ms -o /nonexistent/report
	refused 1 '/nonexistent/report.*No such file'
	run_tool -p "$T_PID" -n 1 -i 100ms -o "$D"
	refused 1 'Is a directory'
	end_target
}

@test "a target whose mappings hold a FIFO and a device does not hang the tool" {
	start_target "$TARGETS/leaf"
	# The executable's own path now leads to a FIFO: opened blocking, it would never return.
	clean
	fresh
	cp "$TARGETS/leaf" "$D/program"
	start_target "$D/program"
	rm "$D/program"
	mkfifo "$D/program"
	attach
	tell go
	snap
	same
}

@test "a tampered executable does not crash the tool" {
	cp "$TARGETS/leaf" "$D/program"
	start_target "$D/program"
	# The file that is mapped stays; what stands under its name is rubbish with an ELF header.
	rm "$D/program"
	head -c 4096 "$TARGETS/leaf" >"$D/program"
	head -c 100000 /dev/urandom >>"$D/program"
	attach
	tell go
	snap
	same
}

@test "the terminal goes away: the tool ends, and takes its probes with it" {
	own_libc
	start_target "$TARGETS/busy" 1
	code=$(code_sum "$T_PID")
	python3 - "$TOOL" -p "$T_PID" -i 50ms >"$D/pty" 2>&1 3>&- <<-'PY'
		import os, pty, sys
		pid, terminal = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], sys.argv[1:])
		seen = b""
		while b"since attach" not in seen:
		    seen += os.read(terminal, 4096)
		os.close(terminal)
		_, status = os.waitpid(pid, 0)
		print(os.waitstatus_to_exitcode(status))
	PY
	# Its own exit, or SIGHUP's.
	grep -qxE '0|1|-1' "$D/pty" || fail "$(<"$D/pty")"
	until_true "$DEADLINE" eval '[[ $(code_sum "$T_PID") == "$code" ]]' || fail 'probes are left in the target'
	end_target
}

@test "the time of day jumps by hours while the tool runs: intervals, ages and counts do not" {
	start_target "$TARGETS/leaf"
	: >"$D/tool.err" # now, so that nobody reads what an earlier one said
	LD_PRELOAD=$TARGETS/clock_jump.so "$TOOL" -f json -p "$T_PID" -i 500ms >"$D/run.out" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	attached "$T_PID"
	tell go
	five() {
		[[ $(wc -l <"$D/run.out") -ge 5 ]]
	}
	until_true "$DEADLINE" five || fail "not five reports: $(jq -c .elapsed_ms "$D/run.out")"
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID" || fail "the tool ended with status $?"
	[[ $(jq -s 'map(.time) | . != sort' "$D/run.out") == true ]] || fail 'the clock did not jump'
	# An hour is the least of the jumps.
	[[ $(jq -s 'map(.elapsed_ms) | . == sort and .[4] >= 2400 and .[-1] < 1800000' "$D/run.out") == true ]] || fail "$(jq -c .elapsed_ms "$D/run.out")"
	[[ $(jq -s 'all(.[]; all(.stacks[]; (.oldest_ms // 0) < 1800000))' "$D/run.out") == true ]] || fail 'ages'
	SNAP=$(tail -n 1 "$D/run.out")
	same
	end_target
}

# bats test_tags=alone
@test "a process id that is given to another program: that one is not traced, and not mixed up with the old one" {
	[[ -w /proc/sys/kernel/ns_last_pid ]] || skip 'process ids cannot be chosen here'
	start_target "$TARGETS/leaf"
	first=$T_PID first_in=$T_IN
	mkfifo "$D/in2" "$D/out2"
	"$TARGETS/leaf" <"$D/in2" >"$D/out2" 3>&- &
	second=$!
	PIDS+=("$second")
	exec {T_IN2}>"$D/in2" {T_OUT2}<"$D/out2"
	IFS= read -r -t "$DEADLINE" -u "$T_OUT2" _
	start_tool -p "$first,$second"
	attached "$first"
	attached "$second"
	tell go
	kill -KILL "$first"
	wait "$first" 2>/dev/null || :
	await_final "$first"
	same
	mkfifo "$D/in3"
	exec {T_IN3}<>"$D/in3"
	for ((i = 0; i < 500; i++)); do
		# Others fork, too: once more then.
		printf '%d' $((first - 1)) >/proc/sys/kernel/ns_last_pid
		"$TARGETS/busy" 1 <"$D/in3" >/dev/null 3>&- &
		if [[ $! -eq $first ]]; then
			break
		fi
		kill -KILL $! && wait $! 2>/dev/null || :
	done
	[[ $! -eq $first ]] || skip 'others were faster each time'
	PIDS+=("$first")
	# Three snapshots of the other target, while the newcomer allocates: none may be about it.
	seen=${#SNAPS[@]}
	for _ in 1 2 3; do
		snap "$second"
		pause 0.1
	done
	for line in "${SNAPS[@]:seen}"; do
		[[ $(field .pid "$line") -ne $first ]] || fail 'the newcomer is taken for the old target'
	done
	stop_tool
}

# bpftrace says so when its probes are in place.
start_bpftrace() {
	: >"$D/bpftrace" # now, so that nobody reads what an earlier one said
	bpftrace -e "uprobe:$LIBDIR/libc.so.6:malloc /pid == $T_PID/ { @in = count(); }
		uretprobe:$LIBDIR/libc.so.6:malloc /pid == $T_PID/ { @out = count(); }
		uprobe:$LIBDIR/libc.so.6:free /pid == $T_PID/ { @free = count(); }
		BEGIN { printf(\"ready\\n\"); }" >"$D/bpftrace" 2>&1 3>&- {T_IN}>&- {T_OUT}<&- &
	BPFTRACE=$!
	PIDS+=("$BPFTRACE")
	until_true "$DEADLINE" grep -q ready "$D/bpftrace" || fail "bpftrace: $(<"$D/bpftrace")"
}

# SIGINT ends bpftrace 0.17 only where it interrupts its wait for events: one that comes between two waits is lost. So it is asked anew, but
# not while it prints, when another one would kill it.
stop_bpftrace() {
	local tries

	ended() {
		[[ $(ps -o stat= -p "$BPFTRACE") != [!Z]* ]]
	}
	for ((tries = 0; tries < 20; tries++)); do
		kill -INT "$BPFTRACE"
		until_true 15 ended && break
	done
	ended || fail 'bpftrace does not end'
	wait "$BPFTRACE" || :
}

beside_bpftrace() {
	# Before, and in between.
	start_target "$TARGETS/leaf"
	start_bpftrace
	attach
	tell go
	snap
	same
	stop_bpftrace
	grep -qE '@in: [1-9][0-9]{3}' "$D/bpftrace" || fail "bpftrace saw nothing: $(<"$D/bpftrace")"
	tell free
	snap
	same
	start_bpftrace
	tell go
	snap
	same
	kill -KILL "$BPFTRACE"
	tell free
	snap
	same
	end_target
}

# bats test_tags=alone
@test "another user of uprobes on the same functions (bpftrace) comes and goes: both count right" {
	each_mode beside_bpftrace
}

# start_return_probes FUNCTION…: somebody's return probes, in the target's executable.
start_return_probes() {
	local function program='BEGIN { printf("ready\n"); }'

	for function; do
		program+=" uretprobe:$TARGETS/leaf:$function /pid == $T_PID/ { @$function = count(); }"
	done
	bpftrace -e "$program" >"$D/bpftrace" 2>&1 3>&- {T_IN}>&- {T_OUT}<&- &
	BPFTRACE=$!
	PIDS+=("$BPFTRACE")
	until_true "$DEADLINE" grep -q ready "$D/bpftrace" || fail "bpftrace: $(<"$D/bpftrace")"
}

# The stacks pass functions whose return address is the kernel's trampoline: one, and two of which one has called the other.
beside_return_probes() {
	local above='.stacks[] | select(.frames[1].function == "leak_16")' ids

	start_target "$TARGETS/leaf"
	attach "$@"
	tell go
	snap
	same
	ids=$(jq -c "[$above | .id]" <<<"$SNAP")
	start_return_probes leak_16 middle main
	tell go
	snap
	same
	holds "[$above | .frames | map(.function)[0:4]] == [[\"malloc\", \"leak_16\", \"middle\", \"outer\"]]"
	holds "$above | (.frames | map(.function) | index(\"main\") != null) and (.truncated | not)"
	# The very stack that it was without the probes.
	holds "[$above | .id] == $ids"
	stop_bpftrace
	grep -q '@middle: [1-9]' "$D/bpftrace" || fail "bpftrace saw nothing: $(<"$D/bpftrace")"
	end_target
}

@test "return probes of others (bpftrace) on functions up the stack: stacks are what they are without them" {
	each_mode beside_return_probes
	each_mode beside_return_probes --stack fp
}

unloaded() {
	start_target "$TARGETS/dl"
	attach
	tell 'open plugin_provider'
	seen() {
		tell 'go plugin_provider'
		snap
		jq -e '[.stacks[] | select(any(.frames[]; .function == "late_leak"))] != []' <<<"$SNAP" >/dev/null
	}
	until_true "$DEADLINE" seen || fail 'the late provider is not traced'
	for _ in 1 2 3; do
		tell 'close plugin_provider'
		tell 'open plugin_provider'
		tell 'go plugin_provider'
		snap
	done
	tell 'close plugin_provider'
	snap
	end_target
	tool_ends
	[[ $TOOL_STATUS -eq 0 ]] || fail "the tool ended with status $TOOL_STATUS"
}

@test "the library that carries the probes is unloaded and loaded again" {
	each_mode unloaded
}
