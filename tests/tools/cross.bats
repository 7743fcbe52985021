#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# The other machine: BPF programs and user space compile for it, without warnings. Nothing is linked, which would take its libraries;
# `make test-kernels VM_MACHINE=aarch64` does that, and runs it.
# bats file_tags=nightly

@test "everything compiles for aarch64" {
	cd "$BATS_TEST_DIRNAME/../.."
	[ -d /usr/aarch64-linux-gnu/include ] || skip 'no cross compiler for aarch64'
	run make --no-print-directory -j"$(nproc)" BUILD="${BUILD:-build}/check-aarch64" CROSS_COMPILE=aarch64-linux-gnu- HTML=0 WERROR=1 lib
	printf '%s\n' "$output"
	[ "$status" -eq 0 ]
	run aarch64-linux-gnu-objdump -f "${BUILD:-build}/check-aarch64/obj/user/probe/place.o"
	[[ $output == *aarch64* ]]
}
