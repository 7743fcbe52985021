#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# JavaScript's functions in stacks of Node, without a flag or a perf map, against Error().stack.
# bats file_tags=beside

load lib.bash

setup() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
	[[ $(uname -m) == x86_64 ]] || skip 'that is done for x86-64 only'
	fresh
}

end_node() {
	exec {T_IN}>&-
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}

# v8_stacks [OPTION…]: of Node.
v8_stacks() {
	local natives=

	[[ $* != *natives* ]] || natives=optimised
	need "${NODE:-node}"
	start_target "${NODE:-node}" "$@" "$HERE/../targets/leak_v8.js" "${ROUNDS:-30}"
	attach -z 20001 -Z 24000
	truth_and_result
	"$HERE/managed_v8.py" "$D/truth" "$D/result" $natives || fail "${*:-no option}"
	jq -e '[.lost[]] | add == 0' "$D/result" >/dev/null || fail "something was lost: $(jq -c .lost "$D/result")"
	end_node
}

@test "Node: interpreted: each function with its script and the line of its call" {
	each_mode v8_stacks
}

# The collector moves functions, and others come to lie where they were.
@test "Node: compiled, some functions with optimisation, and others inlined into them; collected meanwhile" {
	v8_stacks --always-sparkplug --allow-natives-syntax --expose-gc
}

# line_of FILE TEXT: the number of the line that has it.
line_of() {
	grep -nF -- "$2" "$HERE/../targets/$1" | cut -d: -f1
}

# named SIZE FUNCTION…: the stack of that block has these functions of runtimes.js and runtimes.py, and of the class that allocates.
named() {
	jq -r --argjson size "$1" '.stacks[] | select(.live.bytes == $size) | .end, (.frames[] | .file //= "" | select(.file | test("/runtimes\\.(js|py)$|^ByteBuffer.java$"))
		| "\(.kind) \(.function)\(if .kind == "java" then "" else " \(.line)" end)")' <<<"$SNAP" >"$D/named"
	shift
	printf '%s\n' complete "$@" "javascript rules $(line_of runtimes.js 'addon.exports.python(')" \
		"javascript (anonymous) $(line_of runtimes.js 'rules(); console.log')" | diff - "$D/named" || fail 'other functions'
}

@test "Node that runs Python, which runs a JVM: each one's functions in one stack" {
	local libpython libjvm leaf call

	need "${NODE:-node}"
	need java
	libpython=$(/sbin/ldconfig -p | sed -n 's/.* => \(.*libpython3\.[0-9]*\.so\.1\.0\)$/\1/p' | head -1)
	[[ -e $libpython ]] || skip 'no libpython to be loaded'
	libjvm=$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")/lib/server/libjvm.so
	start_target "${NODE:-node}" "$HERE/../targets/runtimes.js" "$TARGETS/runtimes.so" "$libpython" "$libjvm"
	attach -z 20001 -Z 20008
	echo go >&"$T_IN"
	target_line 'done'
	snap
	holds '([.lost[]] | add == 0) and .live.bytes == 20001 + 20002 + 20008'
	leaf=("javascript leaf $(line_of runtimes.js 'function leaf(')" "javascript called $(line_of runtimes.js 'const called =')"
		"python javascript $(line_of runtimes.py 'call(size)' | tail -1)")
	named 20001 "${leaf[@]}" "python <module> $(line_of runtimes.py 'ctypes.PyDLL(')"
	named 20002 "${leaf[@]}" "python <module> $(line_of runtimes.py 'ctypes.CDLL(sys')"
	named 20008 'java java.nio.ByteBuffer.allocateDirect' "python java $(line_of runtimes.py 'block = jni(')" \
		"python <module> $(line_of runtimes.py 'java(sys.jvm')"
	end_node
}

