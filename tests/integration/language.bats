#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# A language that did not exist before, from nothing to its frames in a report: tests/language.
# bats file_tags=beside,nightly

load lib.bash

setup() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
	fresh
}

teardown() {
	clean
}

# The sources, and what is built of them, in a tree of their own.
copy_tree() {
	local root=$HERE/../..

	mkdir -p "$D/tree/build"
	cp -a "$root"/{Makefile,CHANGELOG.md,bpf,user,vmlinux,tools,tests} "$D/tree"
	cp -a "${TOOL%/*}"/{obj,gen,.flags} "$D/tree/build"
}

@test "A new language: its functions stand in stacks, and five files are all that it shares with others" {
	local size

	[[ $(uname -m) == x86_64 ]] || skip 'of x86-64 only'
	command -v clang bpftool >/dev/null || skip 'what builds BPF programs is not here'
	copy_tree
	"$HERE/../language/add" "$D/tree" >"$D/shared"
	(($(wc -l <"$D/shared") <= 6)) || fail "it has to change $(<"$D/shared")"
	env -u MAKEFLAGS -u BUILD make -C "$D/tree" -j"$(nproc)" build/memleakbpf >"$D/make" 2>&1 || fail "$(tail -n 20 "$D/make")"
	"${CC:-cc}" -O2 -g -fomit-frame-pointer -rdynamic -Wall -Wextra "$HERE/../language/toy.c" -o "$D/toy"
	TOOL=$D/tree/build/memleakbpf
	start_target "$D/toy"
	attach
	for size in 4001 4001 lost; do
		echo "$size" >&"$T_IN"
		target_line 'done'
	done
	snap
	[[ $(managed_of toy 8002) == 'complete: back /srv/toy.toy 31, leaf /srv/toy.toy 21, outer /srv/toy.toy 11' ]] || fail "$(managed_of toy 8002)"
	# Where the interpreter's own functions were, which are left out.
	jq -e '.stacks[] | select(.live.bytes == 8002) | .frames | map(.function)[:5] == ["malloc", "back", "leaf", "outer", "__libc_start_call_main"]' <<<"$SNAP" >/dev/null || fail "$(jq -c '.stacks[].frames | map(.function)' <<<"$SNAP")"
	# What cannot be followed is counted, and said, and leaves C's functions.
	[[ $(managed_of toy 5000) == 'complete: ' ]] || fail "lost: $(managed_of toy 5000)"
	holds '.lost.toy_frames == 1 and ([.lost[]] | add) == 1 and .live.count == 3'
	"$TOOL" doctor -p "$T_PID" >"$D/doctor"
	grep -q 'Toy: stacks have its functions' "$D/doctor" || fail "$(<"$D/doctor")"
	exec {T_IN}>&-
	wait "$T_PID" || fail "the target ended with status $?"
	tool_ends
	grep -Eq 'stacks without frames of Toy: a frame is in no memory \(0x1234567000\); ' "$D/tool.err" || fail 'not said'
}
