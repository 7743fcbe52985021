#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# `memleakbpf top` in a real terminal: tmux has it, types the keys and says what is to be seen.

load lib.bash
load recording.bash

setup() {
	[[ -x $TOOL ]] || fail "no $TOOL: run make first"
	need tmux
	fresh
}

teardown() {
	[[ -n ${BATS_TEST_COMPLETED-} ]] || screen >&2
	mux kill-server 2>/dev/null || :
	[[ -n ${BATS_TEST_COMPLETED-} || -n ${TOLD-} ]] || dump
	clean
}

# A server of the test's own.
mux() {
	env -u TMUX TERM=xterm-256color tmux -S "$D/tmux" -f /dev/null "$@"
}

# terminal ROWS COLS [NAME=VALUE…]: a shell in a terminal of that size.
terminal() {
	local rows=$1 cols=$2

	shift 2
	mux new-session -d -c "$D" -x "$cols" -y "$rows" env -u NO_COLOR LC_ALL=C.UTF-8 PS1='$ ' "$@" bash --norc --noprofile -i 3>&-
	mux set-option -g status off
	sees '^\$'
}

# keys KEY…: as tmux names them; a word is typed.
keys() {
	mux send-keys "$@"
}

run() {
	keys "$1" Enter
}

screen() {
	mux capture-pane -p "$@"
}

# sees REGEX: waits until a line of the screen is so.
sees() {
	wait_begins
	until screen | grep -Eq -- "$1"; do
		! waited_enough || fail "no '$1' on the screen:"$'\n'"$(screen)"
		pause
	done
}

# start_top [OPTION…]: on T_PID, and at work.
start_top() {
	run "$TOOL top -p $T_PID $* -i 100ms --max-pause 1m 2>>$D/tool.err; echo status \$?"
	sees "^$T_PID \\("
	TOOL_PID=$(pgrep -n -f "^$TOOL top -p $T_PID ")
}

# left STATUS: the shell has the terminal again, as it was before: the same modes, a cursor, no other screen.
left() {
	sees "^status $1\$"
	run "stty -a | tail -n +2 >$D/stty.after; echo compared"
	sees '^compared'
	cmp "$D/stty.before" "$D/stty.after" || fail "the terminal's modes have changed"
	[[ $(mux display-message -p '#{cursor_flag} #{alternate_on} #{mouse_any_flag} #{keypad_cursor_flag}') == '1 0 0 0' ]] ||
		fail 'the terminal is not as it was'
}

before() {
	run "stty -a | tail -n +2 >$D/stty.before; echo noted"
	sees '^noted'
	run clear
}

begin() {
	start_target "$TARGETS/leaf"
	terminal "$@"
	before
	start_top
	tell go
}

at_size() {
	begin "$1" "$2"
	sees 'FUNCTION'
	sees ' 4\.0 MiB .*leak_1m'
	[[ $(screen | wc -l) -le $1 ]]
	keys Enter
	sees 'middle'
	sees 'Ages of its live blocks'
	keys Escape
	sees 'FUNCTION'
	keys q
	left 0
}

# bats test_tags=quick
@test "80 by 24: the list, a stack whole, and the terminal as it was" {
	at_size 24 80
}

@test "40 by 14: the list, a stack whole, and the terminal as it was" {
	start_target "$TARGETS/leaf"
	terminal 14 40
	before
	start_top
	tell go
	sees ' 4\.0 MiB .*leak_1m'
	keys Enter
	sees '#1 '
	keys End
	sees 'older|< '
	keys q q
	left 0
}

@test "200 by 60: the list, a stack whole, and the terminal as it was" {
	at_size 60 200
}

@test "top fits its screen to a window that becomes smaller and larger" {
	begin 24 80
	sees 'BLOCKS'
	mux resize-window -x 40 -y 10
	until_true "$DEADLINE" lacks 'BLOCKS' || fail 'the screen is still the large one'
	sees 'leak_1m'
	mux resize-window -x 120 -y 40
	sees 'BLOCKS.*ALLOC/s'
	keys q
	left 0
}

