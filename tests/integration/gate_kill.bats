#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# However often, and at whatever moment, a gate comes and goes, or its tool is killed: the target lives, and is as it was at the end.
# bats file_tags=beside

load lib
load gate_safety.bash

# So many at random moments, sampled and exact together, and so many attachments in a row.
KILLS=${GATE_KILLS:-$(by_day 20 60)}
CYCLES=${GATE_CYCLES:-$(by_day 4 10)}

killed() {
	own_libc
	DEADLINE=$((2 * DEADLINE)) /usr/bin/python3 "$HERE/gate_kill.py" "$TOOL" "$TARGETS/ledger" "$D/lib/libc.so.6" $((KILLS / 2)) "${GATE_SEED:-$RANDOM}" "${GATE[@]}" 2>&1 | tee "$D/kills" || :
	[[ ${PIPESTATUS[0]} -eq 0 ]] || fail "$(<"$D/kills")"
	sed 's/^/# /' "$D/kills" >&3
}

@test "kill -9 of the tool, and of its process group, at random moments" {
	ALL_MODES=1 both killed
}

# One mapping only, however often.
one_gate() {
	[[ $(grep -c 'r-xp .*memleakbpf-gate' "/proc/$T_PID/maps") -eq 1 ]] || fail "$(grep memleakbpf-gate "/proc/$T_PID/maps")"
	[[ -z $(find "/proc/$T_PID/fd" -lname '*memleakbpf-gate*') ]] || fail 'a descriptor is left'
}

# cycles COMMAND…: so many times, each to its end.
cycles() {
	local i

	for ((i = 0; i < CYCLES; i++)); do
		timeout "$((2 * DEADLINE))" "$TOOL" -f json -i 20ms -n 1 -p "$T_PID" "${GATE[@]}" >"$D/cycle" 2>"$D/cycle.err" 3>&- || fail "cycle $i: $(<"$D/cycle.err")"
		jq -es 'last.attach == "gate"' "$D/cycle" >/dev/null || fail "cycle $i: $(<"$D/cycle") $(<"$D/cycle.err")"
	done
	one_gate
}

ledger_cycles() {
	start_ledger 4
	cycles
	gate
	books
	stop_tool
	end_ledger
}

@test "attach and end, again and again: four threads at work" {
	both ledger_cycles
}

# Four threads that check what they have made.
python_at_work='
import sys, threading
done = [0] * 4
def work(n):
    while True:
        blocks = [(b"%d " % i) * (i % 97 + 1) for i in range(500)]
        table = {i: str(b) for i, b in enumerate(blocks)}
        assert all(b == (b"%d " % i) * (i % 97 + 1) for i, b in enumerate(blocks)) and table[499] == str(blocks[499])
        done[n] += 1
for n in range(4):
    threading.Thread(target=work, args=(n,), daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    print("stat", min(done), flush=True)
'

python_cycles() {
	local before

	own_libc
	run_target env "LD_LIBRARY_PATH=$D/lib" PYTHONMALLOC=malloc /usr/bin/python3 -c "$python_at_work" 2>"$D/target.err"
	target_line ready
	cycles
	text_as_file
	echo stat >&"$T_IN"
	target_line stat
	before=${LINE#stat }
	until_true "$DEADLINE" python_works "$before" || fail 'it stands still'
	[[ ! -s $D/target.err ]] || fail "$(<"$D/target.err")"
}

python_works() {
	echo stat >&"$T_IN"
	target_line stat
	[[ ${LINE#stat } -gt $1 ]]
}

@test "python3 goes on while a gate comes and goes again and again" {
	both python_cycles
}
