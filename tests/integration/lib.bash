# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Helpers of the integration tests. A test starts a target (tests/targets/truth.h: it says "ready", obeys commands, prints its
# own truth), attaches the tool, tells the target what to do, and compares the tool's snapshot with the truth. Everything waits
# for an event, with a deadline: of processor time of the tool, which no other process can take from it. By the clock there is time enough
# for a machine that has ten times as much to do; that is for a tool that hangs.
#
#     start_target PROGRAM [ARG…]     T_PID
#     run_target / start_redis        the same of programs that are not ours
#     attach [OPTION…]                TOOL_PID; attached to T_PID when it returns
#     tell COMMAND                    TRUTH: the target's answer
#     snap [PID]                      SNAP: a snapshot made from now on, of T_PID
#     same [strays [direct|any [lost]]]   TRUTH and SNAP agree (compare.jq)
#     judged                          the same of verdicts (verdicts.jq)
#     end_target / stop_tool          …; final [PID]: SNAP is the last snapshot
#
# Environment: BUILD, MEMLEAKBPF (the tool under test), MODES (the attach modes to go through, all of them), NIGHTLY (all attach modes),
# MEMLEAKBPF_SEED (what random numbers begin with), TESTS_WEEK (what each_mode goes by), MODES_BY_TURNS (one of MODES a test, whatever else is said), TOOL_SECONDS and DEADLINE (per wait: of processor time that the tool may have, and by the clock), STACKS (fp: the kernel
# has no unwinding by tables), VM_GUEST (the machine is emulated, tests/vm), LOOK_EVERY (seconds between two looks at what announces nothing).

