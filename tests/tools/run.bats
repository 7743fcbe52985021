#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The test runner counts right: it is fed with files that pass, fail, skip, die, hang and lie.

setup() {
	export UNIT_DIR=$BATS_TEST_TMPDIR/unit TESTS_ROOT=$BATS_TEST_TMPDIR EXPECTED_SKIPS=$BATS_TEST_TMPDIR/skips
	export BUILD=$BATS_TEST_TMPDIR/build TEST_JOBS=1
	mkdir -p "$UNIT_DIR/room" "$TESTS_ROOT/tools" "$TESTS_ROOT/integration"
	printf '# comment\nunit/room/test_x: moon  | needs * moon\n' >"$EXPECTED_SKIPS"
	cd "$BATS_TEST_DIRNAME/../.." || return 1
}

# program NAME LINE…: a unit test program that runs the lines as a shell script.
program() {
	local file=$UNIT_DIR/room/$1

	shift
	printf '%s\n' '#!/bin/sh' "$@" >"$file"
	chmod +x "$file"
}

# untimed: output without the lines that say how long something has taken, which a busy machine may have.
untimed() {
	output=$(sed -E '/^( .* )?took [0-9:]+ /d' <<<"$output")
}

# counted STATUS LAST: runs the unit tests and compares the exit status and the last line.
counted() {
	run tests/run unit
	printf '%s\n' "$output"
	[ "$status" -eq "$1" ]
	[ "${lines[-1]}" = "$2" ]
}

@test "passes of several files are added up" {
	program test_x 'echo 1..2' 'echo ok 1 - a' 'echo ok 2 - b'
	program test_y 'echo 1..1' 'echo ok 1 - c'
	counted 0 '3 passed, 0 failed, 0 skipped'
	[ "${lines[0]}" = 'ok    unit/room/test_x: a' ]
}

@test "a failure is named with what the test printed" {
	program test_x 'echo 1..2' 'echo ok 1 - a' 'echo got 3' 'echo not ok 2 - b' 'echo "# 3 != 4"' 'exit 1'
	counted 1 '1 passed, 1 failed, 0 skipped'
	[ "${lines[1]}" = 'FAIL  unit/room/test_x: b' ]
	[ "${lines[2]}" = '      got 3' ]
	[ "${lines[3]}" = '      # 3 != 4' ]
}

@test "an expected skip is named with its reason" {
	program test_x 'echo 1..1' 'echo needs a full moon' 'echo "not ok 1 # SKIP moon"'
	counted 0 '0 passed, 0 failed, 1 skipped'
	[ "${lines[0]}" = 'skip  unit/room/test_x: moon (needs a full moon)' ]
}

@test "a skip for another reason, or without one, counts as failed" {
	program test_x 'echo 1..2' 'echo too lazy' 'echo "not ok 1 # SKIP moon"' 'echo "ok 2 # SKIP moon"'
	counted 1 '0 passed, 2 failed, 0 skipped'
	[[ "$output" == *'does not allow: too lazy'* ]]
	[[ "$output" == *'does not allow: no reason given'* ]]
}

@test "a program that dies in mid-run counts as failed" {
	program test_x 'echo 1..3' 'echo ok 1 - a' 'kill -SEGV $$'
	counted 1 '1 passed, 1 failed, 0 skipped'
	[[ "$output" == *'ran 1 of 3 tests, ended with status 139'* ]]
}

@test "a program that says nothing counts as failed" {
	program test_x ':'
	counted 1 '0 passed, 1 failed, 0 skipped'
}

@test "a program that fails after its last test counts as failed" {
	program test_x 'echo 1..1' 'echo ok 1 - a' 'exit 23'
	counted 1 '1 passed, 1 failed, 0 skipped'
	[[ "$output" == *'status 23 though no test failed'* ]]
}

@test "a program that hangs is stopped, and counts as failed" {
	program test_x 'echo 1..1' 'exec sleep 1000'
	TEST_TIMEOUT=1 counted 1 '0 passed, 1 failed, 0 skipped'
	[[ "$output" == *'stopped after 1 seconds'* ]]
}

@test "no test program at all counts as failed" {
	counted 1 '0 passed, 1 failed, 0 skipped'
}

@test "bats files are counted, their skips too" {
	# Not written with the word in front: bats would take the lines for tests of this file.
	printf '@%s\n' 'test "good" { true; }' 'test "bad" { echo because; false; }' \
		'test "left out" { skip "no such thing here"; }' >"$TESTS_ROOT/tools/a.bats"
	printf 'tools/a: left out | no such*\n' >"$EXPECTED_SKIPS"
	run tests/run tools
	printf '%s\n' "$output"
	[ "$status" -eq 1 ]
	[ "${lines[-1]}" = '1 passed, 1 failed, 1 skipped' ]
	[[ "$output" == *'skip  tools/a: left out (no such thing here)'* ]]
	[[ "$output" == *'because'* ]]
}