# A program that exports what V8 exports, and leads whoever follows it astray.
@test "V8: forged functions, scopes, strings and scripts" {
	start_target "$TARGETS/forged_v8"
	attach -z 5001 -Z 5100
	for how in right far none scope place circle long script moved parts turned trampoline left baseline beyond endless kind huge \
		optimised inlined unmapped typed looped counted negative nested cut stranger nobody kept kept other kept sibling kept; do
		echo "$how" >&"$T_IN"
		target_line 'done'
	done
	snap
	holds '[.stacks[] | select(.live.bytes == 5001 + 5009 + 5013 + 5015 + 5016 + 5017 + (5021 + 5022 + 5023 + 5025 + 5026 + 5027 + 5028 + 5029 + 5030 + 5031))] | length == 1 and .[0].end == "complete" and (.[0].frames[1:3] | map([.function, .kind, .file, .line])) == [["forged", "javascript", "/srv/forged.js", 3], ["main", null, .[0].frames[2].file, .[0].frames[2].line]]'
	# It is an address, and one stack.
	holds '[.stacks[] | select(.live.bytes == 5002 + 5003 + 5004 + 5005)] | length == 1 and .[0].end == "complete" and (.[0].frames[1] | has("function") or has("kind") | not) and .[0].frames[2].function == "main"'
	holds '[.stacks[] | select(.live.bytes == 5010) | .frames[1] | [.function, .line]] == [["in.four.parts", 3]]'
	holds '[.stacks[] | select(.live.bytes == 5012)] | length == 1 and .[0].end == "complete" and .[0].frames[2].function == "main"'
	# It is none that can be read, like the one in a circle.
	holds '[.stacks[] | select(.live.bytes == 5006 + 5011) | .frames[1] | [.function, .file, .line]] == [["(anonymous)", "/srv/forged.js", 3]]'
	holds '[.stacks[] | select(.live.bytes == 5007) | .frames[1].function] | length == 1 and (.[0] | startswith("forged") and (test("[[:cntrl:]]") | not) and length < 300)'
	holds '[.stacks[] | select(.live.bytes == 5008) | .frames[1] | [.function, .file, .line]] == [["forged", "/srv/forged.js", null]]'
	# Where the line of the call is known: of tables that are cut as well, which go on behind that. Of the others it is said that it is not.
	holds '[.stacks[] | select(.live.bytes == 5014 + 5018 + 5019 + 5024) | .frames[1] | [.function, .line, .line_of]] == [["forged", 5, null]]'
	holds '[.stacks[] | select(.live.bytes == 5020) | .frames[1:3] | map([.function, .line, .inlined])] == [[["inner", 5, true], ["forged", 5, false]]]'
	holds '[.stacks[].frames[1] | select(.function == "forged" and .file and .line == 3) | .line_of] | unique == ["definition"]'
	# Another one is another one, wherever it lies.
	holds '[.stacks[].frames[1] | select(.file == "/srv/forger.js") | [.function, .line]] | sort == [["forged", 3], ["sibling", 5]]'
	holds '[.stacks[] | select(.frames[1].file == "/srv/forger.js") | .live.bytes] | sort == [5032 + 5033, 5034 + 5035]'
	holds '.lost.v8_frames == 5 and ([.lost[]] | add) == 5'
	grep -q 'frames of JavaScript without a name: a function does not lead to what it is' "$D/tool.err" || fail 'it is not said why'
	end_node
}

# The gate has called the guards' stub: its frame is left out, and the functions stand at the others all the same.
@test "V8: functions of a guarded block behind a gate, which is freed twice" {
	need_gate
	start_target "$TARGETS/forged_v8" 1001
	attach --attach gate --guard=1 -z 1001 -Z 1001
	echo twice >&"$T_IN"
	target_line 'done'
	snap
	holds '.bad_accesses | length == 1 and .[0].kind == "double_free" and .[0].size == 1001'
	holds '.bad_accesses[0].alloc.frames[1:3] | map([.function, .kind]) == [["forged", "javascript"], ["main", null]]'
	end_node
}

@test "Node: doctor and -v say what is recognised" {
	need "${NODE:-node}"
	start_target "${NODE:-node}" "$HERE/../targets/leak_v8.js"
	attach -v -z 20001 -Z 24000
	grep -q 'frames of JavaScript (' "$D/tool.err" || fail 'it is not said that there is V8'
	"$TOOL" doctor -p "$T_PID" >"$D/doctor" 2>"$D/doctor.err" || fail "status $?"
	grep -q '^    JavaScript: stacks have its functions' "$D/doctor" || fail "$(cat "$D/doctor")"
	snap
	end_node
}
