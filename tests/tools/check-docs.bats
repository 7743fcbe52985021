#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# tools/check-docs finds what it is there for: each test writes one bad page into a tree that is otherwise clean.

setup() {
	tree=$BATS_TEST_TMPDIR
	mkdir -p "$tree/docs"
	page docs/other.md '# Other' '' '## What it costs' '' 'Nothing.' '' '## What it costs'
}

# page FILE LINE…
page() {
	local file=$1

	shift
	printf '%s\n' "$@" >"$tree/$file"
}

# words N: a text of N words, without a full stop.
words() {
	local i

	printf 'One'
	for ((i = 1; i < $1; i++)); do
		printf ' a%d' "$i"
	done
}

check() {
	run "$BATS_TEST_DIRNAME/../../tools/check-docs" "$tree" README.md
	printf '%s\n' "$output"
}

# found LINE…: the check fails with these lines and no others.
found() {
	check
	[ "$status" -eq 1 ]
	[ "$output" = "$(printf '%s\n' "$@")" ]
}

clean() {
	check
	[ "$status" -eq 0 ]
	[ -z "$output" ]
}

@test "a line of 100 characters passes, one of 101 does not" {
	page README.md "$(printf 'ä%.0s' {1..100})" '' "$(printf 'ä%.0s' {1..101})"
	found 'README.md:3: 101 columns of prose, 100 are allowed'
}

@test "a list's items and headings are prose, tables and code are not" {
	local long

	long=$(printf 'x%.0s' {1..101})
	page README.md "| $long |" '' "    $long" '' '```' "$long" '```' '' "* item" '' "      $long" '' "* $long" '' "# $long"
	found 'README.md:13: 103 columns of prose, 100 are allowed' 'README.md:15: 103 columns of prose, 100 are allowed'
}

@test "a sentence of 25 words passes, one of 26 does not, on however many lines it stands" {
	page README.md "$(words 25)." "$(words 25)!" '' "Short. $(words 13)" "$(words 13)."
	found 'README.md:4: a sentence of 26 words, 25 are allowed: One a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12 One a1 a2 a3 a4 a...'
}

@test "code and the target of a link are one word each" {
	page README.md "$(words 23)" '`one two three. Four` [five](docs/other.md).'
	clean
}

@test "items of a list and cells of a table are texts of their own" {
	page README.md "* $(words 20)" "* $(words 20)" '' "| $(words 20) | $(words 26) |"
	found 'README.md:4: a sentence of 26 words, 25 are allowed: One a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12 a13 a14 a15 a16 a...'
}

@test "links lead to files, and anchors to headings" {
	page README.md '[a](docs/other.md) [b](docs/other.md#what-it-costs) [c](docs/other.md#what-it-costs-1)' \
		'[d](docs/gone.md) [e](docs/other.md#what-is-done) [f](https://example.org/x) `[g](gone)`' '[h](#what-it-costs)'
	found 'README.md:2: no file for the link docs/gone.md' 'README.md:2: no heading for the link docs/other.md#what-is-done' \
		'README.md:3: no heading for the link #what-it-costs'
}

@test "links are looked at in all pages, also from a folder to the one above" {
	page README.md '# Read me'
	page docs/other.md '[a](../README.md#read-me) [b](../README.md#gone)'
	found 'docs/other.md:1: no heading for the link ../README.md#gone'
}

@test "without the name of a page all are held to it, but those that are to be rewritten later" {
	page CHANGELOG.md "$(words 26)"
	page README.md "$(words 25)"
	page docs/new.md "$(words 26)"
	run "$BATS_TEST_DIRNAME/../../tools/check-docs" "$tree"
	printf '%s\n' "$output"
	[ "$status" -eq 1 ]
	[ "$output" = 'docs/new.md:1: a sentence of 26 words, 25 are allowed: One a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12 a13 a14 a15 a16 a...' ]
}
