#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# --guard=1 on bugs with blocks of the heap, each beside a twin without it (tests/targets/heap_bugs*), and AddressSanitizer and
# memcheck on the same: a table, in which what a guard finds has to be what is known of it (heap_bugs.py), and nothing is told of a twin.
# bats file_tags=beside

load lib.bash

# One block in four lies at the left end of its page, where alone a read before it is seen: that none of 40 does has a chance of one in 100,000, of 60 one in 30 million.
ROUNDS=60

setup() {
	[[ -x $TOOL ]] || fail "no $TOOL: run make first"
	need_gate # the same machine code
	fresh
}

# What a block's place leaves to chance comes up in so many rounds: the twins first, so that nothing of theirs is told of them alone.
by_guard() { # PROGRAM
	start_target "$TARGETS/$1.nofp"
	start_tool -p "$T_PID" --guard=1 -v
	attached "$T_PID"
	tool_says "^memleakbpf: process $T_PID .*: guards before"
	tell "good $ROUNDS"
	snap
	holds '.guard.on and .guard.guarded > 900 and .bad_accesses == []'
	tell "bad $ROUNDS"
	snap
	holds '.guard.on and .guard.not_listed == 0 and (.guard.lost // 0) == 0'
	printf '%s\n' "$SNAP" >"$D/$1.guard"
	end_target
	tool_ends
}

# In each, what is beside a block is so wide that a case writes over nobody else's.
by_asan() { # PROGRAM
	printf 'good 1\nbad 1\nquit\n' | ASAN_OPTIONS=halt_on_error=0:redzone=512:detect_leaks=0:log_path="$D/$1.asan" timeout $((4 * DEADLINE)) "$TARGETS/$1.asan" \
		>"$D/$1.asan.out" 2>&1 3>&- || [[ $? -eq 1 ]]
	[[ $(<"$D/$1.asan.out") == *'"phase":"quit"'* ]] || fail "AddressSanitizer ended it: $(tail -n 20 "$D/$1.asan".[0-9]*)"
	cat "$D/$1.asan".[0-9]* >"$D/$1.asan"
}

by_memcheck() { # PROGRAM
	printf 'good 1\nbad 1\nquit\n' | timeout $((4 * DEADLINE)) valgrind -q --redzone-size=512 --xml=yes --xml-file="$D/$1.memcheck" "$TARGETS/$1.nofp" >"$D/$1.memcheck.out" 2>&1 3>&- ||
		fail "memcheck: $(<"$D/$1.memcheck.out")"
}

@test "bugs with blocks are found, and nothing in their correct twins; beside AddressSanitizer and memcheck where they are installed" {
	local program table=$BUILD/tests/heap-bugs.txt others=()

	[[ ! -x $TARGETS/heap_bugs.asan ]] || others+=(asan)
	! command -v valgrind >/dev/null || others+=(memcheck)
	for program in heap_bugs heap_bugs_freed heap_bugs_cxx; do
		by_guard "$program"
		for other in "${others[@]}"; do
			"by_$other" "$program"
		done
	done
	"$HERE/heap_bugs.py" "$D" "$ROUNDS" "${others[@]}" >"$table" || fail "$(<"$table")"
}
