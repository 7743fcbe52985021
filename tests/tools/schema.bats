#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The schemas of docs/schema, and what needs no root of what they are of. tests/integration/schema.bats has the rest.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
BUILD=${BUILD:-build}
[[ $BUILD == /* ]] || BUILD=$ROOT/$BUILD
TOOL=$BUILD/memleakbpf
GOLDEN=$ROOT/tests/golden

setup() {
	D=$BATS_TEST_TMPDIR
}

schema() {
	"$ROOT/tests/tools/schema.py" "$@"
}

@test "the schemas are valid, and strict" {
	schema --schemas
}

@test "a key or a value that no schema names is told" {
	jq -c '.surprise = 1' "$GOLDEN/json-usual.json" >"$D/key"
	jq -c '.stacks[0].frames[0].surprise = 1' "$GOLDEN/json-usual.json" >"$D/deep"
	jq -c '.live.bytes = "1"' "$GOLDEN/json-usual.json" >"$D/type"
	jq -c 'del(.lost.gate_full)' "$GOLDEN/json-usual.json" >"$D/cause"
	for file in key deep type cause; do
		run schema snapshot "$D/$file"
		[[ $status -eq 1 && ${#lines[@]} -eq 2 && ${lines[0]} == "$D/$file:1: /"* ]] || {
			printf '%s\n' "$file" "${lines[@]}"
			return 1
		}
	done
}

@test "every golden file is as its schema says" {
	local file

	while read -r file; do
		case ${file##*/} in
		html-usual.json) (printf '{"version":1,"tool":"0",' && cat "$file") | schema --whole html - ;;
		html.json) schema --whole html "$file" ;;
		json-inspection*.json) schema inspection "$file" ;;
		json*.json) schema snapshot "$file" ;;
		diff*.json) schema diff "$file" ;;
		kernel*.json) schema kernel "$file" ;;
		notes.json) ;; # parts of what the next test looks at
		*)
			printf '%s: which schema is it of?\n' "$file"
			return 1
			;;
		esac || {
			printf 'in %s\n' "$file"
			return 1
		}
	done < <(find "$GOLDEN" -name '*.json')
}

@test "what is made of recordings is, and what doctor and kernel say" {
	[[ -x $TOOL ]] || skip 'memleakbpf is not built'
	"$TOOL" report "$GOLDEN/recording/shop.mlb" -f json -v >"$D/report"
	"$TOOL" report "$GOLDEN/recording/shop.mlb" -f json --merge --gen-suppressions >>"$D/report"
	"$TOOL" report "$GOLDEN/recording/notes.mlb" -f json -v >>"$D/report"
	schema snapshot,inspection "$D/report"
	"$TOOL" diff "$GOLDEN/recording/shop.mlb" -f json -v | schema diff
	"$TOOL" doctor -f json | schema doctor
	"$TOOL" kernel --no-drill -n 1 -f json | schema kernel
}
