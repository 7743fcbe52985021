#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stacks of the JVM, against what it says of them itself.
# bats file_tags=beside

load lib.bash

# Some 700 stacks of the JVM's own are a line of 4.5 MB, which bash takes out of a pipe byte by byte: 16 s on a busy machine.
DEADLINE=120

setup() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
	fresh
	CLASSES=''
}

teardown() {
	[[ -z $CLASSES ]] || rm -rf "$CLASSES"
	clean
}

# start_java [OPTION…]: StacksJava, as nobody. JAVA_ROOT: the root of a system that has another Java, with proc and tmp in it.
start_java() {
	[[ -r $TARGETS/stacks_java/StacksJava.class ]] || skip 'no javac to build with'
	# Where anybody may go.
	CLASSES=$(mktemp -d) && chmod 755 "$CLASSES" && cp "$TARGETS"/stacks_java/*.class "$CLASSES"
	start_target chroot --userspec=65534:65534 --groups= "${JAVA_ROOT:-/}" java -XX:-UsePerfData -cp "$CLASSES" "$@"
	PERF_MAP=/tmp/perf-$T_PID.map
	# Of another process that had this number. Its socket the JVM takes away itself, and may listen at its own by now.
	rm -f "$PERF_MAP" "/tmp/.attach_pid$T_PID"
}

end_java() {
	exec {T_IN}>&-
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}

# java_frames [OPTION…]: the frames are those that Throwable has, and nothing is lost.
java_frames() {
	# Frames that Java itself hides are there as well.
	start_java -XX:+UnlockDiagnosticVMOptions -XX:+ShowHiddenFrames "$@"
	attach
	truth_and_result
	"$HERE/managed_java.py" "$D/truth" "$D/result" || fail "$*"
	jq -e '[.lost[]] | add == 0' "$D/result" >/dev/null || fail 'something was lost'
	end_java
}

@test "Java: interpreted: each method with its line" {
	java_frames -Xint StacksJava 1
}

@test "Java: compiled by C1: each method with its line" {
	java_frames -Xbatch -XX:TieredStopAtLevel=1 StacksJava 400
}

# With what was inlined.
@test "Java: compiled by C2: each method with its line" {
	java_frames -Xbatch -XX:-TieredCompilation -XX:CompileThreshold=300 StacksJava 1000
	jq -e 'any(.stacks[].frames[]; .kind == "java" and .inlined)' "$D/result" >/dev/null || fail 'nothing is inlined'
}

# Recorded memory of versions that the machine need not have.
@test "Java: frames of each version as its own memory was" {
	local program wanted played=0

	for program in "$TARGETS"/recorded_java.*; do
		[[ -x $program ]] || skip 'not on this machine'
		fresh
		start_target "$program"
		attach -v
		echo >&"$T_IN"
		target_line '['
		wanted=$LINE
		snap
		holds "[.stacks[] | select(.live.bytes == 5001)] | length == 1 and .[0].end == \"complete\" and
			(.[0].frames | map(select(.kind == \"java\" and (.function | contains(\".\"))) | {function, file, line}) == $wanted and
			any(.[]; .inlined) and (map(.function) | index(\"native_method\") == 1 and index(\"enter_java\") == index(\"main\") - 1))"
		holds '[.lost[]] | add == 0'
		grep -q "frames of Java ${program##*.} " "$D/tool.err" || fail "it is not said that there is Java ${program##*.}"
		exec {T_IN}>&-
		wait "$T_PID" || fail "the target ended with status $?"
		tool_ends
		clean
		played=$((played + 1))
	done
	((played >= 5)) || fail "$played of them"
}

# A program that exports what HotSpot exports, and leads whoever follows it astray.
@test "Java: forged books of code and of methods" {
	[[ $(uname -m) == x86_64 ]] || skip 'its code is of x86-64'
	start_target "$TARGETS/forged_java"
	attach -v
	# What it says is read before it says something else.
	for how in right circle free large far name_far name scopes; do
		echo "$how" >&"$T_IN"
		target_line 'done'
		snap
	done
	# Blocks of 5001 bytes and up. What is called the same is one stack.
	holds '[.stacks[] | select(.live.bytes == 5001 + 5008)] | length == 1 and .[0].end == "complete" and (.[0].frames | map(.function)[1:3] == ["Forged.method", "main"])'
	# No frame has a size: what has called it is not guessed at.
	holds '[.stacks[] | select(.live.bytes == 5002 + 5003)] | length == 1 and .[0].end == "no_rows" and (.[0].frames | length == 2 and (.[1] | has("function") | not))'
	holds '[.stacks[] | select(.live.bytes == 5004)] | length == 1 and .[0].end == "no_rows" and (.[0].frames | map(.function)[1:] == ["Forged.method"])'
	# It has one, and no name.
	holds '[.stacks[] | select(.live.bytes == 5005 + 5006)] | length == 1 and .[0].end == "complete" and (.[0].frames[1] | has("function") | not) and .[0].frames[2].function == "main"'
	holds '[.stacks[] | select(.live.bytes == 5007) | .frames[1].function] | length == 1 and (.[0] | length > 100 and length < 4096 and (test("[[:cntrl:]]") | not) and endswith(".method"))'
	holds '.lost.java_frames == 5 and ([.lost[]] | add) == 5'
	grep -q 'frames of Java 17 ' "$D/tool.err" || fail 'it is not said that there is a JVM'
	grep -q 'frames of Java without a name: the JVM.s table has no code there' "$D/tool.err" || fail 'it is not said why'
	exec {T_IN}>&-
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}

@test "Java: doctor says that stacks have its methods" {
	start_target "$TARGETS/forged_java"
	"$TOOL" doctor -p "$T_PID" >"$D/doctor" 2>"$D/tool.err" || fail "status $?"
	grep -q '^    Java: stacks have its methods' "$D/doctor" || fail "$(cat "$D/doctor")"
}

# asked OPTION…: it writes a map at a report, and not before.
asked() {
	start_java "$@" StacksJava 300
	attach --ask-runtime
	[[ ! -e $PERF_MAP ]] || fail 'asked before a report'
	snap
	[[ $(stat -c %u "$PERF_MAP") == 65534 && ! -e /tmp/.attach_pid$T_PID ]] || fail 'no map, or not its own'
	grep -q 'StacksJava.direct()$' "$PERF_MAP" || fail 'not in the map'
	rm "$PERF_MAP"
	end_java
}

@test "Java: a JVM that is asked writes a perf map, by which frames are named" {
	asked -XX:TieredStopAtLevel=1
}

# SIGQUIT would end it; but it listens from its start on.
@test "Java: a JVM with -Xrs is asked for a perf map, and not ended" {
	asked -XX:TieredStopAtLevel=1 -Xrs
}

# unasked REASON [OPTION…]: the tool says why, and the JVM goes on.
unasked() {
	start_java "${@:2}" StacksJava 1
	attach --ask-runtime
	snap
	grep -q "the JVM has written no perf map: $1" "$D/tool.err" || fail 'it is not said why'
	[[ ! -e $PERF_MAP && ! -e /tmp/.attach_pid$T_PID && ! -e /tmp/.java_pid$T_PID ]] || fail 'something was left'
	echo >&"$T_IN"
	target_line '['
	end_java
}

@test "Java: --ask-runtime: one that SIGQUIT would end, and that does not listen" {
	unasked 'it has no handler for SIGQUIT' -Xrs -XX:+DisableAttachMechanism
}

@test "Java: without --ask-runtime nobody is asked" {
	start_java StacksJava 1
	attach
	snap
	[[ ! -e $PERF_MAP && ! -e /tmp/.java_pid$T_PID ]] || fail 'it was asked'
	end_java
}
