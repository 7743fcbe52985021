#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Fork, exec, exit, dlopen, and commands that the tool starts itself.
# bats file_tags=beside

load lib.bash

# child_truth: the child's own line.
child_truth() {
	truth child
	CHILD=$(field .pid "$TRUTH")
}

end_child() {
	kill -TERM "$1"
}

fork_after() {
	start_target "$TARGETS/family"
	attach
	tell go
	parent=$TRUTH
	family_forks
	# The child freed its copy of a block of the parent's; the parent's own is still there.
	holds '.unknown_frees == 1'
	snap "$T_PID"
	TRUTH=$parent
	same
	holds '.unknown_frees == 0'
	end_child "$CHILD"
	await_final "$CHILD"
	holds '.live == {"bytes": 700, "count": 7}'
	end_target
	tool_ends
	final
	same
}

# bats test_tags=quick
@test "a child forked after attach is a target of its own" {
	each_way fork_after
}

fork_at_once() {
	start_target "$TARGETS/family"
	attach --children exact
	tell fork
	child_truth
	snap "$CHILD"
	same
	end_child "$CHILD"
}

@test "--children exact: a child is counted from its first allocation" {
	each_way fork_at_once
}

fork_before() {
	start_target "$TARGETS/family" fork-first
	truth fork-first
	child=$(field .child "$TRUTH")
	attach
	attached "$child"
	kill -USR2 "$child"
	child_truth
	snap "$child"
	same
	end_child "$child"
	await_final "$child"
	tell go
	snap
	same
}

@test "a child forked before attach is followed too" {
	each_way fork_before
}

@test "--no-follow: children are left alone" {
	start_target "$TARGETS/family" fork-first
	attach --no-follow
	tell go
	parent=$TRUTH
	tell fork
	child_truth
	snap "$T_PID"
	TRUTH=$parent
	same
	stop_tool
	[[ $(printf '%s\n' "${SNAPS[@]}" | jq -r .pid | sort -u) == "$T_PID" ]] || fail 'other targets'
	[[ $(grep -c 'attached to' "$D/tool.err") -eq 1 ]] || fail 'attached to others'
}

# A new program is held for some time at most: a machine that was busy for longer has its first calls missed, which is said.
came_late() {
	[[ $(field .lost.late_probes "$SNAP") -gt 0 ]]
}

exec_clean() {
	local tries

	for tries in 1 2 3; do
		exec_seen
		if [[ $tries -eq 3 ]] || ! came_late; then
			break
		fi
		clean
		fresh
	done
	# What was told to allocate did so when the tool was there: the books are exact, late or not.
	! overloaded || SNAP=$(jq -c '.lost.late_probes = 0' <<<"$SNAP")
	same freed
	holds '.final | not'
	holds '.cmdline == ["family-again", "--again"]'
	end_target
	tool_ends
	[[ $(printf '%s\n' "${SNAPS[@]}" | jq -r 'select(.final) | .pid' | wc -l) -eq 2 ]] || fail 'not two final snapshots'
}

exec_seen() {
	start_target "$TARGETS/family"
	attach
	tell go
	before=$TRUTH
	snap
	same
	printf 'exec\n' >&"$T_IN"
	target_line 'ready '
	await_final
	TRUTH=$before
	same
	holds '.comm == "family"'
	tool_says "^memleakbpf: attached to $T_PID \\(family-again|^memleakbpf: attached to $T_PID \\(exe"
	tell again
	snap
}

# bats test_tags=quick
@test "exec: the old program gets its last snapshot, the new one starts clean" {
	each_way exec_clean
}