lacks() {
	! screen | grep -Eq -- "$1"
}

# mouse BUTTON COL ROW: as terminals tell it by default (xterm's X10 way): 0 is the left one, 3 that it is let go, 64 and 65 are the wheel.
mouse() {
	local bytes

	printf -v bytes '\\x%x' $((32 + $1)) $((32 + $2)) $((32 + $3))
	keys -l "$(printf '\033[M%b' "$bytes")"
}

click() {
	mouse 0 "$@"
	mouse 3 "$@"
}

@test "the mouse: a head orders, a click chooses, a second one opens, the wheel moves" {
	begin 24 80
	sees 'by live +1/5'
	sees 'leak_zero'
	click 20 4
	sees 'by count +1/5'
	mouse 65 10 10
	sees 'by count +[2-5]/5'
	mouse 64 10 10
	sees 'by count +1/5'
	click 70 7
	sees 'by count +3/5'
	click 70 7
	sees '^ +leak_4k\+0x'
	# What its ages are drawn with ends where the line does.
	sees '< .* blocks +#+$'
	keys Escape
	sees 'by count +3/5'
	keys q
	left 0
}

# At ever new times since the target was attached to.
times_pass() {
	local first

	first=$(screen | head -n 1)
	until_true "$DEADLINE" eval '[[ $(screen | head -n 1) != "$first" ]]' || fail "the screen stands still after $1"$'\n'"$(screen)"
}

@test "the mouse: buttons that are held, and let go later, stop nothing" {
	begin 24 80
	sees 'leak_zero'
	for button in 0 1 2; do
		mouse "$button" 70 7
		times_pass "button $button"
		mouse 3 70 7
		times_pass "button $button that is let go"
		mouse 3 70 7
		times_pass 'a button that nobody held'
	done
	keys q
	left 0
}

@test "numbers are the target's own; orders, the filter, a mark and what has changed since" {
	begin 24 80
	sees 'leak_4k'
	live=$(field '[.live[].count] | add' "$TRUTH")
	sees " ${live%???},${live: -3} blocks"
	keys /leak_16 Enter
	until_true "$DEADLINE" lacks leak_4k || fail 'the filter lets all through'
	sees 'leak_16'
	keys Escape
	sees 'leak_4k'
	keys m
	sees '^marked: '
	# It is for the screen: not for the shell afterwards, nor for a log.
	! grep marked "$D/tool.err" || fail 'a mark in the messages'
	tell free
	keys d
	sees 'CHANGE +LIVE'
	sees ' -[0-9.]+ [KM]?i?B .*leak_'
	keys d o
	sees 'count +live blocks'
	keys Down Down Down Enter
	sees 'by count'
	keys p
	sees 'PAUSED'
	keys q
	left 0
}

# The sum over all ages is what the stack has, within what rounding of either makes.
ages_are_all() {
	screen | awk 'match($0, / in +[0-9,]+ blocks/) { n = substr($0, RSTART, RLENGTH); gsub("[^0-9]", "", n); if (/^#/) all = n; else sum += n }
		END { exit !(all > 0 && sum >= 0.99 * all && sum <= 1.01 * all) }'
}

@test "ages of a sampled stack's blocks: estimates, as its own numbers" {
	start_target "$TARGETS/leaf"
	terminal 40 100
	before
	start_top -s 64
	tell go
	sees 'leak_16'
	keys /leak_16 Enter
	until_true "$DEADLINE" lacks leak_4k || fail 'the filter lets all through'
	keys Enter
	sees 'Ages of its live blocks'
	until_true "$DEADLINE" ages_are_all || fail "$(screen)"
	keys q q
	left 0
}

