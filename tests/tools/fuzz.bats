#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The fuzzers, for a short time each: on their corpora, and FUZZ_TIME seconds (10) of new garbage, two at a time, with the time that the
# integration tests beside them leave. `make fuzz FUZZ_TIME=3600` is the long way.
# bats file_tags=nightly

setup() {
	cd "$BATS_TEST_DIRNAME/../.." || return 1
	export BUILD=${BUILD:-build}
	# By the clock: of a busy machine they have what others leave.
	export FUZZ_INPUT_TIME=100
	mapfile -t names < <(find tests/fuzz -name 'fuzz_*.c' -printf '%f\n' | sed 's/^fuzz_//; s/\.c$//' | sort)
	[ -x "$BUILD/fuzz/fuzz_${names[0]}" ] || make --no-print-directory BUILD="$BUILD" fuzz-build
}

@test "every fuzzer survives its corpus: what was found once stays mended" {
	[ "${#names[@]}" -ge 10 ]
	tests/fuzz/run regress "${names[@]}"
}

@test "every fuzzer finds nothing new in its time" {
	FUZZ_JOBS=2 tests/fuzz/run fuzz "${FUZZ_TIME:-10}" "${names[@]}"
	[ "$(tail -n "${#names[@]}" "$BUILD/fuzz/runs" | cut -d ' ' -f 1 | sort -u | wc -l)" -eq "${#names[@]}" ]
}

@test "a fuzzer that crashes is reported, also beside one that does not" {
	mkdir -p "$BATS_TEST_TMPDIR/fuzz/corpus"
	printf '#!/bin/sh\necho "==1== ERROR: AddressSanitizer: of the test"\nexit 77\n' >"$BATS_TEST_TMPDIR/fuzz/fuzz_names"
	chmod +x "$BATS_TEST_TMPDIR/fuzz/fuzz_names"
	BUILD=$BATS_TEST_TMPDIR run tests/fuzz/run fuzz 1 names
	printf '%s\n' "$output"
	[ "$status" -eq 1 ]
	[[ $output == *'names found something'*'of the test'* ]]
	printf '#!/bin/sh\nsleep 1\n' >"$BATS_TEST_TMPDIR/fuzz/fuzz_proc"
	chmod +x "$BATS_TEST_TMPDIR/fuzz/fuzz_proc"
	FUZZ_JOBS=2 BUILD=$BATS_TEST_TMPDIR run tests/fuzz/run fuzz 1 names proc
	[ "$status" -eq 1 ]
	FUZZ_JOBS=2 BUILD=$BATS_TEST_TMPDIR run tests/fuzz/run fuzz 1 proc names proc
	[ "$status" -eq 1 ]
	FUZZ_JOBS=2 BUILD=$BATS_TEST_TMPDIR run tests/fuzz/run fuzz 1 proc
	[ "$status" -eq 0 ]
	BUILD=$BATS_TEST_TMPDIR run tests/fuzz/run regress names
	[ "$status" -eq 1 ]
}