exec_meanwhile() {
	mkfifo "$D/go"
	run_target "$BASH" -c "echo ready; read -r _ <'$D/go'; exec '$TARGETS/dl'"
	target_line ready
	LD_PRELOAD=$TARGETS/exec_meanwhile.so MEANWHILE_AT=$1 MEANWHILE_PID=$T_PID MEANWHILE_GO=$D/go attach
	target_line 'ready '
	# What is loaded from now on is noticed, and all is named by the new program.
	seen() {
		tell 'go plugin_provider'
		snap
		jq -e '.comm == "dl" and any(.stacks[].frames[]; .function == "late_leak")' <<<"$SNAP" >/dev/null
	}
	tell 'open plugin_provider'
	until_true "$DEADLINE" seen || fail "$SNAP"
	holds 'all(.stacks[].frames[]; .module != "bash")'
	end_target
	tool_ends
	[[ $(grep -c 'attached to' "$D/tool.err") -eq 1 ]] || fail "$(<"$D/tool.err")"
}

@test "a process that execs while the tool attaches is traced as its new program" {
	[[ ${SANITIZE-} != 1 ]] || skip 'AddressSanitizer must be loaded first'
	"$TOOL" doctor | grep -q 'ok *uprobe sessions\|ok *filtered by process' || skip 'this kernel has single uprobes only'
	for moment in begin attach; do
		clean
		fresh
		exec_meanwhile "$moment"
	done
}

@test "exec into a program with another allocator" {
	[[ -x $TARGETS/leaf.musl-static ]] || skip 'no musl-gcc'
	start_target "$BASH" -c "read -r _ < <(echo); echo ready \$\$; read -r _; exec '$TARGETS/leaf.musl-static'"
	attach
	printf 'go on\n' >&"$T_IN"
	target_line 'ready '
	until_true "$DEADLINE" eval '[[ $(grep -c "attached to $T_PID " "$D/tool.err") -ge 2 ]]' ||
		fail 'not attached to the new program'
	tell go
	snap
	# It is static, and runs before anyone could know its allocator.
	holds '.lost.late_probes == 1'
	SNAP=$(jq -c '.lost.late_probes = 0' <<<"$SNAP")
	same
}

vfork_parent() {
	start_target "$TARGETS/family"
	attach
	tell go
	for _ in 1 2 3; do
		tell vfork
	done
	# The programs that they become may have ended before they could be attached to.
	unmissed() {
		snap
		holds '.lost.short_children <= 3'
		SNAP=$(jq -c '.lost.short_children = 0' <<<"$SNAP")
		same
	}
	unmissed
	tell go
	unmissed
}

@test "vfork: the parent's counts are not disturbed" {
	each_mode vfork_parent
}

spawn_wait() {
	start_target "$TARGETS/family"
	attach
	tell go
	tell spawn-wait
	child=$(field .child "$TRUTH")
	truth spawned
	until_true "$DEADLINE" grep -Eq "attached to $child \\((family|exe)" "$D/tool.err" || fail 'the child is not attached'
	kill -USR2 "$child"
	child_truth
	snap "$child"
	same freed
	end_child "$child"
	await_final "$child"
}

@test "posix_spawn: the child's program is a target" {
	each_way spawn_wait
}

@test "--children exact: a spawned program is counted from its first allocation" {
	start_target "$TARGETS/family"
	attach --children exact
	tell spawn
	child_truth
	snap "$CHILD"
	same freed
	end_child "$CHILD"
}

run_short() {
	local status=0

	timeout "$DEADLINE" "$TOOL" -f json -o "$D/out.json" ${MODE:+--attach "$MODE"} -T 1000 --sort alloc -- "$TARGETS/$1" >"$D/run.out" \
		2>"$D/tool.err" 3>&- || status=$?
	[[ $status -eq 0 ]] || fail "status $status"
	TRUTH=$(<"$D/run.out")
	SNAP=$(jq -c 'select(.final)' "$D/out.json")
	cp "$D/out.json" "$D/json.log"
	same freed
	holds '.comm == "short"'
}

@test "a command that leaks and is gone at once: all of it is in the last snapshot, with names" {
	each_way run_short short
	for _ in 1 2 3 4 5; do
		run_short short
	done
}

@test "a static command, traced from its first instruction" {
	timeout "$DEADLINE" "$TOOL" -f json --sort alloc -o "$D/out.json" -- "$TARGETS/leaf.static" < <(echo go; echo quit) >"$D/run.out" \
		2>"$D/tool.err" 3>&- || fail 'failed'
	TRUTH=$(grep '"phase":"quit"' "$D/run.out")
	SNAP=$(jq -c 'select(.final)' "$D/out.json")
	same any
}