# The classes' blocks are all that were freed there, by the target's books.
lifetimes_are_all() {
	screen | awk -v freed="$(field .free.mostly_freed.count "$TRUTH")" '
		/^How long its freed blocks had lived:/ { inside = 1; next }
		inside && match($0, /[0-9,]+ +blocks/) { n = substr($0, RSTART, RLENGTH); gsub("[^0-9]", "", n); sum += n; drawn += /blocks +#+$/ }
		END { exit !(sum == freed && freed > 0 && drawn > 0) }'
}

@test "--lifetimes: how long the freed blocks of a stack had lived, and an order by what has outlived others" {
	start_target "$TARGETS/figures"
	terminal 60 100
	before
	start_top --lifetimes
	tell 'leak 500 5'
	sees 'iB? .*mostly_freed| B .*mostly_freed'
	keys o
	sees 'lifetime +live bytes that have outlived others'
	sees 'temporary +.*not without --temporary'
	keys Escape /mostly_freed Enter
	sees ' 1/1$'
	keys Enter
	sees '^How long its freed blocks had lived:'
	sees '^    < [0-9.]+ [um]s +[0-9,]+ blocks  #'
	until_true "$DEADLINE" lifetimes_are_all || fail "$(screen) $TRUTH"
	keys q q
	left 0
}

# hold_threads PID: all of its threads but the first stand still until the standard input ends.
hold_threads() {
	python3 -c '
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
SEIZE, INTERRUPT, DETACH, WALL = 0x4206, 0x4207, 17, 0x40000000
threads = [int(t) for t in os.listdir(f"/proc/{sys.argv[1]}/task") if t != sys.argv[1]]
for thread in threads:
    if libc.ptrace(SEIZE, thread, None, None) or libc.ptrace(INTERRUPT, thread, None, None):
        sys.exit(os.strerror(ctypes.get_errno()))
    os.waitpid(thread, WALL)
print("held", len(threads), flush=True)
sys.stdin.read()
for thread in threads:
    libc.ptrace(DETACH, thread, None, None)' "$1"
}

@test "keys are obeyed while names are looked up, however long that takes" {
	local said

	begin 24 80
	sees 'by live +1/5'
	# Who looks them up, and does all else that may take long, is another thread: it stands still.
	coproc HOLDER { hold_threads "$TOOL_PID" 3>&-; }
	PIDS+=("$HOLDER_PID")
	read -r -t "$DEADLINE" said <&"${HOLDER[0]}" || fail 'they are not held'
	[[ $said == 'held '[1-9]* ]] || fail "$said"
	keys Down Down
	sees 'by live +3/5'
	keys '?'
	sees 'what is live now'
	keys Escape o
	sees 'count +live blocks'
	keys Escape
	mux resize-window -x 60 -y 20
	sees 'by live +3/5'
	# shellcheck disable=SC1083,SC2093 # a descriptor of the shell's own, in a member of an array
	exec {HOLDER[1]}>&-
	wait "$HOLDER_PID" || fail 'they are held still'
	keys Enter
	sees '^#'
	keys q q
	left 0
}

@test "a verdict, an inspection, what it costs, and a snapshot that report reads" {
	begin 24 100
	sees 'leak_1m'
	keys v
	sees '^verdict: .* lost'
	sees 'LIVE +LOST'
	keys i
	sees 'Where its memory is'
	keys Escape g
	sees 'traps a second'
	keys Escape
	sees 'leak_1m'
	keys s s
	sees '^saved: memleakbpf report memleakbpf-'
	keys q
	left 0
	mv "$D/memleakbpf-$T_PID-"*.mlb "$D/saved.mlb"
	run_tool report "$D/saved.mlb" -f json --sort alloc -T 1000
	SNAP=$OUT
	same
}

# Bit 1 of its capabilities, CAP_DAC_OVERRIDE, is there for that alone.
@test "a snapshot in a directory that is somebody else's" {
	local status

	mkdir "$D/theirs"
	chown 65534 "$D/theirs"
	chmod 755 "$D/theirs"
	start_target "$TARGETS/leaf"
	terminal 24 100
	run "cd $D/theirs"
	before
	start_top
	tell go
	sees 'leak_1m'
	keys s s
	sees '^saved: memleakbpf report memleakbpf-'
	for status in "/proc/$TOOL_PID/task"/*/status; do
		(((0x$(awk '/^CapEff/ { print $2 }' "$status") & 2) == 0)) || fail "$(grep ^Cap "$status")"
	done
	keys q
	left 0
	run_tool report "$D/theirs/memleakbpf-$T_PID-"*.mlb
	[[ $STATUS -eq 0 && $OUT == *leak_1m* ]] || fail "$ERR$OUT"
}

@test "--gate: who leaves takes its jumps out" {
	local code

	need_gate
	own_libc
	start_target "$TARGETS/leaf"
	code=$(code_sum "$T_PID")
	terminal 24 80
	before
	start_top --gate
	tell go
	sees ' gate '
	[[ $(code_sum "$T_PID") != "$code" ]] || fail 'nothing is patched'
	keys q
	left 0
	[[ $(code_sum "$T_PID") == "$code" ]] || fail "the jumps are still there: $(<"$D/tool.err")"
	! grep -q 'jumps' "$D/tool.err" || fail "$(<"$D/tool.err")"
}

costs_something() {
	tell go
	screen | grep -Eq 'the process +[0-9.]+ % +[1-9][0-9,]* traps a second'
}

@test "g twice: from traps to the gate and back; what is counted anew is the target's own" {
	local code

	need_gate
	own_libc
	start_target "$TARGETS/leaf"
	code=$(code_sum "$T_PID")
	terminal 24 100
	before
	start_top
	tell go
	# What is said to be forgotten is what a snapshot has shown: one that has all of it.
	sees ' 1,068 blocks'
	keys g
	sees 'by traps on the allocator'
	keys g
	sees '^the gate now, counting anew: 4\.1 MiB in 1,068 blocks from before are forgotten'
	sees 'Allocations are seen by the gate'
	[[ $(code_sum "$T_PID") != "$code" ]] || fail 'nothing is patched'
	keys Escape
	sees ' gate '
	! screen | grep -q leak_1m || fail "what is from before: $(screen)"
	tell go
	sees ' 4\.0 MiB .*leak_1m'
	keys g
	# What its programs and the way there take is counted, too.
	until_true "$DEADLINE" costs_something || fail "$(screen)"
	keys g
	sees '^traps now, counting anew: '
	keys Escape
	tell go
	sees ' 4\.0 MiB .*leak_1m'
	keys q
	left 0
	# Breakpoints go some milliseconds later.
	until_true "$DEADLINE" eval "[[ \$(code_sum $T_PID) == '$code' ]]" || fail "the jumps are still there: $(<"$D/tool.err")"
}

traced() {
	grep -q '^TracerPid:[[:space:]]*[1-9]' "/proc/$T_PID/status"
}

@test "g where there can be no gate: what was counted stays where that is known before; else it is told" {
	need_gate
	need strace
	start_target "$TARGETS/sandbox"
	terminal 24 100
	before
	start_top
	tell go
	sees ' 800 B +20 .*leak_confined'
	keys g g
	sees '^warning: no gate: a seccomp filter watches its system calls'
	keys Escape
	sees ' 800 B +20 .*leak_confined'
	keys q
	left 0
	end_target
	start_target "$TARGETS/leaf"
	strace -f -p "$T_PID" -o /dev/null 2>/dev/null 3>&- {T_IN}>&- {T_OUT}<&- &
	PIDS+=($!)
	until_true "$DEADLINE" traced || fail 'strace does not trace it'
	run clear
	start_top
	tell go
	# What is said to be forgotten is what a snapshot has shown: one that has all of it.
	sees ' 1,068 blocks'
	keys g g
	sees '^traps as before, counting anew: 4\.1 MiB in 1,068 blocks from before are forgotten'
	keys Escape
	tell go
	sees ' 4\.0 MiB .*leak_1m'
	keys q
	left 0
}

@test "s and r: a recording of what comes, until s and r again, or the process's end" {
	local files

	begin 24 100
	sees 'leak_1m'
	keys s
	sees 's: a snapshot now +r: a recording from now on'
	keys r
	sees '^recording into memleakbpf-'
	sees 'probes .* recording'
	tell go
	sees ' 8\.0 MiB .*leak_1m'
	keys s
	sees 'r: end the recording'
	keys r
	sees '^recorded: memleakbpf report memleakbpf-'
	files=("$D/memleakbpf-$T_PID-"*.mlb)
	mv "${files[0]}" "$D/first"
	run_tool report "$D/first" -f json --sort alloc -T 1000
	[[ $STATUS -eq 0 && $(grep -c . <<<"$OUT") -gt 1 ]] || fail "$STATUS $OUT $ERR"
	SNAP=$(tail -n 1 <<<"$OUT")
	same
	keys s r
	sees '^recording into memleakbpf-'
	end_target
	sees 'HAS ENDED'
	keys q
	sees '^status 0$'
	files=("$D/memleakbpf-$T_PID-"*.mlb)
	run_tool report "${files[0]}"
	[[ $STATUS -eq 0 && $OUT == *leak_1m* ]] || fail "$STATUS $OUT $ERR"
}

@test "Ctrl-Z gives the terminal back, and fg takes it again" {
	begin 24 80
	sees 'leak_1m'
	keys C-z
	sees 'Stopped'
	run "stty -a | tail -n +2 >$D/stty.after; echo compared"
	sees '^compared'
	cmp "$D/stty.before" "$D/stty.after"
	run clear
	run 'fg; echo status $?'
	sees 'FUNCTION'
	sees ' 4\.0 MiB .*leak_1m'
	tell free
	sees ' 3\.0 MiB .*leak_1m'
	keys q
	left 0
}

@test "SIGTERM, and the shell's end: the terminal is as it was" {
	local signal

	start_target "$TARGETS/leaf"
	terminal 24 80
	before
	for signal in TERM INT; do
		run clear
		start_top
		kill -"$signal" "$TOOL_PID"
		left 0
		TOOL_PID=''
	done
}

@test "the target's end: its last numbers stay, with their names" {
	begin 24 80
	sees 'leak_1m'
	end_target
	sees 'HAS ENDED'
	sees 'leak_1m'
	keys v
	sees 'the process has ended'
	keys Enter
	sees 'middle'
	keys q q
	left 0
}

@test "top says that its target was killed, and ends by a key" {
	begin 24 80
	sees 'leak_1m'
	kill -KILL "$T_PID"
	sees 'HAS ENDED'
	keys q
	left 0
}

@test "colours: the theme's, none with NO_COLOR; ASCII without UTF-8; and TERM=dumb is refused" {
	start_target "$TARGETS/leaf"
	terminal 24 100
	before
	start_top
	tell go
	keys v
	sees 'lost blocks'
	screen -e | grep -q $'\e\[3[12]m' || fail "no colour: $(screen -e | cat -v)"
	keys q
	left 0
	run clear
	run 'export NO_COLOR=1 LC_ALL=C'
	run clear
	start_top
	keys v
	sees 'lost blocks'
	! screen -e | grep -q $'\e\[[0-9;]*3[0-7]m' || fail "colour: $(screen -e | cat -v)"
	! screen | grep -q '[^ -~]' || fail "not ASCII: $(screen)"
	keys q
	left 0
	run clear
	run "TERM=dumb $TOOL top -p $T_PID; echo status \$?"
	sees "TERM is 'dumb'"
	sees '^status 2'
}

@test "no terminal, two processes, options of the other kind: a line each" {
	start_target "$TARGETS/leaf"
	run_tool top -p "$T_PID"
	refused 1 'needs a terminal'
	run_tool top
	refused 1 'needs a terminal'
	run_tool top -p "$T_PID,1"
	refused 2 'one process at a time'
	run_tool top -p "$T_PID" --comm leaf
	refused 2 '--comm is about the processes of a survey'
	run_tool top --sort live
	refused 2 '--sort is about one process'
	run_tool top -p "$T_PID" --scope main
	refused 2 'top shows stacks, not calls of functions'
	run_tool top --scope-only
	refused 2 'top knows no scopes'
}

# named NAME: a target of that name, T_PID; with the kernel's 15 bytes of it.
named() {
	[[ -x $D/$1 ]] || cp "$TARGETS/leaf" "$D/$1"
	start_target "$D/$1"
}

@test "-p NAME: the process of that name; of several, or none, a line" {
	local first name=shown_$$

	run_tool top -p "$name"
	refused 1 "no process matches -p $name"
	named "$name"
	first=$T_PID
	terminal 24 80
	before
	run "$TOOL top -p $name -i 100ms 2>>$D/tool.err; echo status \$?"
	sees "^$first \\("
	tell go
	sees ' 4\.0 MiB .*leak_1m'
	keys q
	left 0
	run_tool top -p "$name" --unit no-such-unit
	refused 1 "no process matches -p $name --unit no-such-unit"
	named "$name"
	run_tool top -p "$name"
	refused 2 "2 match -p $name \\(($first, $T_PID|$T_PID, $first)\\)"
}

@test "--unit, --container and --cgroup: of several of a name the process in that control group" {
	local base id way

	id=$(printf '%064d' "$$")
	memory_cgroup || skip 'no memory control group can be made here'
	base=$CGROUP
	mkdir "$base/shown.service" "$base/docker-$id.scope"
	cp "$(command -v sleep)" "$D/leaf"
	"$D/leaf" infinity 3>&- &
	PIDS+=($!)
	terminal 24 80
	before
	for way in "shown.service --unit shown" "shown.service --cgroup /${base##*/}/shown.service" "docker-$id.scope --container $id"; do
		start_target "$TARGETS/leaf"
		echo "$T_PID" >"$base/${way%% *}/cgroup.procs"
		run clear
		run "$TOOL top -p leaf ${way#* } -i 100ms 2>>$D/tool.err; echo status \$?"
		sees "^$T_PID \\(leaf\\)"
		tell go
		sees ' 4\.0 MiB .*leak_1m'
		keys q
		left 0
		end_target
	done
	rmdir "$base/shown.service" "$base/docker-$id.scope" "$base"
}

