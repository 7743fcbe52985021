#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stacks of Ruby, against what it says of them itself.
# bats file_tags=beside

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
	woven 20001 'ruby * 4' 'ruby leaf 4' 'ruby <main> 1' "python outer $(line 'leaf(20001)')" "python <module> $(line 'outer()' | tail -1)"
	woven 20003 "python keep $(line 'libc.malloc')" "python called $(line 'keep(size //')" 'ruby python 1' 'ruby block in <main> 1' 'ruby each 1' 'ruby <main> 1' \
		"python outer $(line '[20003]')" "python <module> $(line 'outer()' | tail -1)"
	echo >&"$T_IN"
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}

@test "forged Ruby: frames beside their stack, in no memory, of no code, names without end" {
	local how one='forged /srv/forged.rb 3' outer='<main> /srv/forged.rb 4' found

	[[ -x $TARGETS/forged_ruby ]] || skip 'not on this machine'
	start_target "$TARGETS/forged_ruby"
	attach -z 5001 -Z 5032
	for how in right many circle long edge label path lines runs minus odd context stack wrap between behind env code kind body pc name \
		each + object symbol number ids method defined away back; do
		echo "$how" >&"$T_IN"
		target_line 'done'
	done
	snap
	holds '.lost.ruby_frames == 13 and ([.lost[]] | add) == 13 and .live.count == 32'
	# Those in one line are in the same methods, as far as these are known: one stack.
	[[ $(managed_of ruby $((5001 + 5011))) == "complete: $one, $outer" ]] || fail "right, odd: $(managed_of ruby $((5001 + 5011)))"
	# malloc, and as many as there is room for.
	found=$(managed_of ruby 5002)
	[[ $found == "truncated: $one, $one, "* && $(grep -o "$one" <<<"$found" | wc -l) == 127 ]] || fail "many: $(grep -o "$one" <<<"$found" | wc -l)"
	[[ $(managed_of ruby $((5003 + 5007))) == "complete: forged null null, $outer" ]] || fail "circle, path: $(managed_of ruby $((5003 + 5007)))"
	[[ $(managed_of ruby 5004) =~ ^complete:\ x{256}…\ /srv/forged.rb\ 3,\ \<main\>\ /srv/forged.rb\ 4$ ]] || fail "long: $(managed_of ruby 5004)"
	[[ $(managed_of ruby $((5005 + 5006 + 5031))) == "complete: null /srv/forged.rb 3, $outer" ]] || fail "edge, label, away: $(managed_of ruby $((5005 + 5006 + 5031)))"
	[[ $(managed_of ruby $((5008 + 5009 + 5010))) == "complete: forged /srv/forged.rb null, $outer" ]] || fail "lines, runs, minus: $(managed_of ruby $((5008 + 5009 + 5010)))"
	# Methods in C are where they were called.
	[[ $(managed_of ruby $((5023 + 5025))) == "complete: each /srv/forged.rb 3, $one, $outer" ]] || fail "each, object: $(managed_of ruby $((5023 + 5025)))"
	[[ $(managed_of ruby 5024) == "complete: + /srv/forged.rb 3, $one, $outer" ]] || fail "+: $(managed_of ruby 5024)"
	[[ $(managed_of ruby $((5026 + 5027 + 5028))) == "complete: null /srv/forged.rb 3, $one, $outer" ]] || fail "symbol, number, ids: $(managed_of ruby $((5026 + 5027 + 5028)))"
	# What could not be read is read with the next stack.
	[[ $(managed_of ruby 5032) == "complete: $one, <main> /srv/forged.rb 2" ]] || fail "back: $(managed_of ruby 5032)"
	[[ $(managed_of ruby $((5012 + 5013 + 5014 + 5015 + 5016 + 5017 + 5018 + 5019 + 5020 + 5021 + 5022 + 5029 + 5030))) == 'complete: ' ]] || fail 'those that failed are no stack of C functions'
	exec {T_IN}>&-
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
	grep -Eq 'stacks without frames of Ruby: what a frame leads to is in no memory \(0x123456780000\); ' "$D/tool.err" || fail 'not said'
}
