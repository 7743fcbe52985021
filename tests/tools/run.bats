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

# untimed: output without the lines that say how long something has taken.
untimed() {
	output=$(sed -E '/^(sums|slow |     ) .* of processor time, /d' <<<"$output")
	mapfile -t lines <<<"$output"
}

# counted STATUS LAST: runs the unit tests and compares the exit status and the last line.
counted() {
	run tests/run unit
	printf '%s\n' "$output"
	untimed
	[ "$status" -eq "$1" ]
	[ "${lines[-1]}" = "$2" ]
}

@test "passes of several files are added up" {
	program test_x 'echo 1..2' 'echo ok 1 - a' 'echo ok 2 - b'
	program test_y 'echo 1..1' 'echo ok 1 - c'
	counted 0 '3 passed, 0 failed, 0 skipped'
	[ "${lines[0]}" = 'ok    unit/room/test_x: a' ]
}

@test "a failure is named with what the test printed, when it fails and when it fails again" {
	program test_x 'echo 1..2' 'echo ok 1 - a' 'echo got 3' 'echo not ok 2 - b' 'echo "# 3 != 4"' 'exit 1'
	counted 1 '1 passed, 1 failed, 0 skipped'
	[ "${lines[*]:1:6}" = 'again unit/room/test_x: b       got 3       # 3 != 4 FAIL  unit/room/test_x: b       got 3       # 3 != 4' ]
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
@test "integration files that can run beside the others do, each with a C library of its own; the tools' tests have what time is left" {
	local log=$BATS_TEST_TMPDIR/log libc

	libc=/lib/$(uname -m)-linux-gnu/libc.so.6
	[[ $EUID -eq 0 ]] || skip 'needs root'
	mkfifo "$BATS_TEST_TMPDIR/fifo" "$BATS_TEST_TMPDIR/fifo2"
	printf '%s\n' "@""test 'one' { echo main \$(nice) \$(stat -c %d:%i $libc) >>$log; echo >$BATS_TEST_TMPDIR/fifo; }" >"$TESTS_ROOT/integration/a.bats"
	printf '%s\n' '# bats file_tags=beside' "@""test 'two' { read -r _ <$BATS_TEST_TMPDIR/fifo; echo beside \$(nice) \$(stat -c %d:%i $libc) >>$log; }" \
		'# bats test_tags=alone' "@""test 'three' { echo alone \$(nice) \$(stat -c %d:%i $libc) >>$log; }" >"$TESTS_ROOT/integration/b.bats"
	# When the first queue is at its end, two of the other run side by side.
	printf '%s\n' '# bats file_tags=beside' "@""test 'four' { echo >$BATS_TEST_TMPDIR/fifo2; }" >"$TESTS_ROOT/integration/c.bats"
	printf '%s\n' '# bats file_tags=beside' "@""test 'five' { read -r _ <$BATS_TEST_TMPDIR/fifo2; }" >"$TESTS_ROOT/integration/d.bats"
	SANITIZE='' TEST_TIMEOUT=60 run tests/run integration
	printf '%s\n' "$output" "$(<"$log")"
	[ "$status" -eq 0 ]
	[ "${lines[-1]}" = '5 passed, 0 failed, 0 skipped' ]
	! grep FLAKY <<<"$output" || return 1
	[ "$(grep main "$log")" = "main $(nice) $(stat -L -c %d:%i "$libc")" ]
	[[ "$(grep beside "$log")" == "beside $(nice) "* ]]
	# The machine's is seen by the first only. The number of one that has gone may be given to the next.
	[ "$(grep -c " $(stat -L -c %d:%i "$libc")\$" "$log")" -eq 1 ]
	[ "$(wc -l <"$log")" -eq 3 ]
	printf '%s\n' "@""test 'six' { echo tools \$(nice) >>$log; }" >"$TESTS_ROOT/tools/a.bats"
	run tests/run tools
	[ "$(tail -n 1 "$log")" = "tools $(($(nice) + 10 > 19 ? 19 : $(nice) + 10))" ]
}

# once FILE: a line of a unit test program that is true at its first run only.
once() {
	printf '! [ -e "%s" ] && : >"%s"' "$BATS_TEST_TMPDIR/$1" "$BATS_TEST_TMPDIR/$1"
}

@test "what fails and then passes has passed, and is told as flaky, above the last line" {
	program test_x 'echo 1..2' 'echo ok 1 - a' "if $(once x); then echo not ok 2 - b; exit 1; fi" 'echo ok 2 - b'
	program test_y 'echo 1..1' 'echo not ok 1 - c' 'exit 1'
	counted 1 '2 passed, 1 failed, 0 skipped'
	[ "${lines[-2]}" = 'FLAKY unit/room/test_x: b' ]
	[ "$(grep -c '^ok ' <<<"$output")" -eq 2 ]
	[[ "$(<"$BUILD/tests/flaky")" == 20*Z' unit/room/test_x: b' ]]
	rm "$UNIT_DIR/room/test_y"
	counted 0 '2 passed, 0 failed, 0 skipped'
	[ "$(wc -l <"$BUILD/tests/flaky")" -eq 1 ]
}

@test "a test that passes at first and fails when its file is run again is flaky, too" {
	program test_x 'echo 1..2' "if $(once x); then echo ok 1 - a; echo not ok 2 - b; else echo not ok 1 - a; echo ok 2 - b; fi" 'exit 1'
	counted 0 '2 passed, 0 failed, 0 skipped'
	[ "${lines[-3]}" = 'FLAKY unit/room/test_x: a' ]
	[ "${lines[-2]}" = 'FLAKY unit/room/test_x: b' ]
}

@test "a file that dies or hangs, and then does not: all its tests count, once" {
	program test_x 'echo 1..3' 'echo ok 1 - a' "if $(once x); then kill -SEGV \$\$; fi" 'echo ok 2 - b' 'echo ok 3 - c'
	counted 0 '3 passed, 0 failed, 0 skipped'
	[ "${lines[-2]}" = 'FLAKY unit/room/test_x: ran 1 of 3 tests, ended with status 139' ]
	[ "$(grep -c '^ok ' <<<"$output")" -eq 3 ]
	rm "$BATS_TEST_TMPDIR/x"
	program test_x 'echo 1..1' "if $(once x); then exec sleep 1000; fi" 'echo ok 1 - a'
	TEST_TIMEOUT=2 counted 0 '1 passed, 0 failed, 0 skipped'
	[ "${lines[-2]}" = 'FLAKY unit/room/test_x: stopped after 2 seconds' ]
}

@test "a file that is well at first and dies when it is run again has failed" {
	program test_x 'echo 1..2' "if $(once x); then echo ok 1 - a; echo not ok 2 - b; exit 1; fi" 'echo ok 1 - a'
	counted 1 '1 passed, 2 failed, 0 skipped'
	[[ "$output" == *'FAIL  unit/room/test_x: ran 1 of 2 tests'*'FAIL  unit/room/test_x: b'* ]]
}

@test "three flaky tests are let pass, four are not" {
	local name

	for name in 1 2 3; do
		program "test_$name" 'echo 1..1' "if $(once $name); then echo not ok 1 - a; exit 1; fi" 'echo ok 1 - a'
	done
	counted 0 '3 passed, 0 failed, 0 skipped'
	[ "$(grep -c ^FLAKY <<<"$output")" -eq 3 ]
	program test_4 'echo 1..1' "if $(once 4); then echo not ok 1 - a; exit 1; fi" 'echo ok 1 - a'
	rm "$BATS_TEST_TMPDIR"/[123]
	counted 1 '4 passed, 1 failed, 0 skipped'
	[ "$(grep -c ^FLAKY <<<"$output")" -eq 4 ]
	[[ "$output" == *'FAIL  tests/run: 4 tests passed at the second time only'* ]]
}

@test "of a bats file those tests are run again that failed, whatever their names" {
	local log=$BATS_TEST_TMPDIR/log

	printf '%s\n' "@""test 'a (b|c) [d] \$ ^ * + ?' { echo one >>$log; [[ -e $log.1 ]] && return; : >$log.1; false; }" \
		"@""test 'a' { echo two >>$log; }" "@""test 'slash / and, a comma' { echo three >>$log; false; }" >"$TESTS_ROOT/tools/a.bats"
	run tests/run tools
	printf '%s\n' "$output"
	[ "$status" -eq 1 ]
	[ "${lines[-1]}" = '2 passed, 1 failed, 0 skipped' ]
	[ "${lines[-2]}" = 'FLAKY tools/a: a (b|c) [d] $ ^ * + ?' ]
	[ "$(tr '\n' ' ' <"$log")" = 'one two three one three ' ]
}

@test "what failed is run again with nothing beside it" {
	local name log=$BATS_TEST_TMPDIR/log

	# Each tells of the other while it runs.
	for name in 1 2; do
		program "test_$name" 'echo 1..1' "if $(once $name); then echo not ok 1 - a; exit 1; fi" \
			"echo begins >>$log; sleep 0.2; echo ends >>$log" 'echo ok 1 - a'
	done
	TEST_JOBS=2 counted 0 '2 passed, 0 failed, 0 skipped'
	[ "$(tr '\n' ' ' <"$log")" = 'begins ends begins ends ' ]
}

@test "after many failures nothing is run again" {
	program test_x 'echo 1..2' "echo again >>$BATS_TEST_TMPDIR/log" 'echo not ok 1 - a' 'echo not ok 2 - b' 'exit 1'
	AGAIN_MOST=1 counted 1 '0 passed, 2 failed, 0 skipped'
	[ "$(wc -l <"$BATS_TEST_TMPDIR/log")" -eq 1 ]
}

@test "of each file: starts of the tool, processor time, wall time; the sums and the slowest at the end, and the last ten runs are kept" {
	local i

	mkdir -p "$BUILD"
	cp /bin/true "$BUILD/memleakbpf"
	program test_x 'echo 1..1' "\"$BUILD/memleakbpf\"" "env -i \"$BUILD/memleakbpf\"" 'i=0; while [ $i -lt 100000 ]; do i=$((i + 1)); done' 'echo ok 1 - a'
	program test_y 'echo 1..1' 'echo ok 1 - b'
	printf '%s\n' "@""test 'c' { $BUILD/memleakbpf; run $BUILD/memleakbpf; setpriv --reuid 65534 $BUILD/memleakbpf || :; }" >"$TESTS_ROOT/tools/a.bats"
	run tests/run tools
	printf '%s\n' "$output"
	[[ $EUID -ne 0 || "$output" == *'tools/a: 3 starts of the tool, '* ]]
	for ((i = 0; i < 12; i++)); do
		run tests/run unit
	done
	printf '%s\n' "$output"
	if [[ $EUID -eq 0 ]]; then
		[[ "$output" =~ 'unit/room/test_x: 2 starts of the tool, 0.'[0-9]' s of processor time, '[0-9]+.[0-9]' s' ]]
		[[ "$output" =~ 'unit/room/test_y: 0 starts of the tool, ' ]]
		[[ "${lines[-2]}" =~ ^'sums  2 starts of the tool, '[0-9]+.[0-9]' s of processor time, '[0-9]+.[0-9]' s, load ' ]]
	fi
	[[ "${lines[-3]}" == slow* && "${lines[-4]}" == slow* ]]
	[ "$(find "$BUILD/tests/times" -name '*.unit' | wc -l)" -eq 10 ]
	# What burnt a processor did so for more than 20 ms.
	awk '$1 == "unit/room/test_x" { x = $3 } END { exit !(x > 20) }' "$(find "$BUILD/tests/times" -name '*.unit' | sort | tail -n 1)"
}

@test "what is for the night is left out by day, and is run at night" {
	printf '%s\n' '# bats file_tags=nightly' "@""test 'one' { [[ \$NIGHTLY == 1 && \$MEMLEAKBPF_SEED == 12 ]]; }" >"$TESTS_ROOT/tools/night.bats"
	printf '%s\n' "@""test 'two' { :; }" '# bats test_tags=nightly' "@""test 'three' { :; }" \
		'# bats test_tags=alone,nightly' "@""test 'four' { :; }" '# bats test_tags=alone' "@""test 'five' { :; }" >"$TESTS_ROOT/tools/b.bats"
	run tests/run tools
	printf '%s\n' "$output"
	[ "${lines[-1]}" = '2 passed, 0 failed, 0 skipped' ]
	MEMLEAKBPF_SEED=12 run tests/run nightly tools
	printf '%s\n' "$output"
	[ "${lines[0]}" = 'tests/run: MEMLEAKBPF_SEED=12' ]
	[ "${lines[-1]}" = '5 passed, 0 failed, 0 skipped' ]
	run tests/run tools night
	[ "$status" -eq 1 ]
	[[ "$output" == *'tests/run nightly has tools/night'* ]]
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
