#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stacks of PHP, against what it says of them itself.
# bats file_tags=beside

load lib.bash

setup() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
	fresh
}

teardown() {
	clean
}

has_php_frames() {
	[[ $(uname -m) == x86_64 ]] || skip 'of x86-64 only'
	php -r 'exit(PHP_MAJOR_VERSION == 8 && PHP_MINOR_VERSION == 2 && !PHP_ZTS && !PHP_DEBUG ? 0 : 1);' || skip 'there is no php of 8.2'
}

@test "PHP: each function with its line: callbacks from C, generators, fibers, code that is gone" {
	has_php_frames
	printf '<?php\n\n\\Shop\\keep(300640);\n' >"$D/included.php"
	T_ENV=(USE_ZEND_ALLOC=0)
	start_target php "$HERE/../targets/leak_php.php" "$D/included.php"
	attach -z 9000
	truth_and_result
	"$HERE/managed_places.py" "$D/truth" "$D/result" php 55 || fail 'other frames'
	jq -e '[.lost[]] | add == 0' "$D/result" >/dev/null || fail "something was lost: $(jq -c .lost "$D/result")"
	# Where C has called PHP, and PHP C.
	[[ $(php -r 'echo extension_loaded("ffi");') != 1 || $(jq -r '.stacks[] | select(.live.bytes == 300700) | [.frames[] | select(.kind == "php" or .module == "libc.so.6") | .function] | join(" ")' "$D/result") == *' Shop\{closure} '*'qsort'*' qsort Shop\from_c {main} '* ]] ||
		fail "$(jq -c '.stacks[] | select(.live.bytes == 300700)' "$D/result")"
	"$TOOL" doctor -p "$T_PID" >"$D/doctor"
	grep -q 'PHP 8.2: stacks have its functions' "$D/doctor" || fail "$(<"$D/doctor")"
	echo >&"$T_IN"
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}

@test "forged PHP: frames in circles, in no memory, of no function" {
	local how whole='forged /srv/forged.php 3' found

	[[ -x $TARGETS/forged_php ]] || skip 'not on this machine'
	start_target "$TARGETS/forged_php"
	attach -z 5001 -Z 5011
	for how in right nowhere circle long far kind text name file away back; do
		echo "$how" >&"$T_IN"
		target_line 'done'
	done
	snap
	holds '.lost.php_frames == 5 and ([.lost[]] | add) == 5 and .live.count == 11'
	# The innermost one has no line, as the file has nothing to tell by what runs there.
	[[ $(managed_of php 5001) == "complete: forged /srv/forged.php null, $whole" ]] || fail "right: $(managed_of php 5001)"
	[[ $(managed_of php 5002) == 'complete: forged /srv/forged.php null, forged /srv/forged.php null' ]] || fail "nowhere: $(managed_of php 5002)"
	found=$(managed_of php 5003)
	[[ $found == "truncated: forged /srv/forged.php null, $whole, $whole, "* && ${#found} -gt 2500 && ${#found} -lt 4000 ]] || fail "circle: $found"
	[[ $(managed_of php 5004) =~ ^complete:\ x{256}…\ /srv/forged.php\ null,\ x{256}…\ /srv/forged.php\ 3$ ]] || fail "long: $(managed_of php 5004)"
	# What could not be read is read with the next stack.
	[[ $(managed_of php 5010) == 'complete: null /srv/forged.php null, null /srv/forged.php 3' ]] || fail "away: $(managed_of php 5010)"
	[[ $(managed_of php 5011) == 'complete: forged /srv/forged.php null, forged /srv/forged.php 4' ]] || fail "back: $(managed_of php 5011)"
	# Nothing tells these from one another.
	[[ $(managed_of php $((5005 + 5006 + 5007 + 5008 + 5009))) == 'complete: ' ]] || fail 'those that failed are no stack of C functions'
	exec {T_IN}>&-
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
	grep -Eq 'stacks without frames of PHP: what a frame leads to is in no memory \(0x123456780000\); ' "$D/tool.err" || fail 'not said'
}