# ends_by_itself REGEX OPTION…: its screen says so, and after that time it is left. A busy machine takes some seconds to get there, which count: then it has longer.
ends_by_itself() {
	local seconds

	for ((seconds = 4; seconds <= 4 * DEADLINE; seconds *= 4)); do
		run "$TOOL top ${*:2} --duration ${seconds}s 2>>$D/tool.err; echo status \$?"
		sees "$1|^status"
		if ! screen | grep -q '^status'; then
			left 0
			return
		fi
		left 0
		run clear
	done
	fail "no '$1' in $seconds seconds"
}

@test "--duration: both screens end by themselves, and leave the terminal as it was" {
	start_target "$TARGETS/leaf"
	terminal 24 80
	before
	ends_by_itself "^$T_PID \\(" -p "$T_PID"
	run clear
	ends_by_itself '^[0-9]+ processes' --no-drill
}

# It need not grow: who looks at it wants to know.
allocates_until_seen() {
	tell go
	screen | grep -q 'leak_1m'
}

@test "without -p all processes; Enter puts probes on one that does not grow" {
	start_target "$TARGETS/leaf"
	terminal 24 100
	before
	run "$TOOL top -i 100ms --window 1 --budget 100 --min-growth 1T -s 4096 2>>$D/tool.err; echo status \$?"
	sees '^[0-9]+ processes'
	sees 'PID COMMAND +MEMORY'
	keys /leaf Enter
	sees "^ *$T_PID leaf "
	keys o
	sees 'limit +time until'
	keys Down Down Down Down Down Enter
	sees 'by pid'
	# Another of this name may run: this one by its number.
	keys Escape "/$T_PID" Enter
	sees "1/1"
	keys Enter
	sees "^$T_PID \\(leaf\\)"
	until_true "$DEADLINE" allocates_until_seen || fail 'the probes have seen nothing'
	sees 'what was kept|this was kept'
	keys q
	sees 'seen|now'
	keys q
	left 0
}

