#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stacks of Perl, against what it says of them itself.
# bats file_tags=beside

load lib.bash

setup() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
	fresh
}

teardown() {
	clean
}

has_perl_frames() {
	[[ $(uname -m) == x86_64 ]] || skip 'of x86-64 only'
	perl -MConfig -e 'exit(!($Config{PERL_VERSION} == 36 && $Config{usethreads}))' || skip 'there is no perl of 5.36'
}

@test "Perl: each subroutine with its line: callbacks, evals, ties, overloads, code that is gone" {
	has_perl_frames
	printf 'package Included;\n\nmain::keep(300512);\n1;\n' >"$D/included.pl"
	start_target perl "$HERE/../targets/leak_perl.pl" "$D/included.pl"
	attach -z 300000
	truth_and_result
	"$HERE/managed_places.py" "$D/truth" "$D/result" perl 130 || fail 'other frames'
	jq -e '[.lost[]] | add == 0' "$D/result" >/dev/null || fail "something was lost: $(jq -c .lost "$D/result")"
	# As the functions lie, without the interpreter's own.
	jq -e '.stacks[] | select(.live.bytes == 300000) | .frames | map(.function) | index("Perl_pp_repeat") < index("main::keep") and index("(main)") == index("__libc_start_call_main") - 1' "$D/result" >/dev/null || fail "$(jq -c '.stacks[] | select(.live.bytes == 300000)' "$D/result")"
	"$TOOL" doctor -p "$T_PID" >"$D/doctor"
	grep -q 'Perl 5.36.0: stacks have its subroutines' "$D/doctor" || fail "$(<"$D/doctor")"
	echo >&"$T_IN"
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}

@test "forged Perl: contexts in circles, in no memory, of no subroutine" {
	local how one='main::forged /srv/forged.pl 3' outer='(main) /srv/forged.pl 4' found

	[[ -x $TARGETS/forged_perl ]] || skip 'not on this machine'
	start_target "$TARGETS/forged_perl"
	attach -z 5001 -Z 5014
	for how in right circle long gone empty far index kind glob name file left away back; do
		echo "$how" >&"$T_IN"
		target_line 'done'
	done
	snap
	holds '.lost.perl_frames == 7 and ([.lost[]] | add) == 7 and .live.count == 14'
	[[ $(managed_of perl 5001) == "complete: $one, $outer" ]] || fail "right: $(managed_of perl 5001)"
	found=$(managed_of perl 5002)
	[[ $found == "truncated: $one, main::forged /srv/forged.pl 4, main::forged /srv/forged.pl 4, "* && ${#found} -gt 2500 && ${#found} -lt 5000 ]] || fail "circle: $found"
	[[ $(managed_of perl 5003) =~ ^complete:\ main::x{256}…\ y{255}…\ 3,\ \(main\)\ /srv/forged.pl\ 4$ ]] || fail "long: $(managed_of perl 5003)"
	# "gone", and "left", which looks like that.
	[[ $(managed_of perl $((5004 + 5012))) == "complete: (unknown) /srv/forged.pl 3, $outer" ]] || fail "gone, left: $(managed_of perl $((5004 + 5012)))"
	# What could not be read is read with the next stack.
	[[ $(managed_of perl 5013) == "complete: null /srv/forged.pl 3, $outer" ]] || fail "away: $(managed_of perl 5013)"
	[[ $(managed_of perl 5014) == "complete: $one, (main) /srv/forged.pl 2" ]] || fail "back: $(managed_of perl 5014)"
	# Nothing tells these from one another.
	[[ $(managed_of perl $((5005 + 5006 + 5007 + 5008 + 5009 + 5010 + 5011))) == 'complete: ' ]] || fail 'those that failed are no stack of C functions'
	exec {T_IN}>&-
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
	grep -Eq 'stacks without frames of Perl: what a context leads to is in no memory \(0x[0-9a-f]+\); ' "$D/tool.err" || fail 'not said'
}
