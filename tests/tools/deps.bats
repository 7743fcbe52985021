#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Each goal of make names the packages that it lacks before it compiles anything. A compiler that finds no header stands in for a machine
# without packages.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)

# lacks GOAL PACKAGE…: make GOAL ends with the names of the packages, and without a line about a file that is compiled.
lacks() {
	local goal=$1 package

	shift
	run make -C "$ROOT" "$goal" BUILD="$BATS_TEST_TMPDIR/build" CC=false HTML=0
	[ "$status" -ne 0 ]
	for package; do
		[[ $output == *"tools/deps: missing:"*" $package"* ]]
	done
	[[ $output == *'tools/deps: install with: tools/deps '* ]]
	[[ $output != *'  CC '* && $output != *'  CLANG '* ]]
}

@test "the program names the libraries that it lacks" {
	lacks all libelf-dev libbpf-dev
	[[ $output != *libcmocka-dev* ]]
}

@test "unit tests, of one room too, name cmocka" {
	lacks unit libelf-dev libcmocka-dev
	lacks unit-heap libelf-dev libcmocka-dev
}

@test "quick and targets name what the tests' programs lack" {
	lacks quick libelf-dev libcmocka-dev systemtap-sdt-dev
	lacks targets libelf-dev systemtap-sdt-dev
}

@test "the static program names what it lacks besides" {
	lacks static libelf-dev libbpf-dev
	# With a table that wants what no machine has.
	mkdir -p "$BATS_TEST_TMPDIR/tools"
	sed 's/^static lib:libbz2.a /static lib:libno-such.a /' "$ROOT/tools/deps" >"$BATS_TEST_TMPDIR/tools/deps"
	run bash "$BATS_TEST_TMPDIR/tools/deps" --check static
	[ "$status" -eq 1 ]
	[[ $output == *'tools/deps: missing: libbz2-dev'* ]]
}