names_site() {
	grep -q "most in $1  redis-[a-z-]* <" "$D/text"
}

@test "the function that stands for a stack is the same in every output: redis-server" {
	local port site

	need redis-server
	need redis-benchmark
	needs_chromium
	port=$(free_port)
	start_redis "$port"
	redis-benchmark -p "$port" -t lpush -d 1000 -n 1000000 -l -q >/dev/null 2>&1 3>&- &
	PIDS+=($!)
	"$TOOL" record -p "$T_PID" -s 64k -i 500ms -n 3 -o "$D/rec" 2>"$D/tool.err" 3>&- || fail "$(<"$D/tool.err")"
	run_tool report "$D/rec" --short -T 1
	site=$(sed -n 's/^#1 .*  \([^ ]*\)  redis-.*/\1/p' <<<"$OUT")
	[[ -n $site && $site != *alloc* ]] || fail "the site is '$site': $OUT"
	run_tool report "$D/rec" -f html
	printf '%s\n' "$OUT" >"$D/page.html"
	look "$D/page.html" 'text|tr.row'
	[[ ${SEEN[*]} == *"$site"* ]] || fail "the page has ${SEEN[*]}"
	terminal 24 80
	before
	start_top -s 64k
	sees "iB +[0-9,]+ .* $site  \\("
	keys q
	left 0
	"$TOOL" survey -i 100ms --window 1 --budget 100 --comm '^redis-server$' >"$D/text" 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	until_true $((2 * DEADLINE)) names_site "$site" || fail "$(tail -n 20 "$D/text")"
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?"
}

