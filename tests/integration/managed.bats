#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stacks of programs that have a runtime of their own, against what that runtime says of them.
# bats file_tags=beside

load lib.bash
load managed.bash

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

@test "Go: stacks of a position-independent program lead through C to Go" {
	go_stacks leak_go.pie call_back crosscall2
}

# Its C is not optimised, and keeps frame pointers.
@test "Go: stacks of a program without DWARF lead through C to Go" {
	go_stacks leak_go.w call_back crosscall2
}

# Of C's functions only those have a name that are visible to the dynamic linker.
@test "Go: stacks of a program without DWARF and symbols lead through C to Go" {
	go_stacks leak_go.s crosscall2
}

# java_stacks ROUNDS CONDITION [OPTION…]: what has to hold of all stacks that lead through zlib to Java, as jq's $stacks; $depth: how many
# Java methods are on each. They come when the tool knows the JVM.
java_stacks() {
	local depth

	[[ -r $TARGETS/leak_java/LeakJava.class ]] || skip 'no javac to build with'
	: >"$D/tool.err" # now, so that nobody reads what an earlier one said
	"$TOOL" -v -f json -i 1h -T 100000 -o "$D/json" -- java -cp "$TARGETS/leak_java" "${@:3}" LeakJava "$1" <"$D/in" >"$D/out" 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	exec {T_IN}>"$D/in" {T_OUT}<"$D/out" {J_OUT}<"$D/json"
	target_line ready
	tool_says ': frames of Java [0-9]+ '
	echo >&"$T_IN"
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

@test "Python: each function with its line: threads, generators, asyncio, callbacks from C, code that is gone" {
	has_python_frames
	each_mode python_stacks
}

# A program that exports what CPython exports, and leads whoever follows it astray.
forged() {
	start_target "$TARGETS/forged_python"
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

# Each process has its functions at other addresses.
@test "Python: --merge: allocations of one script's processes in one function are one stack" {
	need_hold
	has_python_frames
	printf '%s\n' 'import ctypes' 'def leak():' '    ctypes.CDLL(None).malloc(ctypes.c_size_t(300001))' 'leak()' >"$D/merge.py"
	timeout $((4 * DEADLINE)) "$TOOL" --merge -f json -T 10000 --sort alloc -o "$D/report" --children exact -- \
		sh -c 'for i in 1 2 3; do /usr/bin/python3 "$1"; done; exit 0' - "$D/merge.py" 2>"$D/tool.err" 3>&- || fail "status $?"
	SNAP=$(jq -c 'select(.comm == "python3")' "$D/report")
	holds '.processes == 3 and ([.stacks[] | select(.alloc.bytes == 900003)] | length == 1 and .[0].alloc.count == 3 and .[0].live.count == 3)'
	holds "[.stacks[] | select(.alloc.bytes == 900003).frames[] | select(.kind == \"python\") | [.function, .file, .line]] ==
		[[\"leak\", \"$D/merge.py\", 3], [\"<module>\", \"$D/merge.py\", 4]]"
}

# The tool stands still while the main thread ends, and after it a code object whose place another one takes: what tells of the first is without effect by then, and
# the gate is not.
@test "Python: code objects that end after the main thread, before the tool has seen its end" {
	need_gate
	cat >"$D/ended.py" <<-'EOF'
		import ctypes, os, sys, threading
		libc = ctypes.CDLL(None)
		leave = threading.Event()

		def made(name):
		    names = {"malloc": libc.malloc}
		    exec(f"def {name}(n):\n    return malloc(n)", names)
		    return names[name]

		def state(pid):
		    return open(f"/proc/self/task/{pid}/stat").read().rsplit(")", 1)[1].split()[0]

		def thread():
		    sys.stdin.readline()
		    first, others = made("first"), []
		    for _ in range(50):
		        first(100000)
		    print('{"phase":"known",', flush=True)
		    sys.stdin.readline()
		    leave.set()
		    while state(os.getpid()) != "Z":
		        pass
		    place = id(first.__code__)
		    first = None
		    while not others or id(others[-1].__code__) != place:
		        others.append(made("other"))
		    for _ in range(50):
		        others[-1](200000)
		    print('{"phase":"gone",', flush=True)
		    sys.stdin.readline()
		    os._exit(0)

		threading.Thread(target=thread).start()
		print("ready", os.getpid(), flush=True)
		leave.wait()
		libc.pthread_exit(None)
	EOF
	start_target python3 "$D/ended.py"
	attach --attach single --gate -s 1k -z 100000 -Z 200000
	tell known
	kill -STOP "$TOOL_PID"
	tell gone
	kill -CONT "$TOOL_PID"
	snap
	holds '[.stacks[] | [.live.bytes, .live.count, ([.frames[].function | select(. == "first" or . == "other")] | join(" "))]] | sort == [[5000000, 50, "first"], [10000000, 50, "other"]]'
	echo >&"$T_IN"
	wait "$T_PID" || fail "the target ended with status $?"
}

@test "forged Python: frames in circles, without memory, of other objects" {
	[[ -x $TARGETS/forged_python ]] || skip 'not on this machine'
	each_mode forged
}

# It is no .NET, but exports what tells it.
@test ".NET: one line says that its frames are not shown" {
	need perl
	"${CC:-cc}" -shared -o "$D/libcoreclr.so" -x c - <<<'int coreclr_initialize(void) { return 0; }' || fail 'cannot compile'
	start_target env LD_PRELOAD="$D/libcoreclr.so" perl -e '$| = 1; print "ready $$\n"; <STDIN>;'
	attach
	snap
	[[ $(grep -c ': no frames of .NET (libcoreclr.so): only a perf map names them ' "$D/tool.err") == 1 ]] || fail 'not said of .NET'
	"$TOOL" doctor -p "$T_PID" >"$D/doctor" 2>>"$D/tool.err" || fail "status $?"
	grep -q '^    .NET: no frames of it: ' "$D/doctor" || fail "$(cat "$D/doctor")"
}

# build_many: each function that gives a block is another stack. Of 512 slots such may have 256; their C functions are the same.
build_many() {
	cat >"$D/many.py" <<-'EOF'
		import ctypes, os, sys
		malloc = ctypes.CDLL(None).malloc
		made = {}
		exec("\n".join(f"def f{i}():\n    malloc(1000)" for i in range(int(sys.argv[1]))), {"malloc": malloc}, made)
		print("ready", os.getpid(), flush=True)
		sys.stdin.readline()
		for f in made.values():
		    f()
		print('{"phase":"all",', flush=True)
		sys.stdin.readline()
	EOF
}

@test "more stacks than there is room for: further ones count by their C functions" {
	need python3
	build_many
	start_target python3 "$D/many.py" 2000
	attach --max-stacks 512
	tell all
	snap
	# But for Python's own stacks.
	jq -e 'def made: any(.frames[]; .function // "" | test("^f[0-9]+$"));
		([.stacks[] | select(made)] | length > 200 and length <= 256)
		and .lost.stack_table_full > 1500
		and ([.stacks[] | select(made | not)] | max_by(.live.bytes) | .live.bytes > 1500000 and any(.frames[]; .function == "malloc"))' \
		<<<"$SNAP" >/dev/null || fail "$(jq -c 'del(.stacks[8:])' <<<"$SNAP")"
	echo >&"$T_IN"
	wait "$T_PID" || fail "the target ended with status $?"
}

# What went before has taken more than half of the slots by stacks of C functions alone, and the interpreter's may be as many as there is room for.
@test "more stacks than there is room for: those of C functions do not take the place of an interpreter's" {
	need python3
	build_many
	{
		printf '#include <stdlib.h>\n#include <unistd.h>\n'
		for i in {1..300}; do echo "__attribute__((noinline)) static void g$i(void) { void *volatile p = malloc(1000); (void)p; }"; done
		printf 'int main(int argc, char **argv) {\n(void)argc;\n'
		for i in {1..300}; do echo "g$i();"; done
		printf 'return execvp(argv[1], argv + 1);\n}\n'
	} >"$D/first.c"
	gcc -g -O1 "$D/first.c" -o "$D/first"
	run_tool -i 1h -f json -T 1000 --max-stacks 512 -z 1000 -Z 1000 -o "$D/result" -- "$D/first" "$(python3 -c 'import sys; print(sys.executable)')" "$D/many.py" 100
	[[ $STATUS -eq 0 ]] || fail "status $STATUS"
	SNAP=$(tail -n 1 "$D/result")
	holds '.lost.stack_table_full == 0 and ([.stacks[].frames | select(any(.function // "" | test("^f[0-9]+$")))] | length == 100)'
}
