#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stacks of Ruby, against what it says of them itself.

load lib.bash

setup() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
	fresh
}

teardown() {
	clean
}

has_ruby_frames() {
	[[ $(uname -m) == x86_64 ]] || skip 'of x86-64 only'
	"${RUBY:-ruby}" -e 'exit %w[3.1 3.3].include?(RUBY_VERSION[/\A\d+\.\d+/])' || skip 'there is no ruby of 3.1 or 3.3'
}

@test "Ruby: each method and block with its line: callbacks from C, threads, fibers, code that is gone" {
	has_ruby_frames
	run_target "${RUBY:-ruby}" "$HERE/../targets/leak_ruby.rb"
	target_line 'ready '
	T_PID=${LINE#ready }
	# Without a limit a snapshot has more than a thousand stacks of the interpreter's own.
	attach -z 12000
	truth_and_result
	"$HERE/managed_ruby.py" "$D/truth" "$D/result" || fail 'other frames'
	jq -e '[.lost[]] | add == 0' "$D/result" >/dev/null || fail "something was lost: $(jq -c .lost "$D/result")"
	echo >&"$T_IN"
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}

# woven SIZE FUNCTION…: the stack of that block has these functions of Ruby's and Python's, from the innermost on.
woven() {
	jq -r --argjson size "$1" '.stacks[] | select(.live.bytes == $size) | .end, (.frames[] | select(.kind == "ruby" or .kind == "python") | "\(.kind) \(.function) \(.line)")' <<<"$SNAP" >"$D/woven"
	shift
	printf '%s\n' complete "$@" | diff - "$D/woven" || fail 'other functions'
}

@test "Python that runs Ruby, which calls Python: each one's functions in one stack" {
	local libruby script=$HERE/../targets/leak_ruby_python.py

	has_ruby_frames
	libruby=$(/sbin/ldconfig -p | sed -n 's/.* => \(.*libruby-3\.[13]\.so\.3\.[13]\)$/\1/p' | head -1)
	[[ -e $libruby ]] || skip 'no libruby to be loaded'
	start_target python3 "$script" "$libruby"
	attach -z 20001 -Z 20003
	echo go >&"$T_IN"
	target_line 'done'
	snap
	holds '([.lost[]] | add == 0) and .live.bytes == 20001 + 20003'
	line() { grep -nF -- "$1" "$script" | cut -d: -f1; }
	woven 20001 'ruby leaf 4' 'ruby <main> 1' "python outer $(line 'leaf(20001)')" "python <module> $(line 'outer()' | tail -1)"
	woven 20003 "python keep $(line 'libc.malloc')" "python called $(line 'keep(size //')" 'ruby block in <main> 1' 'ruby <main> 1' \
		"python outer $(line '[20003]')" "python <module> $(line 'outer()' | tail -1)"
	echo >&"$T_IN"
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}
