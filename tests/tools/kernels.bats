#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# docs/kernels.md is what machines have shown: runs of some kernels and some tests take nothing of it that others have shown.

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)

# A tree of its own, since the report writes into its tree.
setup() {
	TREE=$BATS_TEST_TMPDIR/tree
	RESULTS=$BATS_TEST_TMPDIR/build/vm/results
	mkdir -p "$TREE/tests/vm" "$TREE/docs" "$RESULTS"
	cp "$ROOT/tests/vm/report" "$TREE/tests/vm/"
	cp "$ROOT/docs/kernels.md" "$TREE/docs/"
	ln -s "$ROOT/tests/integration" "$TREE/tests/integration"
	ALL=$(grep -c '^@test' "$ROOT/tests/integration/core.bats")
}

report() {
	BUILD=$BATS_TEST_TMPDIR/build "$TREE/tests/vm/report"
}

# cell ROW KERNEL: of the first table.
cell() {
	awk -F ' *[|] *' -v row="$1" -v kernel="$2" '/^\| \| / { for (i = 3; i < NF; i++) if ($i == kernel) column = i; next }
		$2 == row { print $column; exit }' "${3:-$TREE/docs/kernels.md}"
}

before() {
	cell "$1" "$2" "$ROOT/docs/kernels.md"
}

is() {
	[[ $1 == "$2" ]] || {
		printf 'it is "%s", not "%s"\n' "$1" "$2"
		return 1
	}
}

@test "without any results it stays as it is" {
	report
	diff "$ROOT/docs/kernels.md" "$TREE/docs/kernels.md"
}

@test "results of one kernel: its cells, and nobody else's" {
	# By their titles, in a way to attach that no machine has had.
	printf '%s\n' '#: kernel 6.1.99-new x86_64' 'ok 1 every BPF program loads' 'ok 2 core by trial: leaf sites' \
		'not ok 3 core by trial: strdup' 'ok 4 core by trial: python3 # SKIP not on this kernel: no snakes' >"$RESULTS/x86_64-6.1.tap"
	report
	is "$(cell kernel 6.1)" 6.1.99-new
	is "$(cell kernel 6.12)" "$(before kernel 6.12)"
	is "$(cell 'integration tests: core by trial' 6.1)" "1 of $ALL, $((ALL - 3)) not tried"
	is "$(cell 'integration tests: core by trial' 6.12)" 'not run'
	is "$(cell 'integration tests: core' 6.1)" "$(before 'integration tests: core' 6.1)"
	is "$(cell 'integration tests: core' '6.1 aarch64')" "$(before 'integration tests: core' '6.1 aarch64')"
	is "$(cell 'left out, for a reason given below' 6.1)" $(($(before 'left out, for a reason given below' 6.1) + 1))
	is "$(cell '**failed**' 6.1)" $(($(before '**failed**' 6.1) + 1))
	grep -qxF '| core by trial: strdup | 6.1 | failed |' "$TREE/docs/kernels.md"
	grep -qxF '| core by trial: python3 | 6.1 | no snakes |' "$TREE/docs/kernels.md"
}

@test "fewer tests than before say nothing new, unless one fails" {
	printf 'ok 1 core: leaf sites\n' >"$RESULTS/x86_64-6.1.tap"
	report
	is "$(cell 'integration tests: core' 6.1)" "$(before 'integration tests: core' 6.1)"
	printf 'not ok 2 core: strdup\n' >>"$RESULTS/x86_64-6.1.tap"
	report
	is "$(cell 'integration tests: core' 6.1)" "1 of $ALL, $((ALL - 2)) not tried"
	grep -qxF '| core: strdup | 6.1 | failed |' "$TREE/docs/kernels.md"
}

@test "a run without the first tests says nothing of them" {
	local basics='loading, choice of mode, copying a process, a quiet kernel log'

	printf '%s\n' '#: kernel 6.1.99-new x86_64' 'ok 1 core by trial: leaf sites' 'ok 2 the kernel has nothing to complain about' \
		>"$RESULTS/x86_64-6.1.tap"
	report
	is "$(cell "$basics" 6.1)" "$(before "$basics" 6.1)"
	is "$(cell 'integration tests: core by trial' 6.1)" "1 of $ALL, $((ALL - 1)) not tried"
}

# As tests/unit/trace/test_verifier.c says it, which is asked for that: a program that two kinds of traces have is said twice.
@test "how many instructions were looked at: the most, of each program" {
	local form='%s%s: %u instructions verified, %u bytes of stack before 6.8\n'

	grep -qF "$form" "$ROOT/tests/unit/trace/test_verifier.c"
	{
		printf '%s\n' '#: kernel 6.1.99-new x86_64' 'ok 1 every BPF program loads'
		# shellcheck disable=SC2059
		printf "# $form" alloc_enter '' 12345 480 live_sweep '' 47 32 live_sweep '' 46 32 alloc_enter ', all options' 54321 480
	} >"$RESULTS/x86_64-6.1.tap"
	report
	# It stands there without and with all options.
	is "$(cell '`alloc_enter`' 6.1)" 12345
	is "$(cell '`live_sweep`' 6.1)" 47
	grep -q '^| `alloc_enter` |.* 54321 |' "$TREE/docs/kernels.md"
	is "$(cell '`alloc_enter`' 6.12)" "$(before '`alloc_enter`' 6.12)"
}
