#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# One thing refused, as an older kernel, another configuration or a security module does: the books are exactly right, and one
# line says what is missing; or the tool ends with status 1 and the reason. tests/refuse/rows says what of it is expected.
# Here what is no single program: a kind of them, a map, a helper, a call.
# bats file_tags=beside

load lib.bash
load refused.bash

@test "each refusal of kernels before 5.15 is survived or explained" {
	rows '^helper:get_attach_cookie'
}

@test "each refused kind of program, map, helper or call is survived or explained" {
	rows '^(program|sleepable|map|helper:[a-fh-z]|helper:get_func|call|perf)'
}

@test "a recording says what was missing where it was made: report says so once, and JSON has it" {
	[[ $EUID -eq 0 ]] || skip 'needs root'
	refusing name:on_mapping
	"$TOOL" record -i 50ms -o "$D/recording" -- true >"$D/stdout" 2>"$D/tool.err" </dev/null || fail "status $?"
	met
	TOOL=${MEMLEAKBPF:-$BUILD/memleakbpf}
	"$TOOL" report -f json "$D/recording" >"$D/read.json" 2>"$D/report.err"
	[[ $(jq -r '.missing[] | "memleakbpf: this kernel refuses \(.why): \(.costs)"' "$D/read.json" | sort -u) == "$(
		grep '^memleakbpf: this kernel refuses on_mapping' "$D/tool.err")" ]] || fail 'JSON has another'
	sed -n 's/^memleakbpf: this kernel refuses/memleakbpf: where this was recorded the kernel refused/p' "$D/tool.err" |
		diff - <(grep 'the kernel refused' "$D/report.err") || fail 'report says other lines'
}

@test "doctor --try says of a refusal what a real load says, and doctor's advice goes by what the kernel has answered" {
	[[ $EUID -eq 0 ]] || skip 'needs root'
	refusing helper:copy_from_user
	"$TOOL" doctor --try -f json >"$D/doctor" 2>"$D/tool.err" || fail "status $?"
	met
	holds '.tracing and .try.loads and ([.try.missing[].what] | index("loaded_libraries") != null)' "$(<"$D/doctor")"
	fresh
	TOOL=${MEMLEAKBPF:-$BUILD/memleakbpf}
	refusing name:free_enter
	run "$TOOL" doctor --try -f json
	[[ $status -eq 1 ]] || fail "status $status"
	holds '(.tracing | not) and (.try.loads | not)' "$(grep '^{' <<<"$output")"
	fresh
	TOOL=${MEMLEAKBPF:-$BUILD/memleakbpf}
	refusing program:tracing
	"$TOOL" doctor >"$D/doctor" 2>"$D/tool.err" || fail "status $?"
	grep -A 2 'fork, exec and exit' "$D/doctor" | grep -q 'what to do: it is refused, and not lacking' || fail "$(<"$D/doctor")"
}
