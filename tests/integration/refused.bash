# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What refused.bats and refused_kinds.bats share: the rows of tests/refuse/rows, and what is done by each.

ROWS=$ROOT/tests/refuse/rows
REFUSE=$BUILD/tests/refuse/refuse

# refusing RULE…: TOOL is the tool under them. Without the uprobe source it takes tracefs, which need not be mounted here.
refusing() {
	local with=''

	# shellcheck disable=SC2016
	[[ $* != *perf:uprobe* ]] || with='unshare -m bash -c '\''mount -t tracefs tracefs /sys/kernel/tracing; exec "$@"'\'' -'
	printf '#!/bin/bash\nexec %s %q %s -- %q "$@"\n' "$with" "$REFUSE" "$(printf '%q ' "$@")" "$TOOL" >"$D/tool"
	chmod 755 "$D/tool"
	TOOL=$D/tool
}

# What the snapshot says is missing, with spaces between.
missing() {
	jq -r '[.missing[]?.what] | join(" ")' <<<"$SNAP"
}

# One line for each of them, of the same words.
said() {
	local lines

	lines=$(grep -c '^memleakbpf: this kernel refuses' "$D/tool.err" || :)
	[[ $lines -eq $(jq '.missing // [] | length' <<<"$SNAP") ]] || fail "$lines lines of what is missing"
	jq -r '.missing[]? | "memleakbpf: this kernel refuses \(.why): \(.costs)"' <<<"$SNAP" >"$D/lines"
	grep -Fxf "$D/lines" "$D/tool.err" | diff - "$D/lines" || fail 'the lines are others'
}

# Each rule was met, or the row is about nothing.
met() {
	! grep '^refuse: .*: 0 times$' "$D/tool.err" || fail 'nothing was refused'
	grep -q '^refuse: ' "$D/tool.err" || fail 'refuse did not say what it has refused'
}

# ends_refused PATTERN COMMAND…: with status 1 and that reason, and without a target.
ends_refused() {
	local status=0

	timeout "$DEADLINE" "${@:2}" >"$D/out.txt" 2>"$D/tool.err" || status=$?
	[[ $status -eq 1 ]] || fail "status $status"
	grep -E "^memleakbpf: .*$1" "$D/tool.err" || fail "the reason is not said: $1"
}

# Libraries come after the attach, and children.
do_books() {
	attach "$@"
	tell 'open plugin_a'
	tell 'go plugin_a'
	snap
	same any
	end_target
	tool_ends
	final
	same any
}

do_children() {
	attach "$@"
	tell go
	snap
	same
	family_forks
	kill -TERM "$CHILD"
	await_final "$CHILD"
	printf 'exec\n' >&"$T_IN"
	target_line 'ready '
	await_final
	tool_says "^memleakbpf: attached to $T_PID \\(family-again|^memleakbpf: attached to $T_PID \\(exe"
	tell again
	snap
	same freed
	end_target
	tool_ends
}

# Its functions are in no stack, and the blocks that it has taken by malloc itself are all there.
do_python() {
	run_target /usr/bin/python3 -c 'import ctypes, os, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.malloc.argtypes = [ctypes.c_size_t]
print("ready", os.getpid(), flush=True)
sys.stdin.readline()
blocks = [libc.malloc(100003) for i in range(50)]
print("made", flush=True)
sys.stdin.readline()'
	target_line 'ready '
	attach "$@"
	echo >&"$T_IN"
	target_line made
	snap
	[[ $(jq '[.stacks[] | select(.live.bytes == 100003 * .live.count) | .live.count] | add' <<<"$SNAP") -eq 50 ]] ||
		fail 'the blocks are not all there'
	[[ $(jq '[.stacks[].frames[] | select(.kind == "python")] | length' <<<"$SNAP") -eq 0 ]] || fail 'frames of Python'
	stop_tool
}

# row NAME RULES WHAT MISSING
row() {
	local what arguments target=dl wanted=$4

	read -r what arguments <<<"$3"
	# shellcheck disable=SC2086 # several words each
	set -- "$1" $2 -- $arguments
	local name=$1 rules=()
	shift
	while [[ $1 != -- ]]; do
		rules+=("$1")
		shift
	done
	shift
	refusing "${rules[@]}"
	case $what in
	survey)
		"$TOOL" survey -i 100ms -n 2 --no-drill -f json "$@" >"$D/out.txt" 2>"$D/tool.err" || fail "status $?"
		met
		jq -e -s 'length == 2 and all(.processes | length > 0)' "$D/out.txt" >/dev/null || fail 'no processes'
		SNAP=$(tail -n 1 "$D/out.txt")
		[[ $(missing) == "$wanted" ]] || fail "missing is '$(missing)', and not '$wanted'"
		return
		;;
	kernel)
		STATUS=0
		"$TOOL" kernel --probe -i 100ms -n 1 -f json "$@" >"$D/out.txt" 2>"$D/tool.err" || STATUS=$?
		met
		SNAP=$(tail -n 1 "$D/out.txt")
		[[ $(missing) == "$wanted" ]] || fail "missing is '$(missing)', and not '$wanted'"
		# Other kinds are followed all the same; without any there are no stacks.
		jq -e '.pools | length > 5' <<<"$SNAP" >/dev/null || fail 'no pools'
		[[ $name == kmem_who || $(jq '.probes.kinds | length' <<<"$SNAP") -eq 2 || $name == kmem_area_* ]] || fail 'not two kinds'
		[[ $STATUS -eq 1 ]] || fail "status $STATUS"
		return
		;;
	ends)
		SNAP=$("$TOOL" -f json --verdict "$@" -- "$TARGETS/ending" 2>"$D/tool.err" </dev/null | tail -n 1)
		;;
	python)
		do_python "$@"
		;;
	*)
		[[ $what == books ]] || target=family
		start_target "$TARGETS/$target"
		if [[ $wanted == !* ]]; then
			ends_refused "${wanted#!}" "$TOOL" -p "$T_PID" "$@"
			met
			end_target
			return
		fi
		"do_$what" "$@"
		;;
	esac
	met
	[[ $wanted != - ]] || wanted=''
	[[ $(missing) == "$wanted" ]] || fail "missing is '$(missing)', and not '$wanted'"
	said
}

# rows PATTERN: those whose rules are so; all of them run, even if one fails. ROW (a pattern) names those to look at.
rows() {
	local name rules what missing failed=''

	[[ $EUID -eq 0 ]] || skip 'needs root'
	while IFS='|' read -r name rules what missing; do
		name=${name% } rules=${rules# } what=${what# } missing=${missing# }
		rules=${rules% } what=${what% }
		[[ -n $name && $name != '#'* && "$rules" =~ $1 && $name =~ ${ROW-} ]] || continue
		(
			set -e
			fresh
			trap clean EXIT
			row "$name" "$rules" "$what" "$missing"
		) || failed+=", $name"
	done <"$ROWS"
	[[ -z $failed ]] || {
		printf 'failed: %s\n' "${failed#, }"
		return 1
	}
}
