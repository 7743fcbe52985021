#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# JavaScript's functions in stacks of Node, without a flag or a perf map, against Error().stack.

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
	need "${NODE:-node}"
	start_target "${NODE:-node}" "$@" "$HERE/../targets/leak_v8.js" "${ROUNDS:-30}"
	attach -z 20001 -Z 24000
	truth_and_result
	"$HERE/managed_v8.py" "$D/truth" "$D/result" || fail "${*:-no option}"
	jq -e '[.lost[]] | add == 0' "$D/result" >/dev/null || fail "something was lost: $(jq -c .lost "$D/result")"
	end_node
}

@test "Node: interpreted: each function with its script and line" {
	each_mode v8_stacks
}

@test "Node: compiled without optimisation" {
	v8_stacks --always-sparkplug
}

# A program that exports what V8 exports, and leads whoever follows it astray.
@test "V8: forged functions, scopes, strings and scripts" {
	start_target "$TARGETS/forged_v8"
	attach -z 5001 -Z 5100
	for how in right far none scope place circle long script; do
		echo "$how" >&"$T_IN"
		target_line 'done'
	done
	snap
	holds '[.stacks[] | select(.live.bytes == 5001)] | length == 1 and .[0].end == "complete" and (.[0].frames[1:3] | map([.function, .kind, .file, .line])) == [["forged", "javascript", "/srv/forged.js", 3], ["main", null, .[0].frames[2].file, .[0].frames[2].line]]'
	# It is an address, and one stack.
	holds '[.stacks[] | select(.live.bytes == 5002 + 5003 + 5004 + 5005)] | length == 1 and .[0].end == "complete" and (.[0].frames[1] | has("function") or has("kind") | not) and .[0].frames[2].function == "main"'
	holds '[.stacks[] | select(.live.bytes == 5006) | .frames[1] | [.function, .file, .line]] == [["(anonymous)", "/srv/forged.js", 3]]'
	holds '[.stacks[] | select(.live.bytes == 5007) | .frames[1].function] | length == 1 and (.[0] | startswith("forged") and (test("[[:cntrl:]]") | not) and length < 300)'
	holds '[.stacks[] | select(.live.bytes == 5008) | .frames[1] | [.function, .file, .line]] == [["forged", "/srv/forged.js", null]]'
	holds '.lost.v8_frames == 5 and ([.lost[]] | add) == 5'
	grep -q 'frames of JavaScript without a name: a function does not lead to what it is' "$D/tool.err" || fail 'it is not said why'
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