# whole COUNT COMMAND [ARG…]: of the COUNT programs `short` that it runs, each is there with all that it allocated, or is said to have an allocator whose probes
# came late. $LATE: how many are said to.
whole() {
	local count=$1

	shift
	timeout "$DEADLINE" "$TOOL" -f json -T 1000 -o "$D/out.json" -- "$@" >"$D/run.out" 2>"$D/tool.err" 3>&- || fail 'failed'
	[[ $(grep -c '"phase":"exit"' "$D/run.out") -eq $count ]] || fail 'the programs did not run'
	jq -c 'def of(f): [.stacks[] | select(any(.frames[]; .function == f)) | .live] | [(map(.bytes) | add) // 0, (map(.count) | add) // 0];
		select(.final and (.execed | not) and (.comm | startswith("short"))) | [of("leak_short"), of("leak_shorter"), .lost.late_probes]' \
		"$D/out.json" >"$D/seen"
	[[ $(wc -l <"$D/seen") -eq $count ]] || fail "of $count programs these were seen: $(<"$D/seen")"
	jq -es 'all(.[0:2] == [[3690, 30], [2000, 1]] or .[2] > 0)' "$D/seen" >/dev/null || fail "missing, and nothing is said: $(<"$D/seen")"
	LATE=$(jq -s 'map(select(.[2] > 0)) | length' "$D/seen")
}

@test "a command's allocator that only it knows of (env LD_PRELOAD=…, a shell's exec): from the first call on, or it is said" {
	tried=0 late=0
	for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
		[[ -e $LIBDIR/$library ]] || continue
		whole 1 env "LD_PRELOAD=$LIBDIR/$library" "$TARGETS/short"
		late=$((late + LATE))
		whole 2 "$BASH" -c "LD_PRELOAD=$LIBDIR/$library '$TARGETS/short'; LD_PRELOAD=$LIBDIR/$library exec '$TARGETS/short'"
		late=$((late + LATE)) tried=$((tried + 3))
	done
	[[ $tried -gt 0 ]] || skip 'no jemalloc, tcmalloc or mimalloc'
	printf '# %d of %d had their probes late\n' "$late" "$tried" >&3
}

@test "static programs that a command runs: a line tells the losses before the first one had its probes" {
	whole 3 "$BASH" -c "for i in 1 2 3; do '$TARGETS/short.static'; done"
	printf '# %d of 3 had their probes late\n' "$LATE" >&3
}

at_exit() {
	start_target "$TARGETS/leaf"
	attach
	tell go
	end_target
	tool_ends
	[[ $TOOL_STATUS -eq 0 ]] || fail "status $TOOL_STATUS"
	final
	same
	holds '[.stacks[].frames[].function // empty] | index("main") != null'
}

# bats test_tags=quick
@test "the target's exit: a last snapshot with names" {
	each_way at_exit
}

@test "the target is killed by -9: a last snapshot with names" {
	start_target "$TARGETS/leaf"
	attach
	tell go
	kill -KILL "$T_PID"
	tool_ends
	[[ $TOOL_STATUS -eq 0 ]] || fail "status $TOOL_STATUS"
	final
	same
}

plugins() { # OPTION…
	start_target "$TARGETS/dl"
	attach "$@"
	tell 'open plugin_a'
	tell 'go plugin_a'
	tell 'close plugin_a'
	snap
	same any
	tell 'open plugin_b'
	tell 'go plugin_b'
	tell 'close plugin_b'
	snap
	same any
	holds '[.stacks[] | select(.frames[1].function == "plugin_a_leak") | .frames[1].module] == ["plugin_a.so"]'
	holds '[.stacks[] | select(.frames[1].function == "plugin_b_leak") | .frames[1].module] == ["plugin_b.so"]'
	end_target
	tool_ends
	final
	same any
}

@test "dlopen of a plugin that leaks, dlclose, another one at its place: names stay right" {
	each_way plugins
}

