#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# --merge: one report for all processes of a program.
# bats file_tags=beside

load lib.bash

# The processes of before are a shell that becomes the program: a sum has those that go by its name.
@test "children that come and go are one program, and all their allocations are in it" {
	timeout $((4 * DEADLINE)) "$TOOL" --merge -f json -T 10000 --sort alloc -o "$D/report" --children exact -- \
		"$BUILD/tests/unwind/children" 40 >"$D/run.out" 2>"$D/tool.err" 3>&- || fail "status $?"
	made=$(<"$D/run.out")
	jq -es --argjson made "$made" 'map(select(.comm == "children")) | length == 1 and (.[0] |
		.final and .exited and .processes > 40 and .processes == .processes_ended and
		.alloc.count >= $made and .alloc.count <= $made + 60 and
		(.stacks | map(.alloc.count) | add) == .alloc.count and
		(.stacks | map(.id) | length == (unique | length)))' "$D/report" >/dev/null ||
		fail "of $made allocations: $(jq -c 'del(.stacks)' "$D/report")"
	# The same path through the program, wherever it is mapped: nest() of ten depths, and little else.
	jq -es 'map(select(.comm == "children")) | .[0].stacks
		| map(select(any(.frames[]; .function == "nest") and .alloc.count > 40)) | length <= 20' "$D/report" >/dev/null ||
		fail "the stacks of $(jq -c '.stacks | length' "$D/report") are not merged"
}

@test "processes that live are one program in every report" {
	start_target "$TARGETS/family" fork-first
	T_FIRST=$T_PID
	timeout $((4 * DEADLINE)) "$TOOL" --merge -f json -T 100 -i 200ms -n 3 -o "$D/report" -p "$T_FIRST" 2>"$D/tool.err" 3>&- || fail "status $?"
	jq -es 'length == 3 and all(.[]; .processes == 2 and .processes_ended == 0)' "$D/report" >/dev/null ||
		fail "$(jq -c 'del(.stacks)' "$D/report")"
}

@test "stacks that only the first of many processes had keep their names to the end" {
	# The tables of ended processes are cleared by the dozen: more than one has been by then.
	printf '%s\n' '( [[ aaa =~ ^(a+)$ ]] )' 'for i in $(seq 150); do ( : ); done' 'exit 0' >"$D/script"
	timeout $((4 * DEADLINE)) "$TOOL" --merge -f json -T 10000 --sort alloc -o "$D/report" --children exact -- bash "$D/script" 2>"$D/tool.err" 3>&- ||
		fail "status $?"
	jq -es 'map(select(.comm == "bash")) | .[0] | .processes > 150 and any(.stacks[].frames[]; .function == "regcomp")' "$D/report" >/dev/null ||
		fail "$(jq -c 'del(.stacks)' "$D/report")"
}
