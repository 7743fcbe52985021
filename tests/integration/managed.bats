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
	truth_and_result
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
# Java methods are on each. On a busy machine the first are walked before the tool knows the JVM: they have no names, and are counted.
java_stacks() {
	local depth

	[[ -r $TARGETS/leak_java/LeakJava.class ]] || skip 'no javac to build with'
	"$TOOL" -f json -i 1h -T 100000 -o "$D/json" -- java -cp "$TARGETS/leak_java" "${@:3}" LeakJava "$1" <"$D/in" >"$D/out" 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	exec {T_IN}>"$D/in" {T_OUT}<"$D/out" {J_OUT}<"$D/json"
	target_line 'kept '
	depth=${LINE#kept }
	# While it is there: names are read from it. These are long lines, which bash would read byte by byte.
	kill -USR1 "$TOOL_PID"
	timeout "$((4 * DEADLINE))" head -n 1 <&"$J_OUT" >"$D/result"
	exec {T_IN}>&-
	cat <&"$J_OUT" >/dev/null
	wait "$TOOL_PID" || fail "status $?"
	jq -e --argjson depth "$depth" --argjson rounds "$1" '
		.lost.java_frames as $unnamed |
		[.stacks[] | select(any(.frames[]; .function == "Java_java_util_zip_Inflater_init"))] as $all |
		def behind: .frames | .[(map(.function) | index("Java_java_util_zip_Inflater_init")) + 1:];
		def methods: [behind[] | select(.kind == "java" and ((.function // "") | test("[.]"))).function];
		def native: [behind[] | select(.kind != "java" and .function).function];
		def bare: [behind[] | select(.function | not)] | length;
		[$all[] | select(bare == 0)] as $stacks |
		# Two blocks each time, and all of them still there.
		([$all[].live.count] | add) == 2 * $rounds and ([$all[] | bare] | add) <= $unnamed and
		([$stacks[].live.count] | add) >= $rounds and ('"$2"')' "$D/result" >/dev/null || {
		jq -c '[.lost.java_frames], (.stacks[:4][] | [.end, .live.count, (.frames | map(.function))])' "$D/result" >&2
		fail "$2"
	}
}

# Behind the methods comes what has called Java, and nothing is between.
java_whole='all($stacks[]; .end == "complete" and (native[0] | startswith("JavaCalls::call_helper")) and methods[-1] == "LeakJava.main" and all(behind[]; .function))'
# However they are compiled meanwhile, it is one stack for each of the two blocks. One method more: the native one.
java_same='($stacks | length) == 2 and all($stacks[]; (methods | length) == $depth + 1)'

@test "Java: interpreted from the beginning on, a frame for each method" {
	java_stacks 500 "$java_whole and $java_same" -Xint
}

@test "Java: while it is compiled, with frame pointers and without" {
	java_stacks 20000 "$java_whole and $java_same" -XX:+PreserveFramePointer
	java_stacks 20000 "$java_whole and $java_same"
}

# python_stacks [INTERPRETER [OPTION…]]: the frames are those that sys._getframe() has given, with the names and lines of the moment.
python_stacks() {
	local python=${1:-/usr/bin/python3}

	T_PID=
	run_target env PYTHONHASHSEED=0 "$python" "$HERE/../targets/leak_python.py"
	target_line 'ready '
	T_PID=${LINE#ready }
	attach "${@:2}"
	truth_and_result
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
		fresh
		python_stacks "$python"
		clean
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
	tool_says 'stacks without frames of Python: a frame of it is in no memory .number 2, at 0x10.'
	exec {T_IN}>&-
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
	[[ $(grep -c 'stacks without frames' "$D/tool.err") -eq 1 ]] || fail 'said more than once'
}

# forged_fails HOW PATTERN: what is said of the first stack that cannot be followed.
forged_fails() {
	fresh
	T_PID=
	run_target "$TARGETS/forged_python"
	target_line 'ready '
	T_PID=${LINE#ready }
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

@test "Python: which frame could not be followed, and where that is" {
	[[ -x $TARGETS/forged_python ]] || skip 'not on this machine'
	forged_fails other "what a frame has for its code is none \\(number 1, at 0x[1-9a-f][0-9a-f]*\\)"
	forged_fails code "a frame of it is in no memory \\(number 1, at 0x[1-9a-f][0-9a-f]*\\)"
	forged_fails far 'a frame of it is in no memory \(number 2, at 0x10\)'
	forged_fails state "the thread's state is in no memory \\(at 0x[1-9a-f][0-9a-f]*\\)"
}

# One after the other, functions whose objects are all at the same addresses.
@test "Python: before 3.11 a function is not taken for one that was there and had fewer instructions" {
	[[ -x $TARGETS/forged_python.3_10 ]] || skip 'not on this machine'
	T_PID=
	run_target "$TARGETS/forged_python.3_10"
	target_line 'ready '
	T_PID=${LINE#ready }
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
	T_PID=
	run_target "$TARGETS/$1"
	target_line 'ready '
	T_PID=${LINE#ready }
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

# Each process has its functions at other addresses.
@test "Python: --merge: what processes of one script have allocated in one function is one stack" {
	need_hold
	has_python_frames
	printf '%s\n' 'import ctypes' 'def leak():' '    ctypes.CDLL(None).malloc(ctypes.c_size_t(300001))' 'leak()' >"$D/merge.py"
	timeout 60 "$TOOL" --merge -f json -T 10000 --sort alloc -o "$D/report" --children exact -- \
		sh -c 'for i in 1 2 3; do /usr/bin/python3 "$1"; done; exit 0' - "$D/merge.py" 2>"$D/tool.err" 3>&- || fail "status $?"
	SNAP=$(jq -c 'select(.comm == "python3")' "$D/report")
	holds '.processes == 3 and ([.stacks[] | select(.alloc.bytes == 900003)] | length == 1 and .[0].alloc.count == 3 and .[0].live.count == 3)'
	holds "[.stacks[] | select(.alloc.bytes == 900003).frames[] | select(.kind == \"python\") | [.function, .file, .line]] ==
		[[\"leak\", \"$D/merge.py\", 3], [\"<module>\", \"$D/merge.py\", 4]]"
}

@test "Python: what holds a block, and in which functions both were allocated" {
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
	T_PID=
	run_target /usr/bin/python3 "$D/held.py"
	target_line 'ready '
	T_PID=${LINE#ready }
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
		T_PID=
		run_target "$program"
		target_line 'ready '
		T_PID=${LINE#ready }
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

so_many_messages() { # COUNT
	[[ $(grep -c 'frames of Python 3.11.2 (forged_python.so)' "$D/tool.err") -eq $1 ]]
}

@test "Python: in a library that is closed and opened elsewhere" {
	local round

	[[ -x $TARGETS/forged_dl ]] || skip 'not on this machine'
	T_PID=
	run_target "$TARGETS/forged_dl"
	target_line 'ready '
	T_PID=${LINE#ready }
	attach -v
	for round in 1 2 3 4; do
		if ((round == 4)); then
			echo up >&"$T_IN"
			target_line 'done'
		fi
		echo open forged_python.so >&"$T_IN"
		target_line 'done'
		until_true "$DEADLINE" so_many_messages "$round" || fail "round $round: it was not found"
		echo go >&"$T_IN"
		target_line 'done'
		echo close >&"$T_IN"
		target_line 'done'
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

# dl_does COMMAND…: each is done when the next one is given.
dl_does() {
	local command

	for command; do
		echo "$command" >&"$T_IN"
		target_line 'done'
	done
}

@test "Python: in a library that is opened beside one of an unknown version" {
	[[ -x $TARGETS/forged_dl ]] || skip 'not on this machine'
	T_PID=
	run_target "$TARGETS/forged_dl"
	target_line 'ready '
	T_PID=${LINE#ready }
	attach -v
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
	[[ -x $TARGETS/forged_dl ]] || skip 'not on this machine'
	T_PID=
	run_target "$TARGETS/forged_dl"
	target_line 'ready '
	T_PID=${LINE#ready }
	attach -v
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
	T_PID=
	run_target "$TARGETS/$1"
	target_line 'ready '
	T_PID=${LINE#ready }
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

@test "Python: one that is none: frames in circles, without memory, of other objects" {
	[[ -x $TARGETS/forged_python ]] || skip 'not on this machine'
	each_mode forged
}

# The second one is no .NET, but exports what tells it.
@test "Perl and .NET: that there are no frames of theirs is said once" {
	need perl
	"${CC:-cc}" -shared -o "$D/libcoreclr.so" -x c - <<<'int coreclr_initialize(void) { return 0; }' || fail 'cannot compile'
	start_target env LD_PRELOAD="$D/libcoreclr.so" perl -e '$| = 1; print "ready $$\n"; <STDIN>;'
	attach
	snap
	[[ $(grep -c ': no frames of Perl (.*): stacks have the interpreter.s C functions only$' "$D/tool.err") == 1 ]] || fail 'not said of Perl'
	[[ $(grep -c ': no frames of .NET (libcoreclr.so): only a perf map names them ' "$D/tool.err") == 1 ]] || fail 'not said of .NET'
	"$TOOL" doctor -p "$T_PID" >"$D/doctor" 2>>"$D/tool.err" || fail "status $?"
	grep -q '^    Perl: no frames of it: ' "$D/doctor" || fail "$(cat "$D/doctor")"
	grep -q '^    .NET: no frames of it: ' "$D/doctor" || fail "$(cat "$D/doctor")"
}