@test "dlopen, dlclose, another plugin at its place, with stacks by frame pointers" {
	plugins --stack fp
}

gone_plugins() { # OPTION…
	start_target "$TARGETS/dl"
	attach "$@"
	for _ in 1 2 3; do
		for plugin in plugin_a plugin_b; do
			tell "open $plugin"
			tell "go $plugin"
			tell "close $plugin"
		done
	done
	end_target
	tool_ends
	final
	same any
}

@test "a plugin that is gone before anyone asks for names" {
	gone_plugins
}

@test "a plugin that is gone before anyone asks for names, with stacks by frame pointers" {
	gone_plugins --stack fp
}

@test "many short-lived children: none is missed by --children exact, and the tool keeps nothing of them" {
	start_target "$TARGETS/family"
	attach --children exact -T 3
	snap
	fds=$(find "/proc/$TOOL_PID/fd" | wc -l)
	children=()
	for _ in {1..100}; do
		tell fork
		child_truth
		children+=("$CHILD")
		end_child "$CHILD"
		# A tool whose output nobody reads cannot see to the next child.
		await_final "$CHILD"
	done
	snap
	# What ended targets held is given back by the dozen.
	[[ $(find "/proc/$TOOL_PID/fd" | wc -l) -le $((fds + 75)) ]] || fail 'the tool has more files open'
	stop_tool
	right=$(printf '%s\n' "${SNAPS[@]}" | jq -c 'select(.final and .live == {"bytes": 700, "count": 7} and .unknown_frees == 0) | .pid')
	[[ $(sort <<<"$right") == $(printf '%s\n' "${children[@]}" | sort) ]] || fail "final snapshots that are right: $right"
}

# What has ended is cleared by the dozen, in the midst of what the others do. Of use above all with sanitizers.
@test "hundreds of programs, one after the other, under a process that is traced" {
	run_target "$BASH" -c 'echo ready; read -r _; for _ in {1..300}; do /bin/true; done; echo started; read -r _'
	target_line ready
	attach
	printf 'go\n' >&"$T_IN"
	target_line started
	snap
	exec {T_IN}>&-
	tool_ends
	[[ $TOOL_STATUS -eq 0 ]] || fail "the tool ended with status $TOOL_STATUS: $(<"$D/tool.err")"
	final
}

# Four processes fork at once. Where the kernel preempts the program that watches forks, another fork on that processor is kept from it.
@test "a storm of forks: every child is counted to the byte, or its loss is told" {
	start_target "$TARGETS/many"
	# To a file: reading 200 snapshots one by one takes its time.
	"$TOOL" -f json -i 1h -T 3 --children exact -p "$T_PID" -o "$D/json.log" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	attached "$T_PID"
	tell 'storm 50'
	holds '.children == 200' "$TRUTH"
	kill -USR1 "$TOOL_PID"
	until_true "$DEADLINE" grep -q "\"pid\":$T_PID," "$D/json.log" || fail 'no snapshot'
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID" || fail "the tool ended with status $?"
	right=$(jq -s '[.[] | select(.final and .live == {"bytes": 48, "count": 1}) | .pid] | unique | length' "$D/json.log")
	lost=$(jq -s '[.[].lost | .process_events + .recursion_misses + .target_table_full] | max' "$D/json.log")
	printf '# %d of 200 children seen, %d events lost\n' "$right" "$lost" >&3
	[[ $right -eq 200 || $lost -gt 0 ]] || fail "$((200 - right)) children are missing, and nothing is said"
}

@test "a target in a PID namespace of its own is traced" {
	start_target unshare -pf --kill-child "$TARGETS/leaf"
	# It says "ready 1", which is its number in there.
	T_PID=$(ps -o pid= --ppid "${PIDS[0]}" | tr -d ' ')
	attach
	tell go
	snap
	same
	holds '.comm == "leaf"'
}