@test "words choose files" {
	program test_x 'echo 1..1' 'echo ok 1 - a'
	program test_y 'echo 1..1' 'echo ok 1 - b'
	run tests/run unit y
	[ "$status" -eq 0 ]
	untimed
	[ "$output" = 'ok    unit/room/test_y: b
1 passed, 0 failed, 0 skipped' ]
}

@test "a word chooses a room" {
	mkdir "$UNIT_DIR/other"
	program test_x 'echo 1..1' 'echo ok 1 - a'
	cp "$UNIT_DIR/room/test_x" "$UNIT_DIR/other/test_room"
	run tests/run unit room/
	untimed
	[ "$output" = 'ok    unit/room/test_x: a
1 passed, 0 failed, 0 skipped' ]
}

@test "unit tests run side by side, and the lines of each stay together" {
	# Each opens one end of a FIFO, which waits for the other's.
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	program test_x 'echo 1..2' "echo ok 1 - a" "echo >'$BATS_TEST_TMPDIR/fifo'" 'echo ok 2 - b'
	program test_y 'echo 1..2' "echo ok 1 - a" "read -r _ <'$BATS_TEST_TMPDIR/fifo'" 'echo ok 2 - b'
	TEST_JOBS=2 TEST_TIMEOUT=30 counted 0 '4 passed, 0 failed, 0 skipped'
	[ "${lines[0]%?}" = "${lines[1]%?}" ]
	[ "${lines[2]%?}" = "${lines[3]%?}" ]
}

@test "what takes long comes first, and quick asks for less of it" {
	local name

	for name in x y z; do
		program "test_$name" 'echo 1..1' 'echo "ok 1 - ${QUICK-all}"'
	done
	mkdir -p "$TESTS_ROOT/unit/room"
	printf '#include "tests/unit/rounds.h"\n' >"$TESTS_ROOT/unit/room/test_z.c"
	counted 0 '3 passed, 0 failed, 0 skipped'
	[ "${lines[*]:0:3}" = 'ok    unit/room/test_z: all ok    unit/room/test_x: all ok    unit/room/test_y: all' ]
	run tests/run quick
	printf '%s\n' "$output"
	[[ "$output" == *'unit/room/test_z: 1'*'unit/room/test_y: 1'* ]]
}

@test "what is to be alone comes last, and is counted to its file" {
	local log=$BATS_TEST_TMPDIR/log tag='# bats test_tags=alone'

	printf '%s\n' "$tag" "@""test 'one' { echo one >>$log; }" "@""test 'two' { echo two >>$log; }" >"$TESTS_ROOT/tools/a.bats"
	printf '%s\n' "# bats file_tags=alone" "@""test 'three' { echo three >>$log; }" >"$TESTS_ROOT/tools/b.bats"
	printf '%s\n' "@""test 'four' { echo four >>$log; }" >"$TESTS_ROOT/tools/c.bats"
	run tests/run tools
	printf '%s\n' "$output"
	[ "$status" -eq 0 ]
	[ "$(tr '\n' ' ' <"$log")" = 'two four one three ' ]
	untimed
	[ "$output" = 'ok    tools/a: two
ok    tools/c: four
ok    tools/a: one
ok    tools/b: three
4 passed, 0 failed, 0 skipped' ]
}

# Each opens one end of a FIFO, which waits for the other's.
@test "integration files that can run beside the others do, with what time these leave" {
	local log=$BATS_TEST_TMPDIR/log

	[[ $EUID -eq 0 ]] || skip 'needs root'
	mkfifo "$BATS_TEST_TMPDIR/fifo"
	printf '%s\n' "@""test 'one' { nice >>$log; echo >$BATS_TEST_TMPDIR/fifo; [[ -z \$DEADLINE ]]; }" >"$TESTS_ROOT/integration/a.bats"
	printf '%s\n' '# bats file_tags=beside' "@""test 'two' { read -r _ <$BATS_TEST_TMPDIR/fifo; nice >>$log; [[ \$DEADLINE == 120 ]]; }" >"$TESTS_ROOT/integration/b.bats"
	unset DEADLINE
	SANITIZE='' TEST_TIMEOUT=30 run tests/run integration
	printf '%s\n' "$output"
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" = '2 passed, 0 failed, 0 skipped' ]
	[ "$(<"$log")" = "$(nice)"$'\n'"$(($(nice) + 10 > 19 ? 19 : $(nice) + 10))" ]
}

@test "an unknown group is a usage error" {
	run tests/run nonsense
	[ "$status" -eq 2 ]
}

# Of rooms that use the same ones.
@test "unit tests of several rooms, made at once: each file is made once" {
	local made

	made=$(make -n -j4 BUILD="$BATS_TEST_TMPDIR/build" unit-base unit-model unit-process)
	[ "$(grep -c ' rcs .*/rooms/base\.a' <<<"$made")" -eq 1 ] || { echo "$made"; false; }
	[ "$(grep -c '^BUILD=.* tests/run unit ' <<<"$made")" -eq 3 ]
}