@test "C++: names are folded in the list, on the page, and in what holds a block" {
	need g++
	cat >"$D/kept.cc" <<-'EOF'
		#include <string>
		#include <unistd.h>
		template <class T> struct Keeper {
			struct node { T value[8]; node *next; } *head = nullptr;
			__attribute__((noinline)) void add(const T &) { head = new node{{}, head}; }
		};
		Keeper<std::string> kept;
		int main() { for (;;) { kept.add(""); usleep(1000); } }
	EOF
	g++ -g -O1 -o "$D/kept" "$D/kept.cc"
	run_target "$D/kept"
	terminal 24 100
	before
	start_top
	sees 'iB .* Keeper<\.\.>::add\(\.\.\)  \(kept\.cc:5\)'
	keys v
	sees '^verdict: '
	keys Enter
	sees '^ +Keeper<\.\.>::add\(.*kept\.cc:5'
	sees 'held by kept'
	sees '^ +-> a block of [0-9]+ B from Keeper<\.\.>::add\(std::string const&\)$'
	keys q q
	left 0
}

@test "names that are made to harm a terminal do not" {
	local evil=$'\e[41mX\e]0;Y\a'

	mkdir "$D/evil"
	cp "$TARGETS/leaf" "$D/evil/$evil"
	start_target "$D/evil/$evil"
	terminal 24 80
	before
	start_top
	tell go
	sees '^[0-9]+ \(\?\[41mX\?\]0;Y\?\)'
	keys q
	left 0
}
