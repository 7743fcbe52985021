#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stacks of Python, where one way to attach says it all: interpreters of other versions and places, what only looks like one, what the tool says of it.
# In each way: managed.bats.
# bats file_tags=beside

load lib.bash
load managed.bash

setup() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
	fresh
}

@test "Python: --native-frames: as many calls of the interpreter as C has made" {
	has_python_frames
	python_stacks /usr/bin/python3 --native-frames
}

@test "Python: of other versions, as far as pyenv or PYTHON_ROOT has them" {
	local python tried='' all=("${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3)

	[[ -z ${PYTHON_ROOT-} ]] || all=("$PYTHON_ROOT"/usr/bin/python3.[0-9] "$PYTHON_ROOT"/usr/bin/python3.[0-9][0-9])
	for python in "${all[@]}"; do
		python=${python#"${PYTHON_ROOT-}"}
		chroot "${PYTHON_ROOT:-/}" "$python" -c 'import sys, sysconfig; sys.exit(not (3, 8) <= sys.version_info < (3, 15) or bool(sysconfig.get_config_var("Py_GIL_DISABLED")))' \
			2>/dev/null || continue
		fresh
		python_stacks "$python"
		clean
		tried=yes
	done
	[[ -n $tried ]] || skip 'pyenv has no python here'
}

# forged_fails HOW PATTERN: what is said of the first stack that cannot be followed.
forged_fails() {
	fresh
	start_target "$TARGETS/forged_python"
	attach
	echo "$1" >&"$T_IN"
	target_line 'done'
	snap
	holds '.lost.python_frames == 1'
	exec {T_IN}>&-
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
	grep -Eq -- "stacks without frames of Python: $2; " "$D/tool.err" || fail "$1: $(<"$D/tool.err")"
	clean
}

@test "Python: a line names the frame that could not be followed, and its place" {
	[[ -x $TARGETS/forged_python ]] || skip 'not on this machine'
	forged_fails other "what a frame has for its code is none \\(number 1, at 0x[1-9a-f][0-9a-f]*\\)"
	forged_fails code "a frame of it is in no memory \\(number 1, at 0x[1-9a-f][0-9a-f]*\\)"
	forged_fails far 'a frame of it is in no memory \(number 2, at 0x10\)'
	forged_fails state "the thread's state is in no memory \\(at 0x[1-9a-f][0-9a-f]*\\)"
}

# One after the other, functions whose objects are all at the same addresses.
@test "Python: before 3.11 a function is not taken for one that was there and had fewer instructions" {
	[[ -x $TARGETS/forged_python.3_10 ]] || skip 'not on this machine'
	start_target "$TARGETS/forged_python.3_10"
	attach
	for how in plain again; do
		echo "$how" >&"$T_IN"
		target_line 'done'
	done
	snap
	holds '[.stacks[] | select(.live.bytes == 5001 or .live.bytes == 5002) | [.live.bytes, (.frames[] | select(.kind == "python").function)]] |
		sort == [[5001, "for?ge"], [5002, "longer"]]'
	exec {T_IN}>&-
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}

# forged_is PROGRAM [COMMAND]: the Python function is there that it says it is in.
forged_is() {
	[[ -x $TARGETS/$1 ]] || skip 'not on this machine'
	start_target "$TARGETS/$1"
	attach
	echo "${2:-plain}" >&"$T_IN"
	target_line 'done'
	snap
	holds '[.stacks[] | select(.live.bytes == 5001).frames[] | select(.kind == "python").function] == ["for?ge"]'
	exec {T_IN}>&-
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}

@test "Python: code that begins within a page of the file, behind another segment" {
	command -v ld.lld >/dev/null || skip 'no ld.lld to link with'
	forged_is forged_python.lld
}

@test "Python: a block's holder, and the functions that allocated both" {
	has_python_frames
	cat >"$D/held.py" <<-'EOF'
		import ctypes
		import os
		import sys

		malloc = ctypes.CDLL(None).malloc
		malloc.argtypes = [ctypes.c_size_t]
		malloc.restype = ctypes.c_void_p


		def outer():
		    return ctypes.c_void_p(malloc(20000))


		def inner(block):
		    ctypes.c_void_p.from_address(block.value + 8).value = malloc(10000)


		print("ready", os.getpid(), flush=True)
		sys.stdin.readline()
		kept = outer()
		inner(kept)
		print("done", flush=True)
		sys.stdin.readline()
	EOF
	start_target /usr/bin/python3 "$D/held.py"
	attach --verdict --max-pause 1m
	echo >&"$T_IN"
	target_line 'done'
	snap
	holds '[.stacks[] | select(.live.bytes == 10000 or .live.bytes == 20000) | [.frames[] | select(.kind == "python").function]] |
		sort == [["inner", "<module>"], ["outer", "<module>"]]'
	holds '[.stacks[] | select(.live.bytes == 10000)][0] | .verdict.reachable.count == 1 and (.held_by | length > 1 and .[-1] == "a block of 19.5 KiB from outer")'
	echo >&"$T_IN"
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}

# Recorded memory of versions that the machine need not have.
@test "Python: frames of each version as its own memory was" {
	local program wanted played=0

	for program in "$TARGETS"/recorded_python.*; do
		[[ -x $program ]] || skip 'not on this machine'
		fresh
		start_target "$program"
		attach
		echo >&"$T_IN"
		target_line '['
		wanted=$LINE
		snap
		holds "[.stacks[] | select(.live.bytes == 5001)] | length == 1 and .[0].end == \"complete\" and
			(.[0].frames | map(select(.kind == \"python\") | {function, file, line}) == $wanted)"
		holds 'all(.stacks[].frames[]; .function != "_PyEval_EvalFrameDefault")'
		holds '.lost.python_frames == 0'
		exec {T_IN}>&-
		wait "$T_PID" || fail "the target ended with status $?"
		tool_ends
		clean
		played=$((played + 1))
	done
	((played >= 6)) || fail "$played of them"
}

@test "Python: a name whose state has its flags where some headers of 3.14 have them" {
	forged_is forged_python wide
}

# A program that opens and closes libraries when it is told to, and allocates.
dl_starts() {
	[[ -x $TARGETS/forged_dl ]] || skip 'not on this machine'
	start_target "$TARGETS/forged_dl"
	attach -v
}

# dl_does COMMAND…: each is done when the next one is given.
dl_does() {
	local command

	for command; do
		echo "$command" >&"$T_IN"
		target_line 'done'
	done
}

so_many_messages() { # COUNT
	[[ $(grep -c 'frames of Python 3.11.2 (forged_python.so)' "$D/tool.err") -eq $1 ]]
}

@test "Python: in a library that is closed and opened elsewhere" {
	local round

	dl_starts
	for round in 1 2 3 4; do
		((round != 4)) || dl_does up
		dl_does 'open forged_python.so'
		until_true "$DEADLINE" so_many_messages "$round" || fail "round $round: it was not found"
		dl_does go close
	done
	snap
	holds '[.stacks[] | select(.live.bytes == 20010) | .live.count, (.frames | map(select(.kind == "python").function))] == [4, ["for?ge"]]'
	holds '.lost.python_frames == 0'
	exec {T_IN}>&-
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}

says_refused() {
	grep -q 'no frames of Python (forged_python.newso 4.0.0)' "$D/tool.err"
}

@test "Python: in a library that is opened beside one of an unknown version" {
	dl_starts
	dl_does 'open forged_python.newso'
	until_true "$DEADLINE" says_refused || fail 'what is not known was not refused'
	dl_does 'open forged_python.so'
	until_true "$DEADLINE" so_many_messages 1 || fail 'what is known was not found'
	dl_does go
	snap
	holds '[.stacks[] | select(.live.bytes == 5001) | .live.count, (.frames | map(select(.kind == "python").function))] == [1, ["for?ge"]]'
	exec {T_IN}>&-
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}

# Its variables are still there, as if it were: nothing follows them any more.
@test "Python: in a library that is closed, and then one of an unknown version" {
	dl_starts
	dl_does 'open forged_python.so'
	until_true "$DEADLINE" so_many_messages 1 || fail 'what is known was not found'
	dl_does go haunt 'open forged_python.newso'
	until_true "$DEADLINE" says_refused || fail 'what is not known was not refused'
	dl_does go
	snap
	holds '[.stacks[] | select(.live.bytes == 5001 or .live.bytes == 5002) | [.live.bytes, (.frames[] | select(.kind == "python").function)]] |
		sort == [[5001, "for?ge"], [5002]]'
	exec {T_IN}>&-
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}

# doctor_says_of PROGRAM PATTERN [PATTERN]: what doctor says, and the tool when it attaches; without the second, nothing of frames that are missing.
doctor_says_of() {
	start_target "$TARGETS/$1"
	run_tool doctor -p "$T_PID"
	grep -Eq -- "$2" <<<"$OUT" || fail "$1: $OUT"
	run_tool -p "$T_PID" -n 1 -i 100ms
	[[ $STATUS -eq 0 ]] || fail "$1: status $STATUS: $ERR"
	if [[ -n ${3-} ]]; then
		grep -Eq -- "$3" <<<"$ERR" || fail "$1: $ERR"
	else
		! grep 'no frames of Python' <<<"$ERR" || fail "$1: $ERR"
	fi
	exec {T_IN}>&-
	wait "$T_PID" || fail "the target ended with status $?"
}

@test "Python: doctor and the tool say what is recognised, and why there are no frames" {
	[[ -x $TARGETS/forged_python ]] || skip 'not on this machine'
	doctor_says_of forged_python '^    Python 3\.11\.2: stacks have its functions'
	doctor_says_of forged_python.new '^    Python 4\.0\.0: no frames of it.*layout' 'no frames of Python .forged_python.new 4\.0\.0.: the layout'
	doctor_says_of forged_python.hidden '^    Python: no frames of it.*exports nothing' 'no frames of Python .forged_python.hidden.: it is linked'
}

# What is known of code objects holds beyond a walk: parent and child have a probe each for those that are freed.
@test "Python: in a forked child, where code objects end too" {
	has_python_frames
	start_target env PYTHONHASHSEED=0 /usr/bin/python3 "$(realpath "$HERE/../targets/leak_python.py")" forks
	attach -v --children exact
	echo >&"$T_IN"
	target_line 'ready '
	local parent=$T_PID child=${LINE#ready }
	T_PID=$child
	attached "$child"
	for pid in "$parent" "$child"; do
		grep -q "process $pid .*: the ends of Python's code objects are told" "$D/tool.err" || fail "$pid"
	done
	truth_and_result
	"$HERE/managed_python.py" "$D/truth" "$D/result" || fail 'in the child'
	echo >&"$T_IN"
	wait "$parent" || fail "the target ended with status $?"
	tool_ends
}

# The interpreter's file and the script are nowhere but in there.
@test "Python: in a chroot with a mount namespace of its own" {
	has_python_frames
	T_PID=
	mkdir "$D/root"
	run_target unshare -m "$BASH" -c '
		mount -t tmpfs none "$1" && cd "$1" && mkdir usr proc tmp && mount --rbind /usr usr && mount -t proc proc proc || exit 1
		for link in lib lib64 bin etc; do [[ ! -L /$link ]] || cp -P "/$link" "$link"; done
		[[ -e lib64 ]] || { mkdir lib64 lib; mount --bind /lib64 lib64; mount --bind /lib lib; }
		cp -L /usr/bin/python3 python-of-its-own && cp "$2" app.py && exec env PYTHONHASHSEED=0 PYTHONHOME=/usr chroot . /python-of-its-own /app.py' - \
		"$D/root" "$HERE/../targets/leak_python.py"
	target_line 'ready '
	T_PID=${LINE#ready }
	attach
	truth_and_result
	"$HERE/managed_python.py" "$D/truth" "$D/result" || fail 'in a chroot'
	jq -e 'all(.[].stack[0]; .file == "/app.py")' "$D/truth" >/dev/null || fail "$(<"$D/truth")"
	echo >&"$T_IN"
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}
