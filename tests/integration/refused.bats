#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# One thing refused, as an older kernel, another configuration or a security module does: the books are exactly right, and one
# line says what is missing; or the tool ends with status 1 and the reason. tests/refuse/rows says what of it is expected.
# bats file_tags=beside

load lib.bash
load refused.bash

# The names of an object's programs, of its skeleton.
programs_of() {
	sed -n '/^\tstruct {$/,/^\t} progs;$/p' "$BUILD/gen/$1.skel.h" | sed -n 's/.*struct bpf_program \*\(.*\);/\1/p'
}

@test "each BPF program has a row of what happens where the kernel refuses it" {
	local program missing=''

	for program in $(programs_of memleakbpf) $(programs_of survey) $(programs_of sleepers) $(programs_of kmem); do
		grep -q "^$program |.* name:${program}[ =]" "$ROWS" || missing+=" $program"
	done
	[[ -z $missing ]] || fail "no row in tests/refuse/rows:$missing"
}

@test "a program refused: the books are right and what is missing is said, or it ends with the reason" {
	rows '^name:'
}
