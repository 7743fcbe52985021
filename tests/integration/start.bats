#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# bats file_tags=beside
#
# What a start loads: most of what it takes is the kernel's verifier, so a program more is noticed here.

load lib

# Of every trace by sessions, of a process that was there already.
USUAL='alloc_return alloc_session free_enter live_ages live_clock_read live_sweep on_exec on_exit on_fork on_loaded on_mapping on_signal on_unwind on_victim unmap_enter'

# The names of the programs that the tool has loaded, as the kernel keeps them (15 characters).
loaded() {
	local id

	for id in $(cat /proc/"$TOOL_PID"/fdinfo/* 2>/dev/null | awk '$1 == "prog_id:" { print $2 }' | sort -un); do
		bpftool prog show id "$id" -j | jq -r .name
	done | LC_ALL=C sort | tr '\n' ' '
}

# loads NAME…: these and the usual ones, and no other.
loads() {
	local wanted

	wanted=$(tr ' ' '\n' <<<"$USUAL $*" | LC_ALL=C sort | tr '\n' ' ')
	wanted=${wanted# }
	LOADED=$(loaded)
	[[ $LOADED == "$wanted" ]] || fail "loaded: $LOADED
wanted: $wanted"
}

# Other kernels get other programs: how many there are is checked for one.
need_sessions() {
	[[ $("$TOOL" doctor -f json | jq -r '.modes[0]') == session ]] || skip 'needs uprobe sessions'
	need_hold
}

@test "a C program: a start loads the listed programs and no others" {
	need_sessions
	start_target "$TARGETS/leaf"
	attach
	loads usdt_free
	tell go
	snap
	same
	loads usdt_free
	end_target
}

@test "a start with --gate loads the listed programs and no others" {
	need_sessions
	need_gate
	start_target "$TARGETS/leaf"
	attach --gate
	loads gate_alloc gate_free gate_kept
	end_target
}

@test "a command's start loads as much, and the programs that hold new processes" {
	need_sessions
	"$TOOL" -f json -o "$D/report" -- "$TARGETS/leaf" <"$D/in" >"$D/out" 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	exec {T_IN}>"$D/in" {T_OUT}<"$D/out"
	target_line 'ready '
	PIDS+=("${LINE#ready }")
	USUAL=${USUAL/on_exec/hold_on_exec} USUAL=${USUAL/on_fork/hold_on_fork}
	loads usdt_free
}

@test "a program in Python: what follows its functions is loaded, and in one program" {
	need_sessions
	start_target /usr/bin/python3 -S -c 'import os, sys
print("ready", os.getpid(), flush=True)
sys.stdin.read()'
	attach
	loads usdt_free managed_session
	stop_tool
}

@test "a command in Python: what follows its functions is loaded with all else" {
	need_sessions
	"$TOOL" -v -f json -o "$D/report" -- /usr/bin/python3 -S -c 'import os, sys
print("ready", os.getpid(), flush=True)
sys.stdin.read()' <"$D/in" >"$D/out" 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	exec {T_IN}>"$D/in" {T_OUT}<"$D/out"
	target_line 'ready '
	PIDS+=("${LINE#ready }")
	USUAL=${USUAL/on_exec/hold_on_exec} USUAL=${USUAL/on_fork/hold_on_fork}
	loads usdt_free managed_session
	tool_says 'frames of Python'
	! grep 'loaded when first needed' "$D/tool.err" || fail 'it was loaded by itself'
}

@test "a C++ program with tcmalloc, whose functions throw: the entry's program is loaded" {
	need_sessions
	T_ENV=(LD_PRELOAD="$LIBDIR/libtcmalloc_minimal.so.4")
	start_target "$TARGETS/leaf"
	attach
	loads usdt_free alloc_enter
	end_target
}
