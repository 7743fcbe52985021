#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# --guard: each bug of tests/targets/guarded.c by its kind, place and functions, the program's own results right all the
# while; nothing is told of what is right; and what is left behind by a tool that is killed.
# bats file_tags=beside

load lib.bash
load recording.bash

setup() {
	[[ -x $TOOL ]] || fail "no $TOOL: run make first"
	need_gate # the same machine code
	fresh
}

# guarded ARG…: every call, and waits until it is so.
guarded() {
	start_tool -p "$T_PID" --guard=1 -v "$@"
	attached "$T_PID"
	tool_says "^memleakbpf: process $T_PID .*: guards before"
}

# Twice freed again, from two places, are two. Kind, read or write, offset and size, and the functions of the program in which that was allocated, freed and touched: of all that was seen.
seen() {
	jq -r 'def site: first(.frames[].function | select(IN("get", "put", "put_again", "grow_freed", "load", "store", "fill", "drain"))) // "-";
		def bug: first((.touch // .free).frames[].function | select(IN("overflow_read", "overflow_write", "overflow_far", "underflow",
			"slack", "move_over", "freed_read", "freed_write", "freed_both", "in_thread", "double_free", "interior_free", "realloc_freed",
			"read_over", "write_over"))) // "?";
		.bad_accesses[] | [bug, .kind, .access // "-", .offset, .size, .count, (.alloc | site), ((.free // {frames: []}) | site),
			((.touch // {frames: []}) | site)] | join(" ")' <<<"$SNAP" | sort
}

EXPECTED='double_free double_free - 0 96 1 get put put_again
double_free double_free - 0 96 1 get put put_again
freed_both use_after_free read 9 96 1 get put load
freed_read use_after_free read 4 96 1 get put load
freed_write use_after_free write 7 96 1 get put store
in_thread use_after_free read 11 96 1 get put load
interior_free invalid_free - 16 96 1 get - put_again
overflow_far overflow write 4192 96 1 get - store
overflow_read overflow read 96 96 1 get - load
overflow_write overflow write 96 96 1 get - store
read_over overflow write 96 96 1 get - fill
realloc_freed double_free - 0 96 1 get put grow_freed
slack slack_overwrite write 92 90 1 get put -
underflow underflow write -5 96 1 get - store
write_over overflow read 96 96 1 get - drain'

preloaded() {
	start_target /usr/bin/env LD_PRELOAD="$1" "$TARGETS/guarded.nofp"
	guarded
	tool_says "^memleakbpf: process $T_PID .*: guards before $2"
	all_bugs
	stop_tool
	tell right
	holds_truth '.failed == false'
	end_target
}

need_library() {
	/sbin/ldconfig -p | grep -q "^[[:space:]]*$1 " || skip "no $1"
}

@test "each bug is found with jemalloc" {
	need_library libjemalloc.so.2
	preloaded libjemalloc.so.2 jemalloc
}

@test "each bug is found with tcmalloc" {
	need_library libtcmalloc_minimal.so.4
	preloaded libtcmalloc_minimal.so.4 tcmalloc
}

@test "each bug is found with mimalloc" {
	need_library libmimalloc.so.2
	preloaded libmimalloc.so.2 mimalloc
}

all_bugs() {
	tell bugs
	holds_truth '.failed == false'
	snap
	[[ $(seen) == "$EXPECTED" ]] || fail "seen: $(diff <(printf '%s\n' "$EXPECTED") <(seen))"
	holds '.guard.on and (.guard.lost // 0) == 0'
}

holds_truth() {
	jq -e "$1" <<<"$TRUTH" >/dev/null || fail "$1"
}

# bats test_tags=quick
@test "each bug by its kind, offset, size and three functions; the program behaves as ever" {
	start_target "$TARGETS/guarded.nofp"
	guarded
	all_bugs
	holds '.bad_accesses[] | select(.kind == "slack_overwrite") | .value == 122'
	holds '.bad_accesses[] | select(any(.touch.frames[]?; .function == "in_thread")) | .comm == "other"'
	# One that does nothing wrong, with children amid threads: nothing new is told.
	tell right
	holds_truth '.failed == false'
	snap
	[[ $(seen) == "$EXPECTED" ]] || fail "seen: $(diff <(printf '%s\n' "$EXPECTED") <(seen))"
	holds '.guard.guarded > 10000'
	stop_tool
	end_target
}

@test "one write past the end that changes the bytes there and touches the next page is told once" {
	start_target "$TARGETS/guarded.nofp"
	guarded
	tell move
	holds_truth '.failed == false'
	snap
	[[ $(seen) == 'move_over overflow write 96 90 1 get - -' ]] || fail "$(seen)"
	# Without the page it is found when the block is freed, as ever.
	tell bugs
	snap
	seen | grep -qx 'slack slack_overwrite write 92 90 1 get put -' || fail "$(seen)"
	stop_tool
	end_target
}

# A child that is forked from it, and lives.
@test "a child of a process with guards: followed or named by itself it is traced without any, and says why" {
	local child

	start_target "$TARGETS/guarded.nofp"
	guarded
	tell child
	child=$(jq .child <<<"$TRUTH")
	attached "$child"
	snap "$child"
	holds "(.guard.on | not) and .guard.reason == \"it was forked from a process, and is no program of its own\""
	stop_tool
	start_tool -p "$child" --guard=1
	attached "$child"
	tool_says "process $child .* has no guards: there is a jump at .*: the guards of the process that it was forked from"
	snap "$child"
	holds '(.guard.on | not) and .bad_accesses == []'
	kill -TERM "$child"
	tool_ends
	tell right
	holds_truth '.failed == false'
	end_target
}

@test "the same behind a gate, exact and sampled: nobody sees its code in a stack" {
	local before options

	start_target "$TARGETS/guarded.nofp"
	before=$(code)
	for options in '' '-s 16k'; do
		# shellcheck disable=SC2086 # words
		guarded --gate $options
		grep -q "process $T_PID .*: a gate before libc.so.6" "$D/tool.err" || fail 'there is no gate'
		all_bugs
		holds '[.bad_accesses[] | .alloc, .free, .touch | .frames[]?.module | select(. != null and test("memleakbpf"))] == []'
		tell right
		holds_truth '.failed == false'
		stop_tool
	done
	[[ $(code) == "$before" ]] || grep -q "process $T_PID .*: has guarded blocks, whose guards stay" "$D/tool.err" ||
		fail "free is $(code), and was $before"
	end_target
}

@test "kill -9: the program goes on, a next tool takes over, and its end restores the functions or says why not" {
	local before

	start_target "$TARGETS/guarded.nofp"
	before=$(code)
	guarded
	[[ $(code) != "$before" ]] || fail 'free has no jump'
	tell again
	kill -KILL "$TOOL_PID"
	wait "$TOOL_PID" || :
	tell right
	holds_truth '.failed == false'
	guarded
	all_bugs
	stop_tool
	# What the C library keeps of threads that have ended may be guarded.
	[[ $(code) == "$before" ]] || grep -q "process $T_PID .*: has guarded blocks, whose guards stay" "$D/tool.err" ||
		fail "free is $(code), and was $before"
	tell right
	holds_truth '.failed == false'
	end_target
}

# The first bytes of the C library's free in the target.
code() {
	/usr/bin/python3 - "$T_PID" <<'END'
import os, re, subprocess, sys
pid = sys.argv[1]
maps = [line.split() for line in open(f"/proc/{pid}/maps")]
lib = next(row for row in maps if len(row) > 5 and row[5].endswith("/libc.so.6") and row[2] == "00000000")
names = subprocess.run(["nm", "-D", lib[5]], capture_output=True, text=True, check=True).stdout
at = int(re.search(r"^(\w+) T free@@", names, re.M)[1], 16)
with open(f"/proc/{pid}/mem", "rb", 0) as memory:
    print(os.pread(memory.fileno(), 16, int(lib[0].split("-")[0], 16) + at).hex())
END
}

@test "--error-exitcode: a bad access is a failure; without one it is none" {
	start_target "$TARGETS/guarded.nofp"
	guarded --error-exitcode 9
	tell right
	stop_tool
	[[ $TOOL_STATUS -eq 0 ]] || fail "status $TOOL_STATUS without a bad access"
	guarded --error-exitcode 9
	tell again
	kill -INT "$TOOL_PID"
	tool_ends
	[[ $TOOL_STATUS -eq 9 ]] || fail "status $TOOL_STATUS"
	end_target
}

@test "a recording: report lists it as it was, and diff says what is new, gone, and in both" {
	start_target "$TARGETS/guarded.nofp"
	tool_into "$D/rec" record --guard=1
	record_steps share again # neither forks: a child's end is a snapshot, too
	tool_stops
	report "$D/rec" -f json
	SNAP=$(tail -n 1 <<<"$REPORT")
	[[ $(seen) == 'overflow_read overflow read 96 96 1 get - load' ]] || fail "seen: $(seen)"
	holds '.guard.on and .guard.guarded > 20'
	report "$D/rec"
	grep -q '^bad    heap buffer overflow: READ 0 bytes after the end of a 96-byte block' <<<"$REPORT" || fail "$REPORT"
	"$TOOL" diff "$D/rec" >"$D/diff" || fail 'no diff'
	grep -A 2 '^old ' "$D/diff" | grep -q '^guard  no bad access seen in [0-9]* guarded blocks$' || fail "$(<"$D/diff")"
	grep -A 2 '^new ' "$D/diff" | grep -q '^guard  1 bad access seen in [0-9]* guarded blocks$' || fail "$(<"$D/diff")"
	grep -qx 'bad    by kind and stacks: 1 new, 0 in both, 0 gone' "$D/diff" || fail "$(<"$D/diff")"
	grep -A 3 '^bad    new, 1 time: heap buffer overflow: READ 0 bytes after the end of a 96-byte block$' "$D/diff" | grep -q '^    load+' || fail "$(<"$D/diff")"
	"$TOOL" diff "$D/rec" -f json >"$D/diff.json"
	"$ROOT/tests/tools/schema.py" diff "$D/diff.json" || fail 'not as its schema says'
	jq -e '(.old | has("bad_accesses") | not) and .old.guarded > 20 and .new.bad_accesses == 1 and
		(.bad_accesses | length == 1 and .[0].change == "new" and .[0].old == 0 and .[0].new == 1 and .[0].bad_access.kind == "overflow" and
		any(.[0].bad_access.alloc.frames[]; .function == "get"))' "$D/diff.json" >/dev/null || fail "$(<"$D/diff.json")"
	end_target
	# Another process of the same program, that does the same and more; what it does is new, what is the same is not.
	mv "$D/rec" "$D/old"
	start_target "$TARGETS/guarded.nofp"
	tool_into "$D/rec" record --guard=1
	record_steps again again bugs
	tool_stops
	end_target
	"$TOOL" diff "$D/old" "$D/rec" -f json >"$D/diff.json"
	"$ROOT/tests/tools/schema.py" diff "$D/diff.json" || fail 'not as its schema says'
	# The recording's own list, but for what was there before.
	report "$D/rec" -f json
	jq -e --argjson all "$(tail -n 1 <<<"$REPORT" | jq .bad_accesses)" 'def function: .touch.frames[1].function;
		(.bad_accesses | map(select(.change == "both")) | length == 1 and .[0].old == 1 and .[0].new == 2 and (.[0].bad_access | function) == "overflow_read") and
		(.bad_accesses | any(.change == "gone") | not) and (.bad_accesses | length > 10) and .new.bad_accesses == ($all | map(.count) | add) and
		.new.bad_accesses == (.bad_accesses | map(.new) | add)' "$D/diff.json" >/dev/null || fail "$(jq -c '.bad_accesses[] | [.change, .old, .new, .bad_access.kind, .bad_access.touch.frames[1].function]' "$D/diff.json")"
	"$TOOL" diff "$D/rec" "$D/old" >"$D/diff" || fail 'no diff'
	grep -q '^bad    gone, 1 time: heap use after free: READ 4 bytes inside a freed 96-byte block; read in load, freed before in put, allocated in get$' "$D/diff" || fail "$(<"$D/diff")"
	grep -q '^bad    in both, 2 -> 1 times: heap buffer overflow: READ' "$D/diff" || fail "$(<"$D/diff")"
}

@test "a recording of a name: what a process that came later had shown by its first snapshot is new" {
	local name=g$BASHPID

	ln -s "$TARGETS/guarded.nofp" "$D/$name"
	start_target "$D/$name"
	: >"$D/tool.err"
	patience record
	env --default-signal=INT "$TOOL" record "${PATIENCE[@]}" -i 1h --guard=1 -p "$name" -o "$D/rec" >"$D/tool.out" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	attached "$T_PID"
	record_steps again
	end_target
	# It has one snapshot, that of its end.
	start_target "$D/$name"
	attached "$T_PID"
	tell again
	end_target
	until_true "$DEADLINE" recorded 3 || fail "$("$TOOL" report "$D/rec" -f json | jq -c '[.pid, .exited]')"
	tool_stops
	"$TOOL" diff "$D/rec" -f json >"$D/diff.json" || fail 'no diff'
	"$ROOT/tests/tools/schema.py" diff "$D/diff.json" || fail 'not as its schema says'
	jq -e '.old.bad_accesses == 1 and .new.bad_accesses == 2 and .new.ended == 2 and (.bad_accesses | length == 1 and .[0].old == 1 and .[0].new == 2)' "$D/diff.json" >/dev/null || fail "$(<"$D/diff.json")"
}

# All callers have one return address where a probe waits for the return.
@test "blocks that stay use up the share of where they come from, not that of their size" {
	start_target "$TARGETS/guarded.nofp"
	guarded
	tell share
	holds_truth '.failed == false'
	snap
	holds '.bad_accesses == [] and .guard.passed > 100'
	stop_tool
	end_target
}

@test "a touch while a block is being freed counts and is not told, and its page is armed for the next block" {
	start_target "$TARGETS/guarded.nofp"
	guarded
	tell amid
	holds_truth '.failed == false'
	snap
	holds '.guard.amid == 1 and .bad_accesses == []'
	tell amid_again
	holds_truth '.failed == false'
	snap
	holds '.guard.amid == 1'
	holds '[.bad_accesses[] | .kind, .offset, .count] == ["overflow", 96, 1]'
	stop_tool
	end_target
}

# Of what all_bugs expects, all but uses after free.
none_after_free() {
	tell bugs
	holds_truth '.failed == false'
	snap
	[[ $(seen) == "$(grep -v use_after_free <<<"$EXPECTED")" ]] ||
		fail "seen: $(diff <(grep -v use_after_free <<<"$EXPECTED") <(seen))"
	holds '.guard.on and (.guard.use_after_free | not)'
}

@test "a seccomp filter that lets madvise pass: each bug; with one that kills for it: no use after free, and the program lives" {
	start_target "$TARGETS/guarded.nofp"
	tell allow
	guarded
	tool_says "^memleakbpf: process $T_PID .*: its seccomp filters \(1\) let madvise pass"
	all_bugs
	holds '.guard.use_after_free'
	tell forbid
	snap
	holds '.guard.use_after_free | not'
	tool_says "^memleakbpf: .*process $T_PID .* has a seccomp filter now: no more uses after free are seen"
	tell right
	holds_truth '.failed == false'
	stop_tool
	guarded
	tool_says "^memleakbpf: process $T_PID .*: no use after free is seen: a seccomp filter of its might not let madvise pass"
	none_after_free
	stop_tool
	end_target
}

# forbids_itself HOW ARG…: the program ends as it would without a tool.
forbids_itself() {
	local how=$1 status=0
	shift
	timeout $((20 * DEADLINE)) "$TOOL" -v --guard=1 "$@" -o "$D/snapshots" -- "$TARGETS/sandboxed.nofp" "$how" \
		<<<go >"$D/said" 2>"$D/err" || status=$?
	[[ $status == 0 ]] || fail "$how: status $status: $(tail -5 "$D/err")"
	grep -q '^fine$' "$D/said" || fail "$how: it says: $(<"$D/said")"
	# Until then pages were dropped.
	grep -q ': guards before' "$D/err" || fail "$how: $(<"$D/err")"
	! grep -q 'no use after free is seen' "$D/err" || fail "$how: $(<"$D/err")"
}

@test "a program that forbids itself all but what malloc needs goes on: one thread, all of them, children, strict mode" {
	local how

	for how in prctl syscall raw probe tsync fork vfork strict; do
		forbids_itself "$how"
	done
	forbids_itself prctl --gate
	forbids_itself tsync --gate
	forbids_itself raw --gate
}

# No function of the C library tells of it; and after kill -9 nobody is there who could.
@test "a filter by a system call instruction of the program's own: a process that runs already goes on, with the tool and after it was killed" {
	local status tool how

	for how in stays killed; do
		status=0
		rm -f "$D/go" "$D/said"
		mkfifo "$D/go"
		"$TARGETS/sandboxed.nofp" raw <>"$D/go" >"$D/said" 3>&- &
		T_PID=$!
		PIDS+=("$T_PID")
		until_true "$DEADLINE" grep -q ready "$D/said" || fail 'it does not begin'
		"$TOOL" -v --guard=1 -o "$D/snapshots" -p "$T_PID" 2>"$D/err" 3>&- &
		tool=$!
		PIDS+=("$tool")
		until_true "$DEADLINE" grep -q 'attached to' "$D/err" || fail "$(<"$D/err")"
		if [[ $how == killed ]]; then
			kill -KILL "$tool"
			wait "$tool" || :
		fi
		echo go >"$D/go"
		wait "$T_PID" || status=$?
		[[ $how == killed ]] || wait "$tool" || fail "the tool: $(<"$D/err")"
		grep -q ': guards before' "$D/err" || fail "$(<"$D/err")"
		[[ $status -eq 0 ]] && grep -q '^fine$' "$D/said" || fail "$how: status $status: $(tail -5 "$D/err")"
	done
}

@test "memory that is locked later turns guards off, and says so" {
	start_target "$TARGETS/guarded.nofp"
	guarded
	snap
	holds '.guard.on'
	tell lock
	holds_truth '.failed == false'
	snap
	holds '(.guard.on | not) and (.guard.reason | test("locked"))'
	tell right
	holds_truth '.failed == false'
	snap
	holds '(.guard.on | not) and .bad_accesses == []'
	stop_tool
	end_target
}