@test "the tool in a PID namespace: it finds the target by the number it has there, or says that it cannot" {
	STATUS=0
	# shellcheck disable=SC2016
	timeout -k 5 "$DEADLINE" unshare -pf --kill-child --mount-proc "$BASH" -c '
		"$2" <"$1/in" >"$1/out" 2>/dev/null &
		exec 4>"$1/in" 5<"$1/out"
		read -r _ pid <&5
		"$0" -f json -p "$pid" -i 1h >"$1/report" 2>"$1/tool.err" &
		tool=$!
		until grep -q "attached to" "$1/tool.err"; do
			kill -0 "$tool" 2>/dev/null || { wait "$tool"; exit; }
			sleep 0.05
		done
		echo go >&4
		read -r truth <&5
		echo "$truth" >"$1/truth"
		kill -TERM "$tool"
		wait "$tool"' "$TOOL" "$D" "$TARGETS/leaf" 3>&- || STATUS=$?
	if [[ $STATUS -eq 0 ]]; then
		TRUTH=$(<"$D/truth") SNAP=$(jq -c 'select(.final)' "$D/report")
		same any
	else
		[[ $STATUS -eq 1 ]] || fail "status $STATUS: $(<"$D/tool.err")"
		grep -q 'namespace' "$D/tool.err" || fail "it does not say why: $(<"$D/tool.err")"
	fi
}

# ---- memleakbpf -- COMMAND -------------------------------------------------------------------------------------------------

# bats test_tags=quick
@test "run: the command's exit status is passed on" {
	run_tool -o "$D/report" -- "$TARGETS/short" 7
	[[ $STATUS -eq 7 ]] || fail "status $STATUS"
	[[ -s $D/report ]] || fail 'no report'
	run_tool -o "$D/report" -- /bin/true
	[[ $STATUS -eq 0 ]] || fail "status $STATUS: $ERR"
}

@test "run: a command killed by a signal gives 128 + its number" {
	run_tool -o "$D/report" -- "$TARGETS/short" -15
	[[ $STATUS -eq 143 ]] || fail "status $STATUS"
	run_tool -o "$D/report" -- "$TARGETS/short" -9
	[[ $STATUS -eq 137 ]] || fail "status $STATUS"
}

# ended_as CAUSE TEXT COMMAND…: what JSON and the text say of its end; in a recording, too.
ended_as() {
	local cause=$1 text=$2

	run_tool -f json -- "${@:3}"
	[[ $(tail -n 1 <<<"$OUT" | jq -c .end) == "$cause" ]] || fail "$OUT"
	run_tool -- "${@:3}"
	grep -q "FINAL: target $text ===" <<<"$OUT" || fail "$OUT"
	run_tool record -o "$D/ended.mlb" -- "${@:3}"
	run_tool report "$D/ended.mlb"
	grep -q "FINAL: target $text ===" <<<"$OUT" || fail "$OUT"
}

@test "how a process has ended: its status or its signal" {
	ulimit -c 0
	ended_as '{"cause":"exit","status":0}' exited true
	ended_as '{"cause":"exit","status":3}' 'exited with status 3' bash -c 'exit 3'
	ended_as '{"cause":"signal","signal":15,"sent_itself":true}' 'was killed by SIGTERM that it sent itself' bash -c 'kill -TERM $$'
	ended_as '{"cause":"signal","signal":9,"sent_itself":true}' 'was killed by SIGKILL that it sent itself' bash -c 'kill -KILL $$'
	# With a verdict the last snapshot is from before its end.
	run_tool --verdict -f json -- bash -c 'exit 7'
	[[ $(tail -n 1 <<<"$OUT" | jq -c .end) == '{"cause":"exit","status":7}' ]] || fail "$OUT"
}

