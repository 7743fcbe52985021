# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Helpers of the tests that nothing is killed by a gate, and no number made wrong. The target is tests/targets/ledger.c, which looks at every byte of
# every block, and ends with status 99 when one is not as it left it.
#
#     both FUNCTION [ARG…]     with GATE: sampled and exact; each in a subshell with a state of its own. Where the machine is emulated by turns:
#                              of two tests one is sampled, one exact. By day one of them, by turns of weeks; with ALL_MODES both
#     start_ledger [THREADS]   …, at work, with a C library of its own
#     gate [OPTION…]           attaches, and there is a gate
#     books [LOSS…]            the tool and the target agree on what is live
#     comes_twice              a gate that is used, and another one; one of them where the machine is emulated
#     strace_holds / strace_lets_go
#     end_ledger               its text is as its file has it, and it ends well

setup() {
	[[ -x $TOOL ]] || fail "no $TOOL: run make first"
	need_gate
	fresh
}

both() {
	local how ways=('-s 4k' '') failed=''

	if [[ -n ${VM_GUEST-} ]]; then
		ways=("${ways[BATS_TEST_NUMBER % 2]}")
	elif [[ -z $ALL_MODES${NIGHTLY-} ]]; then
		ways=("$(by_turns "${ways[@]}")")
	fi
	for how in "${ways[@]}"; do
		(
			set -e
			# shellcheck disable=SC2206
			GATE=($how --gate)
			MODE=''
			fresh
			trap clean EXIT
			"$@"
		) &
		wait $! || failed+=" '${how:+$how }--gate'"
	done
	[[ -z $failed ]] || {
		printf 'failed with:%s\n' "$failed"
		return 1
	}
}

start_ledger() {
	own_libc
	start_target "$TARGETS/ledger" "${1:-2}"
	tell go
}

has_gate() {
	snap
	holds '.attach == "gate"'
}

# shellcheck disable=SC2120
gate() {
	tell stat
	LEAKED_BEFORE=$(field .live.ledger_leak "$TRUTH")
	attach "${GATE[@]}" "$@"
	has_gate
}

# books [LOSS…]: since the last gate() blocks are leaked before; all else is freed then, and nothing else may be live. Nothing is lost, by other causes than these.
# shellcheck disable=SC2120
books() {
	tell 'leak 4000'
	tell calm
	snap
	# shellcheck disable=SC2016
	jq -e '.lost | del(.[$ARGS.positional[]]) | add == 0' --args "$@" <<<"$SNAP" >/dev/null || fail "lost: $(field .lost "$SNAP")"
	# shellcheck disable=SC2016
	jq -e --argjson truth "$TRUTH" --argjson before "$LEAKED_BEFORE" '
		def of($names): [.stacks[] | select(any(.frames[]; .function as $f | $names | index($f)))
			| select(all(.frames[]; .function != "small_steps"))];
		($truth.live.ledger_leak | {bytes: (.bytes - $before.bytes), count: (.count - $before.count)}) as $true
		| ([of(["ledger_leak"])[].live.bytes] | add) as $seen
		| ([of(["ledger_leak"])[] | .error_bytes // 0 | . * .] | add | sqrt) as $error
		| ($seen - $true.bytes | fabs) <= 6 * $error
			and (.sample_bytes != 0 or ([of(["ledger_leak"])[].live.count] | add) == $true.count)
			and ([of(["ledger_take", "ledger_resize"])[].live | .bytes, .count] | add) == 0
		' <<<"$SNAP" >/dev/null ||
		fail "$(jq -c --argjson truth "$TRUTH" '[$truth.live, (.stacks[] | [.live, .error_bytes, ([.frames[0:3][].function] | join(" < "))])]' <<<"$SNAP")"
	tell go
}

comes_twice() {
	local i

	for ((i = 0; i < ${VM_GUEST:-2}; i++)); do
		gate
		books
		stop_tool
	done
}

# The text of its C library in memory is what its file has.
# shellcheck disable=SC2120
text_as_file() {
	/usr/bin/python3 - "$T_PID" "${1:-$D/lib/libc.so.6}" <<-'EOT' || fail 'its text is not as its file'
		import os, sys
		pid, path = sys.argv[1:]
		found = False
		# Of a process whose first thread has ended another one shows it.
		pid = next(t for t in sorted(os.listdir(f"/proc/{pid}/task"), key=int) if open(f"/proc/{t}/maps").read())
		for line in open(f"/proc/{pid}/maps"):
		    words = line.split()
		    if "x" not in words[1] or words[-1] != path:
		        continue
		    start, end = (int(w, 16) for w in words[0].split("-"))
		    with open(f"/proc/{pid}/mem", "rb") as memory, open(path, "rb") as file:
		        memory.seek(start)
		        file.seek(int(words[2], 16))
		        there, wanted = memory.read(end - start), file.read(end - start)
		    found = True
		    for i in range(min(len(there), len(wanted)) if there[:len(wanted)] != wanted[:len(there)] else 0):
		        if there[i] != wanted[i]:
		            sys.exit(f"{path}+{int(words[2], 16) + i:#x}: {there[i:i+16].hex()}, not {wanted[i:i+16].hex()}")
		sys.exit(0 if found else f"{path} is not mapped")
	EOT
}

text_is_as_file() {
	(text_as_file) 2>/dev/null
}

# Nobody traces any thread of it.
untraced() {
	! cat "/proc/$T_PID/task/"*/status 2>/dev/null | grep -q '^TracerPid:[[:space:]]*[1-9]'
}

end_ledger() {
	text_as_file
	until_true "$DEADLINE" untraced || fail 'somebody traces it still'
	tell calm
	end_target
}

# strace_holds / strace_lets_go: all threads of the target.
strace_holds() {
	: >"$D/strace.err" # now, so that nobody reads what an earlier one said
	strace -f -o "$D/strace" -p "$T_PID" 2>"$D/strace.err" 3>&- &
	STRACE_PID=$!
	PIDS+=("$STRACE_PID")
	until_true "$DEADLINE" grep -q 'attached' "$D/strace.err" || fail "strace does not attach: $(<"$D/strace.err")"
}

strace_lets_go() {
	kill -INT "$STRACE_PID"
	wait "$STRACE_PID" || :
	until_true "$DEADLINE" untraced || fail 'strace does not let go'
}
