#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stacks of programs that have a runtime of their own, against what that runtime says of them.

load lib.bash

setup() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
	fresh
}

# go_stacks PROGRAM [C_FUNCTION…]: found in each stack that C has called back from. The program is there when the tool comes: what it calls before
# user space knows its mappings is walked on a copy of the thread's own stack (docs/runtimes.md).
go_stacks() {
	[[ -x $TARGETS/$1 ]] || skip 'no go to build with'
	start_target "$TARGETS/$1"
	attach
	echo >&"$T_IN"
	target_line '['
	printf '%s\n' "$LINE" >"$D/truth"
	snap
	printf '%s\n' "$SNAP" >"$D/result"
	"$HERE/managed.py" "$D/truth" "$D/result" "${@:2}" || fail "$1"
	echo >&"$T_IN"
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}

@test "Go: from main, goroutines and a callback from C, each frame with its line" {
	each_mode go_stacks leak_go call_back crosscall2
}

@test "Go: position-independent" {
	go_stacks leak_go.pie call_back crosscall2
}

# Its C is not optimised, and keeps frame pointers.
@test "Go: without DWARF" {
	go_stacks leak_go.w call_back crosscall2
}

# Of C's functions only those have a name that are visible to the dynamic linker.
@test "Go: without DWARF and symbols" {
	go_stacks leak_go.s crosscall2
}

# java_stacks ROUNDS CONDITION [OPTION…]: what has to hold of all stacks that lead through zlib to Java, as jq's $stacks; $depth: how many
# Java methods are on each. Frames without a function are code that the JVM has made.
java_stacks() {
	[[ -r $TARGETS/leak_java/LeakJava.class ]] || skip 'no javac to build with'
	timeout "$((4 * DEADLINE))" "$TOOL" -f json -T 100000 -o "$D/result" -- java -cp "$TARGETS/leak_java" "${@:3}" LeakJava "$1" >"$D/truth" 2>"$D/tool.err" ||
		fail "status $?"
	jq -se --argjson depth "$(tail -n 1 "$D/truth")" --argjson rounds "$1" '
		[.[-1].stacks[] | select(any(.frames[]; .function == "Java_java_util_zip_Inflater_init"))] as $stacks |
		def java: .frames | map(.function) | .[index("Java_java_util_zip_Inflater_init") + 1:];
		# Two blocks each time, and all of them still there.
		([$stacks[].live.count] | add) == 2 * $rounds and ('"$2"')' "$D/result" >/dev/null || {
		jq -c '.stacks[:4][] | [.end, .live.count, (.frames | map(.function))]' "$D/result" >&2
		fail "$2"
	}
}

# Never another function than the one that has called Java, however far a stack goes.
java_only='all($stacks[] | java | map(select(.))[0:1][]; startswith("JavaCalls::call_helper"))'
java_whole='all($stacks[]; .end == "complete" and (java | any(. // "" | startswith("JavaCalls::call_helper"))))'

# The native method's entry, the methods, and the stub that Java is called by.
@test "Java: interpreted, a frame for each method" {
	java_stacks 500 "$java_only and $java_whole"' and all($stacks[]; java | index(map(select(.))[0]) == $depth + 2)' -Xint
}

@test "Java: compiled with frame pointers, whole" {
	java_stacks 20000 "$java_only and $java_whole" -XX:+PreserveFramePointer
}

@test "Java: compiled, no frame that is none" {
	java_stacks 20000 "$java_only"
}

# python_stacks [INTERPRETER [OPTION…]]: the frames are those that sys._getframe() has given, with the names and lines of the moment.
python_stacks() {
	local python=${1:-/usr/bin/python3}

	T_PID=
	run_target env PYTHONHASHSEED=0 "$python" "$HERE/../targets/leak_python.py"
	target_line 'ready '
	T_PID=${LINE#ready }
	attach "${@:2}"
	echo >&"$T_IN"
	target_line '['
	printf '%s\n' "$LINE" >"$D/truth"
	snap
	printf '%s\n' "$SNAP" >"$D/result"
	"$HERE/managed_python.py" "$D/truth" "$D/result" ${2:+native} || fail "$python"
	jq -e '[.lost[]] | add == 0' "$D/result" >/dev/null || fail 'something was lost'
	echo >&"$T_IN"
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}

has_python_frames() {
	/usr/bin/python3 -c 'import sys; sys.exit(not (3, 8) <= sys.version_info < (3, 15))' || skip 'this python3 is not one of 3.8 to 3.14'
}

@test "Python: each function with its line: threads, generators, asyncio, callbacks from C, code that is gone" {
	has_python_frames
	each_mode python_stacks
}

@test "Python: --native-frames: as many calls of the interpreter as C has made" {
	has_python_frames
	python_stacks /usr/bin/python3 --native-frames
}

@test "Python: of other versions, as far as pyenv has them here" {
	local python tried=

	for python in "${PYENV_ROOT:-$HOME/.pyenv}"/versions/3.*/bin/python3; do
		"$python" -c 'import sys, sysconfig; sys.exit(not (3, 8) <= sys.version_info < (3, 15) or bool(sysconfig.get_config_var("Py_GIL_DISABLED")))' \
			2>/dev/null || continue
		python_stacks "$python"
		tried=yes
	done
	[[ -n $tried ]] || skip 'pyenv has no python here'
}

# A program that exports what CPython exports, and leads whoever follows it astray.
forged() {
	T_PID=
	run_target "$TARGETS/forged_python"
	target_line 'ready '
	T_PID=${LINE#ready }
	attach -v
	for how in circle plain text far other place code state edge1 edge2; do
		echo "$how" >&"$T_IN"
		target_line 'done'
	done
	snap
	holds '.lost.python_frames == 5 and ([.lost[]] | add) == 5'
	holds '[.stacks[] | select(.live.bytes == 5001)] | length == 1 and .[0].end == "truncated" and
		(.[0].frames | map(select(.kind == "python")) | length > 100 and all(.function == "for?ge" and (has("line") | not)))'
	# Of 128 frames at the most, of which one at least is malloc.
	holds '[.stacks[] | select(.live.bytes == 5001).frames | length] == [128]'
	holds '[.stacks[] | select(.live.bytes == 5002).frames[] | select(.kind == "python").function] == ["for?ge"]'
	holds '[.stacks[] | select(.live.bytes == 5003).frames[] | select(.kind == "python").function | length] == [257]'
	# What cannot be followed to its end is not shown at all, and that is said once.
	holds '[.stacks[] | select(.live.bytes > 5003 and .live.bytes != 5009 and .live.bytes != 5010)] | (map(.live.count) | add) == 5 and
		all(.[].frames[]; .kind != "python") and all(.[].frames[1]; .function == "_PyEval_EvalFrameDefault")'
	# The code objects differ in a table at the end of the memory only.
	holds '[.stacks[] | select(.live.bytes == 5009 or .live.bytes == 5010) | .live.bytes, (.frames[] | select(.kind == "python").line)] | sort == [105, 107, 5009, 5010]'
	tool_says 'stacks without frames of Python: a frame of it is in no memory .number 1, at 0x10.'
	exec {T_IN}>&-
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
	[[ $(grep -c 'stacks without frames' "$D/tool.err") -eq 1 ]] || fail 'said more than once'
}

@test "Python: one that is none: frames in circles, without memory, of other objects" {
	[[ -x $TARGETS/forged_python ]] || skip 'not on this machine'
	each_mode forged
}