# signalled SIGNAL HOW PROGRAM…: a process that another one, whose name is "sender", sends the signal.
signalled() {
	local signal=$1 cause=$2 text=$3 sender report

	mkfifo "$D/signalled"
	"${@:4}" <>"$D/signalled" >"$D/signalled.out" 3>&- &
	PIDS+=("$!")
	T_PID=$!
	until_true "$DEADLINE" grep -q ready "$D/signalled.out" || fail 'it does not begin'
	"$TOOL" record -o "$D/signalled.mlb" -p "$T_PID" 2>"$D/signalled.err" 3>&- &
	report=$!
	PIDS+=("$report")
	until_true "$DEADLINE" grep -q 'attached to' "$D/signalled.err" || fail "$(<"$D/signalled.err")"
	# One that it ignores comes before.
	kill -CHLD "$T_PID"
	sender=$("$D/sender" -c 'echo $$; kill -"$0" "$1"' "$signal" "$T_PID")
	wait "$report" || fail "status $?"
	rm "$D/signalled"
	run_tool report -f json "$D/signalled.mlb"
	[[ $(tail -n 1 <<<"$OUT" | jq -c .end) == "${cause//SENDER/$sender}" ]] || fail "$(tail -n 1 <<<"$OUT" | jq -c .end), not ${cause//SENDER/$sender}"
	run_tool report "$D/signalled.mlb"
	grep -q "FINAL: target ${text//SENDER/$sender} ===" <<<"$OUT" || fail "$(head -n 1 <<<"$OUT")"
	run_tool report -f html "$D/signalled.mlb"
	grep -q "${text//SENDER/$sender}" <<<"$OUT" || fail 'the page does not say so'
}

@test "who has sent the signal that ended a process, in recordings and their page as well" {
	ulimit -c 0
	cp "$BASH" "$D/sender"
	cat >"$D/asleep.py" <<-'END'
		import os, signal, sys
		def once(number, frame):
		    signal.signal(number, signal.SIG_DFL)
		    os.kill(os.getpid(), number)
		if len(sys.argv) > 1:
		    signal.signal(signal.SIGTERM, once)
		print("ready", flush=True)
		while True:
		    signal.pause()
	END
	signalled 15 '{"cause":"signal","signal":15,"sender_pid":SENDER,"sender_comm":"sender"}' \
		'was killed by SIGTERM that process SENDER (sender) sent' python3 "$D/asleep.py"
	signalled 9 '{"cause":"signal","signal":9,"sender_pid":SENDER,"sender_comm":"sender"}' \
		'was killed by SIGKILL that process SENDER (sender) sent' python3 "$D/asleep.py"
	signalled 15 '{"cause":"signal","signal":15,"sender_pid":SENDER,"sender_comm":"sender","sent_itself":true}' \
		'was killed by SIGTERM that it sent itself after process SENDER (sender) had' python3 "$D/asleep.py" again
	# What the kernel sends nobody has sent.
	ended_as '{"cause":"signal","signal":11}' 'was killed by SIGSEGV' "$BASH" -c 'exec python3 -c "import ctypes; ctypes.string_at(0)"'
}

@test "a process that the OOM killer has ended: a line says so, and by whose limit where the kernel tells" {
	memory_cgroup || skip 'no memory control group can be made here'
	cat >"$D/hungry.py" <<-'END'
		import sys
		sys.stdin.readline()
		kept = []
		while True:
		    kept.append(bytearray(1 << 20))
	END
	# Without swap there is an end to it.
	echo 48M >"$LIMIT"
	[[ ! -w $CGROUP/memory.swap.max ]] || echo 0 >"$CGROUP/memory.swap.max"
	[[ ! -w $CGROUP/memory.memsw.limit_in_bytes ]] || echo 48M >"$CGROUP/memory.memsw.limit_in_bytes"
	mkfifo "$D/go"
	python3 "$D/hungry.py" <>"$D/go" 3>&- &
	hungry=$!
	PIDS+=("$hungry")
	echo "$hungry" >"$CGROUP/cgroup.procs"
	"$TOOL" -f json -p "$hungry" >"$D/hungry.json" 2>"$D/hungry.err" 3>&- &
	json=$!
	"$TOOL" -p "$hungry" >"$D/hungry.text" 2>"$D/text.err" 3>&- &
	PIDS+=("$json" "$!")
	for said in hungry text; do
		until_true "$DEADLINE" grep -q 'attached to' "$D/$said.err" || fail "$(<"$D/$said.err")"
	done
	echo >"$D/go"
	wait "$json" "$!" || fail "status $?"
	until_true "$DEADLINE" rmdir "$CGROUP" || fail 'something goes on in the control group'
	line=$(tail -n 1 "$D/hungry.json")
	if [[ $LIMIT == *memory.max ]]; then
		jq -e --arg group "/${CGROUP##*/}" '.end.cause == "memory_limit" and .end.signal == 9 and .end.cgroup == $group and .end.limit_bytes == 48 * 1048576' \
			<<<"$line" >/dev/null || fail "$line"
		grep -q "FINAL: target was killed by the OOM killer: the limit of 48.0 MiB of /${CGROUP##*/} was reached ===" "$D/hungry.text" || fail "$(<"$D/hungry.text")"
	else
		# Some kernels do not even count that a limit was reached.
		jq -e --arg group "/${CGROUP##*/}" '.end | .cause == "out_of_memory" and .signal == 9 and (.cgroup == null or .cgroup == $group)' \
			<<<"$line" >/dev/null || fail "$line"
		grep -Eq "FINAL: target was killed by the OOM killer(; the limit of 48.0 MiB of /${CGROUP##*/} was reached)?; whose memory was used up is not known ===" "$D/hungry.text" ||
			fail "$(<"$D/hungry.text")"
	fi
}

