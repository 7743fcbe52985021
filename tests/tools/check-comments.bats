#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# tools/check-comments counts the words of each sentence: each test writes one file into a tree that has no other.

setup() {
	tree=$BATS_TEST_TMPDIR
	mkdir -p "$tree/user/base" "$tree/bpf"
}

# words N: a text of N words, without a full stop.
words() {
	local i

	printf 'One'
	for ((i = 1; i < $1; i++)); do
		printf ' a%d' "$i"
	done
}

# check TEXT: the check of a file with this text.
check() {
	printf '%s\n' "$1" >"$tree/user/base/file.h"
	run "$BATS_TEST_DIRNAME/../../tools/check-comments" "$tree"
	printf '%s\n' "$output"
}

# found LINE COUNT: the check fails with one line, for the comment's text at this line.
found() {
	[ "$status" -eq 1 ]
	[ "${#lines[@]}" -eq 1 ]
	[[ ${lines[0]} == "user/base/file.h:$1: a sentence of $2 words, 25 are allowed: One a1 "* ]]
}

clean() {
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "a sentence of 25 words passes, one of 26 does not" {
	check "/* $(words 25). $(words 25)? $(words 25) */"
	clean
	check "/* $(words 25). $(words 26). */"
	[ "$status" -eq 1 ]
	check "/* $(words 26) */"
	found 1 26
}

@test "a sentence may run over several lines of a comment" {
	check "$(printf '/*\n * %s\n * b c d e f g.\n */' "$(words 20)")"
	found 2 26
	check "$(printf '\tint a; /* %s\n\t\t* b c d e f g */' "$(words 20)")"
	found 1 26
}

@test "a blank line and each item of a list end a text" {
	check "$(printf '/*\n * %s\n *\n * %s\n */' "$(words 20)" "$(words 20)")"
	clean
	check "$(printf '/*\n * - %s\n * - %s\n */' "$(words 20)" "$(words 20)")"
	clean
	check "$(printf '/*\n * - %s\n *   b c d e f g\n */' "$(words 20)")"
	[ "$status" -eq 1 ]
}

@test "tables are not counted" {
	check "$(printf '/*\n *\t%s\n *   %s\n */' "$(words 30)" "$(words 30)")"
	clean
}

@test "a piece of code is one word" {
	check "/* $(words 24) \`f(a, b, c, d)\` */"
	clean
}

@test "code and strings are no comments" {
	check "$(printf 'int f(void); /* one */\nconst char *a = "/* %s */"; /* two */\n%s;' "$(words 30)" "$(words 30)")"
	clean
}

@test "a file is not held that the list names, and held when it is asked for" {
	mkdir -p "$tree/user/heap"
	printf '/* %s */\n' "$(words 26)" >"$tree/user/heap/reach.h"
	check '/* Short. */'
	clean
	run "$BATS_TEST_DIRNAME/../../tools/check-comments" "$tree" user/heap/reach.h
	[ "$status" -eq 1 ]
}