HERE=${BATS_TEST_DIRNAME}
ROOT=$(cd "$HERE/../.." && pwd)
BUILD=${BUILD:-build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
TOOL=${MEMLEAKBPF:-$BUILD/memleakbpf}
TARGETS=$BUILD/tests/targets
DEADLINE=${DEADLINE:-300}
TOOL_SECONDS=${TOOL_SECONDS:-$((DEADLINE / 5))}
# What random numbers begin with: always the same by day, printed by night (tests/run).
SEED=${MEMLEAKBPF_SEED:-1}
MODE=${MODE-}
MODES_WANTED=${MODES-}
ALL_MODES=
MODES=${MODES:-session multi single$([[ $(uname -m) != x86_64 ]] || printf " gate")}
LIBDIR=/usr/lib/$(uname -m)-linux-gnu
export LC_ALL=C
unset DEBUGINFOD_URLS

# All waits of a test print what the tool said when they fail: see dump().
fail() {
	explain "$*"
	exit 1
}

explain() {
	printf 'FAILED%s: %s\n' "${MODE:+ [--attach $MODE]}" "$*" >&2
	dump >&2
	TOLD=1
	note_place
}

# ended_unexplained STATUS COMMAND: the traps of a pass of each_mode, for what ends it without fail(): a command, or a signal.
ended_unexplained() {
	local i calls=''

	[[ -z ${TOLD-} && -z ${BATS_TEST_SKIPPED-} && $BASH_SUBSHELL -eq $PASS_LEVEL ]] || return 0
	for ((i = 1; i < ${#FUNCNAME[@]}; i++)); do
		[[ ${BASH_SOURCE[i]} != */bats-core/* ]] || break
		calls+=" < ${FUNCNAME[i]} (${BASH_SOURCE[i]##*/}:${BASH_LINENO[i - 1]})"
	done
	explain "status $1 of \`$2'$calls"
}

dump() {
	local file

	for file in "$D"/tool.err "$D"/target.err "$D"/json.log; do
		[[ -s $file ]] || continue
		printf -- '--- %s\n' "${file##*/}"
		tail -n 20 "$file" | cut -c1-${DUMP_WIDTH:-1000}
	done
	[[ -z ${TRUTH-} ]] || printf -- '--- truth\n%s\n' "$TRUTH"
}

# A directory and fresh state for one pass of a test.
fresh() {
	without_traps
	D=$(mktemp -d "$BATS_TEST_TMPDIR/XXXXXX")
	PIDS=()
	T_PID='' T_LINES=() T_ENV=()
	FREEZER=''
	RANDOM=$SEED
	TOOL_PID='' TOOL_STATUS='' J_OUT='' J_NUMBER=0 TRUTH='' SNAP='' SNAPS=() TOLD=''
	mkfifo "$D/in" "$D/out" "$D/json" "$D/.pause"
	exec {NEVER}<>"$D/.pause"
	exec {T_IN}>/dev/null {T_OUT}</dev/null # until there is a target
}

# Ends what this pass started; only that.
clean() {
	local pid

	# A process that the older freezer holds does not end.
	thaw 2>/dev/null || :
	for pid in "${PIDS[@]}"; do
		kill -KILL "$pid" 2>/dev/null || :
		wait "$pid" 2>/dev/null || :
	done
	PIDS=()
	[[ -z ${FREEZER-} ]] || rmdir "$FREEZER" 2>/dev/null || :
	FREEZER=''
}

setup() {
	[[ -x $TOOL ]] || fail "no $TOOL: run make first"
	fresh
}

teardown() {
	if [[ -z ${BATS_TEST_COMPLETED-} && -z ${TOLD-} ]]; then
		dump
	fi
	clean
}

# by_turns WAY…: one of them, another one each week, so that each test has had all of them after as many weeks.
by_turns() {
	local ways=("$@") week=${TESTS_WEEK:-$((EPOCHSECONDS / 604800))} name

	name=$(cksum <<<"${BATS_TEST_FILENAME##*/} $BATS_TEST_DESCRIPTION")
	printf '%s' "${ways[(${name%% *} + week) % ${#ways[@]}]}"
}

# modes_now: the attach modes of MODES to go through now. In files and for calls with ALL_MODES, by night, and where MODES were asked for, these are all of them.
# Elsewhere it is one (by_turns).
modes_now() {
	if [[ -n $ALL_MODES$MODES_WANTED${NIGHTLY-} && -z ${MODES_BY_TURNS-} ]]; then
		printf '%s' "$MODES"
		return
	fi
	# shellcheck disable=SC2086
	by_turns $MODES
}

# by_day DAY NIGHT: how often, or how large, by day and by night (make test-nightly).
by_day() {
	if [[ -z ${NIGHTLY-} ]]; then
		printf '%s\n' "$1"
	else
		printf '%s\n' "$2"
	fi
}

# each_mode FUNCTION [ARG…]: the function once per attach mode (modes_now), in a subshell with state of its own; all modes run, even if
# one fails. What one of them skips is skipped.
each_mode() {
	local mode failed='' skipped=$BATS_TEST_TMPDIR/skipped MODES=$MODES

	MODES=$(modes_now)
	printf '# by %s\n' "$MODES" >&3

	: >"$skipped"
	for mode in $MODES; do
		(
			set -e
			MODE=$mode
			fresh
			PASS_LEVEL=$BASH_SUBSHELL
			trap 'ended_unexplained $? "$BASH_COMMAND"' ERR
			trap 'ended_unexplained $? "$BASH_COMMAND"; printf "%s" "${BATS_TEST_SKIPPED-}" >>"$skipped"; clean' EXIT
			"$@"
			TOLD=nothing
		) &
		wait $! || failed+=" $mode (status $?)"
	done
	[[ -z $failed ]] || {
		printf 'failed with --attach:%s\n' "$failed"
		return 1
	}
	[[ ! -s $skipped ]] || skip "$(<"$skipped")"
}

# without_traps: what bats does before each command, to know where a test failed, takes a hundred times as long as the command. It is done when one has failed.
without_traps() {
	declare -F bats_capture_stack_trace >/dev/null || return 0
	trap - DEBUG
	trap 'bats_error_trap; note_place' ERR
}

# note_place: bats is to say that the test has failed here, and who has called whom.
note_place() {
	! declare -F bats_capture_stack_trace >/dev/null || bats_capture_stack_trace
	BATS_DEBUG_LAST_STACK_TRACE_IS_VALID=1
}

# each_way FUNCTION [ARG…]: the same of what has to do with where probes are, when and in whose process: not by "multi" where there is "session". One function
# puts both in (user/probe/attach.c), and they differ in how an allocating function's return is seen, which core.bats and others go through.
each_way() {
	MODES=${MODES/session multi/session} each_mode "$@"
}

# probe_modes: MODES without the gate, for what it cannot do.
probe_modes() {
	MODES=${MODES/ gate/}
	MODES=${MODES#gate}
}

# ---- The target ------------------------------------------------------------------------------------------------------------

# T_ENV holds further environment (NAME=VALUE) for it.
start_target() {
	run_target env "${T_ENV[@]}" "$@" 2>"$D/target.err"
	target_line 'ready '
	[[ $LINE == "ready $T_PID" ]] || T_PID=${LINE#ready }
}

# run_target PROGRAM [ARG…]: any program, whose lines target_line reads; it may say "ready" in its own way, or nothing.
run_target() {
	# An emulated machine is so slow that threads which work without pause leave a second process no time: they give way.
	${VM_GUEST:+nice -n 10} "$@" <"$D/in" >"$D/out" 3>&- &
	T_PID=$!
	PIDS+=("$T_PID")
	exec {T_IN}>"$D/in" {T_OUT}<"$D/out"
}

# high PROGRAM: HIGH, what to start it by. A static one whose verdicts are compared has its heap where no number looks like an address, right behind
# it (tests/targets/rules.mk), which the kernel would put somewhere else.
high() {
	HIGH=()
	[[ $1 != *static ]] || HIGH=(setarch -R)
}

# need PROGRAM: skips the test without it.
need() {
	command -v "$1" >/dev/null || skip "no $1"
}

need_gate() {
	[[ $("$TOOL" doctor -f json | jq .gate.have) == true ]] || skip 'this machine has no gate'
}

# Only where the kernel can hold new processes: by the function as 6.18 has it (user/kernel/feature_try.c).
need_hold() {
	local names

	names=$(grep -aoz '^bpf_task_work_schedule_resume\(_impl\)\?$' /sys/kernel/btf/vmlinux | tr '\0' ' ') || :
	[[ $names == 'bpf_task_work_schedule_resume_impl ' ]] || skip 'this kernel cannot hold new processes (6.18 can)'
}

# A port of the loopback interface that nobody listens on, nor is given by the kernel to the next who connects (net.ipv4.ip_local_port_range as it is preset).
free_port() {
	/usr/bin/python3 -c 'import errno, random, socket
s = socket.socket()
while True:
    port = random.randrange(20000, 32000)
    try:
        s.bind(("127.0.0.1", port))
        break
    except OSError as e:
        if e.errno != errno.EADDRINUSE:
            raise
print(port)'
}

# start_redis PORT: a redis-server as target, that answers there.
start_redis() {
	redis-server --port "$1" --bind 127.0.0.1 --save '' --appendonly no --dir "$D" >"$D/redis.log" 2>&1 3>&- &
	T_PID=$!
	PIDS+=("$T_PID")
	until_true "$DEADLINE" redis-cli -p "$1" ping >"$D/ping" 2>&1 || fail "$(<"$D/redis.log")"
}

# target_line PREFIX: LINE is the target's next line that begins so; lines that do not are kept for later.
target_line() {
	local i

	for i in "${!T_LINES[@]}"; do
		if [[ ${T_LINES[i]} == "$1"* ]]; then
			LINE=${T_LINES[i]}
			unset "T_LINES[i]"
			return
		fi
	done
	while read_line "$T_OUT"; do
		[[ $LINE != "$1"* ]] || return 0
		T_LINES+=("$LINE")
	done
	fail "the target did not say '$1'"
}

# TRUTH: what the target says of that phase.
truth() {
	target_line "{\"phase\":\"$1\","
	TRUTH=$LINE
}

tell() {
	printf '%s\n' "$1" >&"$T_IN"
	truth "$1"
}

# A target "family" forks: CHILD is attached to, and its books agree. TRUTH and SNAP are the child's.
family_forks() {
	tell fork-wait
	CHILD=$(field .child "$TRUTH")
	attached "$CHILD"
	kill -USR2 "$CHILD"
	truth child
	snap "$CHILD"
	same
}

end_target() {
	tell quit
	exec {T_IN}>&-
	wait "$T_PID" || fail "the target ended with status $?"
}

# field FILTER JSON: what jq says. A number at a name that comes once in it needs no jq, which takes 30 ms to start.
field() {
	local number='(-?[0-9]+)[,}]'

	if [[ $1 =~ ^\.[a-z_]+$ && $2 =~ \"${1#.}\":$number ]]; then
		number=${BASH_REMATCH[1]}
		if [[ $2 != *"\"${1#.}\":"*"\"${1#.}\":"* ]]; then
			printf '%s\n' "$number"
			return
		fi
	fi
	jq -r "$1" <<<"$2"
}

# ---- The tool --------------------------------------------------------------------------------------------------------------

# patience ARG…: PATIENCE, an option for a tool with these arguments. A machine that has much else to do may take longer than --max-pause's preset to
# stop a process and read it; only tests that give one are about that.
patience() {
	PATIENCE=()
	[[ " $* " != *' --max-pause '* && ${1-} != survey ]] || return 0
	[[ " $* " != *' --verdict '* && " $* " != *' --inspect '* && " $* " != ' inspect '*'-p '* ]] || PATIENCE=(--max-pause 1m)
}

# Starts the tool with its JSON going to a file that snap() and final() read (from a pipe bash reads a byte at a time); SIGUSR1 asks for snapshots. By --sort alloc the
# stacks of which nothing is live any more are listed as well.
start_tool() {
	: >"$D/tool.err" # now, so that nobody reads what an earlier one said
	J_NUMBER=$((J_NUMBER + 1))
	# A file never makes the tool wait. With UNREAD=1 it is a FIFO, which does once it is full and nobody reads.
	if [[ -n ${UNREAD-} ]]; then
		mkfifo "$D/json.$J_NUMBER"
	else
		: >"$D/json.$J_NUMBER"
	fi
	# The shell's background jobs ignore SIGINT otherwise.
	local how=()

	case $MODE in
	'') ;;
	gate) how=(--gate) ;; # probes, too, are put where there can be no gate: snap() looks
	*) how=(--attach "$MODE") ;;
	esac
	patience "$@"
	env --default-signal=INT "$TOOL" -f json -i 1h -T 100000 --sort alloc "${how[@]}" "${PATIENCE[@]}" "$@" >"$D/json.$J_NUMBER" 2>"$D/tool.err" 3>&- \
		{T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	exec {J_OUT}<"$D/json.$J_NUMBER"
}

# processor_ticks PID: TICKS, what the process has had of the processors, in hundredths of a second; 0 if there is none.
processor_ticks() {
	local stat

	TICKS=0
	[[ -n $1 ]] || return 0
	{ read -r -d '' stat <"/proc/$1/stat" || [[ -n $stat ]]; } 2>/dev/null || return 0
	read -ra stat <<<"${stat##*) }"
	TICKS=$((stat[11] + stat[12]))
}

# wait_begins: WAIT, for waited_enough: when, what the tool is, and what it has had of the processors by now.
wait_begins() {
	processor_ticks "${TOOL_PID-}"
	WAIT=("$SECONDS" "${TOOL_PID-}" "$TICKS")
}

# waited_enough [SECONDS]: have so many seconds (DEADLINE) passed, or has the tool had all the processor time that it may have in a wait?
waited_enough() {
	local seconds=${1:-$DEADLINE}

	[[ $((SECONDS - WAIT[0])) -lt $seconds ]] || return 0
	processor_ticks "${WAIT[1]}"
	[[ $((TICKS - WAIT[2])) -ge $((100 * TOOL_SECONDS * (seconds > DEADLINE ? seconds / DEADLINE : 1))) ]]
}

# read_line FD: LINE is the next one of it. 1 at its end, which a file has with the tool's; 2 when it does not come.
read_line() {
	local part status ended

	wait_begins
	LINE=''
	while :; do
		# What it has written before its end is read after that.
		ended=1
		[[ ! -f /dev/fd/$1 ]] || ! alive "${WAIT[1]}" || ended=''
		status=0
		IFS= read -r -t 1 -u "$1" part || status=$?
		LINE+=$part
		if [[ $status -eq 0 || ($status -le 128 && -n $ended) ]]; then
			return $((status != 0))
		elif waited_enough; then
			return 2
		fi
		[[ -n $ended ]] || pause
	done
}

# tool_says REGEX: waits for such a line on the tool's standard error. bash cannot wait for a file to grow: it looks often.
tool_says() {
	local before=''

	wait_begins
	until has_come before "$D/tool.err" && grep -Eq -- "$1" "$D/tool.err"; do
		if ! alive "$TOOL_PID"; then
			grep -Eq -- "$1" "$D/tool.err" && return
			fail "the tool ended before it said '$1'"
		fi
		! waited_enough || fail "the tool did not say '$1'"
		pause
	done
}

# has_come NAME FILE: are its lines others than NAME, which was set so the last time, says?
has_come() {
	local lines now

	mapfile -t lines <"$2"
	now="${#lines[@]} ${lines[*]: -1}"
	[[ $now != "${!1}" ]] || return 1
	printf -v "$1" '%s' "$now"
}

# Runs and is no zombie.
alive() {
	local stat

	[[ -n $1 ]] || return 1
	{ read -r -d '' stat <"/proc/$1/stat" || [[ -n $stat ]]; } 2>/dev/null || return 1
	stat=${stat##*) }
	[[ $stat != [ZX]* ]]
}

# pause [SECONDS]: between two looks at something that announces nothing. Nobody writes to that FIFO: so there is no process to start.
pause() {
	[[ -n ${NEVER-} ]] || sleep "${1:-${LOOK_EVERY:-0.02}}"
	[[ -z ${NEVER-} ]] || read -r -t "${1:-${LOOK_EVERY:-0.02}}" -u "$NEVER" || :
}

attached() {
	tool_says "^memleakbpf: attached to $1 \\("
}

attach() {
	local tries

	for tries in 1 2 3 4 5; do
		start_tool -p "$T_PID" "$@"
		attached "$T_PID"
		if [[ $tries -eq 5 ]] || ! held_too_long; then
			return
		fi
		stop_tool
		exec {J_OUT}<&-
		SNAPS=()
		: >"$D/json.log"
	done
}

# Has the target no gate since it, or a tool's own process, did not get its turn in the second that it may be held for? That happens to emulated machines
# beside others, and nothing has been counted yet.
held_too_long() {
	[[ -n ${VM_GUEST-} && $MODE == gate ]] && grep -Eq 'not a gate: .*(as long as it may|let go|did not stop|too long)' "$D/tool.err"
}

# json_line [ALLOW_END]: LINE is the tool's next snapshot; 1 at its end.
json_line() {
	local status=0

	read_line "$J_OUT" || status=$?
	case $status in
	1) return 1 ;;
	2) fail 'no snapshot' ;;
	esac
	printf '%s\n' "$LINE" >>"$D/json.log"
	SNAPS+=("$LINE")
}

# A snapshot that was asked for now: older ones, and those of other targets, are passed over.
# shellcheck disable=SC2120 # not all who call it say of which target
snap() {
	local pid=${1:-$T_PID} since now=${EPOCHREALTIME/,/.}

	TZ=UTC printf -v since '%(%Y-%m-%dT%H:%M:%S)T.%sZ' "${now%.*}" "${now:(-6):3}"
	kill -USR1 "$TOOL_PID" || fail 'the tool is gone'
	while json_line; do
		# What comes before its numbers; a quote within a string has a backslash. jq takes longer to start than the tool to make a snapshot.
		if [[ ${LINE%%'"live":'*} =~ \"time\":\"([^\"]*)\".*\"pid\":$pid, && ! ${BASH_REMATCH[1]} < $since ]]; then
			SNAP=$LINE
			[[ $MODE != gate || $LINE == *'"attach":"gate'* ]] || fail 'the target has no gate'
			return
		fi
	done
	fail 'the tool ended instead of making a snapshot'
}

# The target goes on and prints, as a line of JSON, the stacks that it has seen itself: $D/truth; and what the tool has of them: $D/result.
truth_and_result() {
	echo >&"$T_IN"
	target_line '['
	printf '%s\n' "$LINE" >"$D/truth"
	snap
	printf '%s\n' "$SNAP" >"$D/result"
}

# managed_of KIND SIZE: "END: FUNCTION FILE LINE, …", of the functions of that kind that have the block.
managed_of() {
	jq -r --arg kind "$1" --argjson size "$2" '.stacks[] | select(.live.bytes == $size) | .end + ": "
		+ ([.frames[] | select(.kind == $kind) | "\(.function) \(.file) \(.line)"] | join(", "))' <<<"$SNAP"
}

# Reads to the end of the tool's output; TOOL_STATUS is its exit status.
tool_ends() {
	while json_line; do :; done
	TOOL_STATUS=0
	wait "$TOOL_PID" || TOOL_STATUS=$?
}

# shellcheck disable=SC2120 # some tests say by which signal
stop_tool() {
	kill -"${1:-INT}" "$TOOL_PID"
	tool_ends
	[[ $TOOL_STATUS -eq 0 ]] || fail "the tool ended with status $TOOL_STATUS"
}

# final [PID]: SNAP is the last snapshot of that target, marked final. After tool_ends or stop_tool.
final() {
	local pid=${1:-$T_PID}

	SNAP=$(printf '%s\n' "${SNAPS[@]}" | jq -c --argjson pid "$pid" 'select(.pid == $pid and .final)')
	[[ -n $SNAP ]] || fail "no final snapshot of $pid"
	[[ $SNAP != *$'\n'* ]] || fail "more than one final snapshot of $pid"
}

# await_final [PID]: the same while the tool goes on (it has other targets).
await_final() {
	local pid=${1:-$T_PID} line

	for line in "${SNAPS[@]}"; do
		SNAP=$line
		! is_final "$pid" || return 0
	done
	while json_line; do
		SNAP=$LINE
		! is_final "$pid" || return 0
	done
	fail "no final snapshot of $pid"
}

is_final() {
	# The first look is for speed: a test may go through hundreds of lines.
	[[ $SNAP == *"\"pid\":$1,"*'"final":true'* ]] &&
		jq -e --argjson pid "$1" '.pid == $pid and .final' <<<"$SNAP" >/dev/null
}

# compare TRUTH SNAP [none|freed|any [direct|any [lost]]]: prints the differences.
compare() {
	jq -r --argjson truth "$1" --arg strays "${3:-none}" \
		--argjson direct "$([[ ${4:-direct} == direct ]] && echo true || echo false)" \
		--argjson lost "$([[ ${5-} == lost ]] && echo true || echo false)" \
		-f "$HERE/compare.jq" <<<"$2"
}

# same [none|freed|any [direct|any [lost]]]
# shellcheck disable=SC2120 # the tests pass them
same() {
	local differences

	differences=$(compare "$TRUTH" "$SNAP" "$@") || fail 'compare.jq failed'
	[[ -z $differences ]] || fail "$differences"
}

# judged: TRUTH, of tests/targets/verdict.h, and the verdicts of SNAP agree (verdicts.jq).
judged() {
	local differences

	differences=$(jq -r --argjson truth "$TRUTH" -f "$HERE/verdicts.jq" <<<"$SNAP") || fail 'verdicts.jq failed'
	[[ -z $differences ]] || fail "$differences"
}

# holds FILTER [JSON]: a jq filter that must be true of the snapshot (or of that JSON).
holds() {
	jq -e "$1" <<<"${2-$SNAP}" >/dev/null || fail "not so: $1"$'\n'"--- of$(shortened <<<"${2-$SNAP}")"
}

# What a snapshot says as a whole, and one line a stack.
shortened() {
	jq -r '" \(del(.stacks?))", (.stacks[:20]?[] | "\(del(.frames)) \([.frames[]?.function])")' | cut -c1-"${DUMP_WIDTH:-3000}"
}

# Runs the tool to its end. OUT, ERR, STATUS.
run_tool() {
	local subcommand=()

	STATUS=0
	patience "$@"
	[[ ${#PATIENCE[@]} -eq 0 || $1 == -* ]] || subcommand=("${@:1:1}")
	timeout -k 5 "$DEADLINE" "$TOOL" "${subcommand[@]}" "${PATIENCE[@]}" "${@:1+${#subcommand[@]}}" >"$D/run.out" 2>"$D/run.err" 3>&- || STATUS=$?
	OUT=$(<"$D/run.out")
	ERR=$(<"$D/run.err")
}

# refused STATUS REGEX: the last run_tool ended so, with exactly one line that says why, and no result.
refused() {
	[[ $STATUS -eq $1 ]] || fail "status $STATUS, not $1; it said: $ERR"
	grep -Eq -- "$2" <<<"$ERR" || fail "it did not say '$2' but: $ERR"
	[[ $(wc -l <<<"$ERR") -eq 1 ]] || fail "more than one line: $ERR"
	[[ $ERR == 'memleakbpf: '* ]] || fail "not prefixed: $ERR"
	[[ -z $OUT ]] || fail "output beside the error: $OUT"
}

# at_most KIB LIMIT: of the tool's memory. A sanitized one keeps what has been freed.
at_most() {
	[[ ${SANITIZE-} == 1 || $1 -le $2 ]]
}

# overloaded: have more than two threads waited for each processor, in the last minute? What the tool has to do within a fifth of a second may come late.
overloaded() {
	local load

	read -r load _ </proc/loadavg
	[[ ${load%.*} -gt $((2 * $(nproc))) ]]
}

# until_true SECONDS COMMAND…: looks until it succeeds; not for longer than so many seconds of a wait's DEADLINE.
until_true() {
	local seconds=$1

	shift
	wait_begins
	until "$@"; do
		! waited_enough "$seconds" || return 1
		pause "${LOOK_EVERY:-0.05}"
	done
}

# A memory control group: CGROUP, and the file LIMIT. The test removes it.
memory_cgroup() {
	local base

	for base in /sys/fs/cgroup/memory /sys/fs/cgroup; do
		CGROUP=$base/memleakbpf-test-$$
		mkdir "$CGROUP" 2>/dev/null || continue
		for LIMIT in "$CGROUP/memory.limit_in_bytes" "$CGROUP/memory.max"; do
			[[ ! -w $LIMIT ]] || return 0
		done
		rmdir "$CGROUP"
	done
	return 1
}

# freezer VERSION: a control group of this test's own to freeze processes in: FREEZER; its path is FREEZER_PATH, for what is said of it. clean() removes it.
freezer() {
	local base

	FREEZER_PATH=/memleakbpf-freezer-$BASHPID
	for base in /sys/fs/cgroup/freezer /sys/fs/cgroup /sys/fs/cgroup/unified; do
		FREEZER=$base$FREEZER_PATH
		mkdir "$FREEZER" 2>/dev/null || continue
		[[ ! -e $FREEZER/freezer.state || $1 -ne 1 ]] || return 0
		[[ ! -e $FREEZER/cgroup.freeze || $1 -ne 2 ]] || return 0
		rmdir "$FREEZER"
	done
	FREEZER=''
	skip "no control group of version $1 can be made here"
}

# Skips the test where there can be none of that version.
need_freezer() {
	freezer "$1"
	rmdir "$FREEZER"
	FREEZER=''
}

# freeze PID…: these, in that group; it returns when they stand still.
freeze() {
	local pid

	for pid; do
		echo "$pid" >"$FREEZER/cgroup.procs"
	done
	if [[ -e $FREEZER/cgroup.freeze ]]; then
		echo 1 >"$FREEZER/cgroup.freeze"
		until_true "$DEADLINE" grep -qx 'frozen 1' "$FREEZER/cgroup.events" || fail 'it is not frozen'
	else
		echo FROZEN >"$FREEZER/freezer.state"
		until_true "$DEADLINE" grep -qx FROZEN "$FREEZER/freezer.state" || fail 'it is not frozen'
	fi
}

# thaw: all that is in it goes on.
thaw() {
	if [[ -z ${FREEZER-} ]]; then
		return 0
	elif [[ -e $FREEZER/cgroup.freeze ]]; then
		echo 0 >"$FREEZER/cgroup.freeze"
	else
		echo THAWED >"$FREEZER/freezer.state"
	fi
}

# ---- What the tool leaves behind --------------------------------------------------------------------------------------------

# bpf_ids PID: "prog 12" "link 7" "map 3": what that process holds open.
bpf_ids() {
	cat "/proc/$1/fdinfo/"* 2>/dev/null | sed -nE 's/^(prog|link|map)_id:[[:space:]]*([0-9]+)$/\1 \2/p' | sort -u
}

# Is any of those (on standard input) still in the kernel?
bpf_any_left() {
	local kind id

	while read -r kind id; do
		! bpftool "$kind" show id "$id" >/dev/null 2>&1 || return 0
	done
	return 1
}

# A C library of its own for the next target: an inode that other tracers of this machine have no probes on. Their coming and going would look like
# ours in code_sum.
own_libc() {
	mkdir "$D/lib"
	cp -L "$LIBDIR/libc.so.6" "$D/lib/"
	T_ENV=("LD_LIBRARY_PATH=$D/lib")
}

# The target's executable code, as it is in memory now: probes change it. After own_libc only that.
code_sum() {
	local range start end file=/

	[[ ! -d $D/lib ]] || file=$D/lib/

	while read -r range _; do
		start=${range%-*} end=${range#*-}
		dd if="/proc/$1/mem" bs=4096 skip=$((0x$start / 4096)) count=$(((0x$end - 0x$start) / 4096)) \
			status=none 2>/dev/null
	done < <(awk -v file="$file" '$2 ~ /x/ && index($6, file) == 1 { print $1, $6 }' "/proc/$1/maps") | sha256sum
}