@test "run: the command's standard input and output are its own" {
	STATUS=0
	printf 'one\ntwo\n' | timeout "$DEADLINE" "$TOOL" -o "$D/report" -- sort -r >"$D/run.out" 2>"$D/run.err" || STATUS=$?
	[[ $STATUS -eq 0 ]] || fail "status $STATUS: $(<"$D/run.err")"
	[[ $(<"$D/run.out") == $'two\none' ]] || fail 'the output changed'
}

@test "run: arguments with spaces and empty ones arrive as they are; so does the environment" {
	STATUS=0
	SOME_VARIABLE='a b' timeout "$DEADLINE" "$TOOL" -o "$D/report" -- \
		/bin/sh -c 'printf "<%s>" "$@" "$SOME_VARIABLE" "$PWD"' sh 'one two' '' '*' >"$D/run.out" 2>"$D/run.err" || STATUS=$?
	[[ $STATUS -eq 0 ]] || fail "status $STATUS: $(<"$D/run.err")"
	[[ $(<"$D/run.out") == "<one two><><*><a b><$PWD>" ]] || fail "$(<"$D/run.out")"
}

@test "run: the command inherits nothing of the tool's (signal mask, descriptors)" {
	timeout "$DEADLINE" "$TOOL" -o "$D/report" -- /bin/sh -c 'ls -l /proc/self/fd; grep Sig /proc/self/status' \
		>"$D/run.out" 2>"$D/run.err" 3>&- || fail "$(<"$D/run.err")"
	! grep -Eq 'bpf|perf_event|pidfd|report' "$D/run.out" || fail "$(<"$D/run.out")"
	grep -Eq '^SigBlk:[[:space:]]*0+$' "$D/run.out" || fail "$(<"$D/run.out")"
}

signal_passed_on() {
	# A shell's background jobs ignore SIGINT from birth, and a shell cannot trap what it was born ignoring.
	env --default-signal=INT "$TOOL" -o "$D/report" -- "$BASH" -c 'trap "echo got it; exit 5" '"$1"'; echo ready; while :; do sleep 0.1; done' \
		>"$D/out" 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	exec {T_OUT}<"$D/out"
	target_line ready
	kill -"$1" "$TOOL_PID"
	target_line 'got it'
	STATUS=0
	wait "$TOOL_PID" || STATUS=$?
	[[ $STATUS -eq 5 ]] || fail "status $STATUS"
	[[ -s $D/report ]] || fail 'no report'
}

@test "run: SIGTERM, SIGHUP and SIGINT sent to the tool reach the command; its status is passed on" {
	for signal in TERM HUP INT; do
		clean
		fresh
		signal_passed_on $signal
	done
}

