#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Stacks of PHP, against what it says of them itself.

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
	"$HERE/managed_php.py" "$D/truth" "$D/result" || fail 'other frames'
	jq -e '[.lost[]] | add == 0' "$D/result" >/dev/null || fail "something was lost: $(jq -c .lost "$D/result")"
	"$TOOL" doctor -p "$T_PID" >"$D/doctor"
	grep -q 'PHP 8.2: stacks have its functions' "$D/doctor" || fail "$(<"$D/doctor")"
	echo >&"$T_IN"
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
}