@test "run: the tool killed by -9 does not leave a command that was never started hanging" {
	"$TOOL" -f json -o "$D/report" -- "$TARGETS/leaf" <"$D/in" >"$D/out" 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	exec {T_IN}>"$D/in" {T_OUT}<"$D/out"
	target_line 'ready '
	T_PID=${LINE#ready }
	PIDS+=("$T_PID")
	kill -KILL "$TOOL_PID"
	wait "$TOOL_PID" 2>/dev/null || :
	tell go
	printf 'quit\n' >&"$T_IN"
	truth quit
	until_true "$DEADLINE" eval '! alive "$T_PID"' || fail 'the command did not end'
}

# has_opened KIND: the tool that stands still has such a thing of BPF's: a map, a program, a link.
has_opened() {
	find "/proc/$TOOL_PID/fd" -lname "anon_inode:bpf[-_]$1" 2>/dev/null | grep -q .
}

stands_still() {
	[[ $(awk '/^State:/ { print $2 }' "/proc/$TOOL_PID/status") == T ]]
}

# start_and_signal SIGNAL KIND TOOL'S ARG…: the tool gets it as soon as it has a KIND and no link yet. It stands still meanwhile, so that
# it is known how far it is; where it was too fast it is begun anew. STATUS.
start_and_signal() {
	local wanted=$1 kind=$2 end=$((SECONDS + DEADLINE)) caught='' signal
	shift 2

	until [[ -n $caught ]]; do
		signal=$wanted
		[[ $SECONDS -lt $end ]] || fail "the tool was never seen with a $kind and without a link"
		STATUS=0
		"$TOOL" "$@" >"$D/report" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
		TOOL_PID=$!
		PIDS+=("$TOOL_PID")
		until has_opened "$kind" || ! alive "$TOOL_PID"; do
			[[ $SECONDS -lt $end ]] || fail "the tool has no $kind"
		done
		kill -STOP "$TOOL_PID"
		until_true "$DEADLINE" stands_still || fail 'the tool does not stand still'
		has_opened link || caught=yes
		[[ -n $caught ]] || signal=KILL
		kill -s "$signal" "$TOOL_PID"
		kill -CONT "$TOOL_PID" 2>/dev/null || :
		wait "$TOOL_PID" 2>/dev/null || STATUS=$?
	done
}

@test "a signal during the start ends the tool at once: nothing was attached, the command did not begin" {
	start_target "$TARGETS/leaf"
	for signal in TERM INT; do
		for kind in map prog; do
			for way in "-p $T_PID" "--gate -p $T_PID" "-- touch $D/begun" 'survey --gate --keep comm=leaf'; do
				# shellcheck disable=SC2086 # several words
				start_and_signal $signal $kind $way
				[[ $STATUS -eq $((128 + $(kill -l $signal))) ]] || fail "$way: status $STATUS"
				[[ ! -s $D/report && ! -s $D/tool.err ]] || fail "$way: it went on: $(cat "$D/report")"
				[[ ! -e $D/begun ]] || fail 'the command was begun'
			done
		done
	done
	# It is as it was.
	attach
	tell go
	snap
	same
	end_target
}

@test "run: no such command, or one that cannot be executed" {
	# As shells, env and timeout have it: 127 and 126.
	run_tool -- /nonexistent/command
	refused 127 '/nonexistent/command.*(not found|No such file)'
	touch "$D/plain"
	run_tool -- "$D/plain"
	refused 126 'plain.*(Permission denied|not executable|cannot)'
}

@test "--error-exitcode with a command: the status says whether it leaked" {
	run_tool -o "$D/report" --error-exitcode 9 -- "$TARGETS/short"
	[[ $STATUS -eq 9 ]] || fail "status $STATUS with leaks"
	run_tool -o "$D/report" --error-exitcode 9 -- "$TARGETS/noleak"
	[[ $STATUS -eq 0 ]] || fail "status $STATUS without leaks: $(<"$D/report")"
	run_tool -o "$D/report" -- "$TARGETS/short"
	[[ $STATUS -eq 0 ]] || fail "status $STATUS without the option"
}
