#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The command line: what is refused, and how.
# bats file_tags=beside

load lib.bash

# bats test_tags=quick
@test "--help fits on a screen, and --version has the version" {
	run_tool --help
	[[ $STATUS -eq 0 && -z $ERR ]] || fail "$STATUS $ERR"
	grep -q -- '--interval' <<<"$OUT" || fail "$OUT"
	[[ $(wc -l <<<"$OUT") -le 40 ]] || fail 'longer than a screen'
	run_tool --version
	[[ $STATUS -eq 0 && -z $ERR ]] || fail "$STATUS $ERR"
	grep -Eq '^memleakbpf [0-9]+\.[0-9]+' <<<"$OUT" || fail "$OUT"
}

@test "every option that is handled is in --help" {
	run_tool --help
	ALL=$OUT
	for topic in select leaks checks figures scopes stacks probes; do
		run_tool "--help=$topic"
		[[ $(wc -l <<<"$OUT") -le 24 ]] || fail "$topic: longer than a screen"
		ALL+=$OUT
	done
	for option in -p -i -n -T -z -Z --older -s -f -o --sort --no-inlines --attach -v --version --help -O --symbols-prefix \
		--alloc-fn --free-fn --mmap --no-follow --max-live --error-exitcode --verdict --check-frees --suppressions; do
		grep -q -- "$option" <<<"$ALL" || fail "no $option"
	done
}

# usage REGEX ARGS…: status 2 and one line
usage() {
	local regex=$1

	shift
	run_tool "$@"
	refused 2 "$regex" || fail "$*"
}

@test "nothing to do, and unknown words and options: status 2" {
	usage '-p|COMMAND'
	usage 'nonsense' --nonsense
	usage 'y' -y
	usage 'p' -p
	usage 'x' -p 1 x
}

@test "nonsense numbers: status 2, and the value is named" {
	for value in '' -1 0 1.5 1,,2 a,,b 'nginx,' 1,-2 ',1' '1,' ' 1' 1x 99999999999999999999 0x10; do
		usage "'?$value'?" -p "$value"
	done
	for value in '' abc -1 0 10x 1.2.3 99999999999999999999 ' 5' nan inf 0s; do
		usage "'?$value'?" -p 1 -i "$value"
		usage "'?$value'?" -p 1 --older "$value"
	done
	for value in '' abc -1 1kk 99999999999999999999 18446744073709551615k 4q; do
		usage "'?$value'?" -p 1 -z "$value"
		usage "'?$value'?" -p 1 -Z "$value"
		usage "'?$value'?" -p 1 -s "$value"
	done
	for value in '' abc -1 0 1e3 99999999999999999999; do
		usage "'?$value'?" -p 1 -n "$value"
		usage "'?$value'?" -p 1 -T "$value"
		usage "'?$value'?" -p 1 --max-live "$value"
	done
	usage 'abc' -p 1 --error-exitcode abc
	usage '256' -p 1 --error-exitcode 256
}

@test "nonsense names: status 2, and the choices are named" {
	usage 'text.*json|json.*text' -p 1 -f nonsense
	usage 'session.*multi.*single' -p 1 --attach nonsense
	usage 'live.*alloc.*growth.*count' -p 1 --sort nonsense
	usage 'NAME:' -p 1 --alloc-fn nonsense
	usage 'NAME:' -p 1 --alloc-fn pool:0
	usage 'NAME:' -p 1 --alloc-fn pool:7
	usage 'NAME:' -p 1 --alloc-fn :1
	usage 'NAME:' -p 1 --free-fn nonsense
	usage 'NAME:' -p 1 --free-fn pool:x
}

@test "-z above -Z is refused with status 2" {
	usage 'z' -p 1 -z 100 -Z 10
}

@test "--help does not need root" {
	cp "$TOOL" "$BATS_TEST_TMPDIR/memleakbpf"
	for directory in "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR"; do
		chmod 755 "$directory"
	done
	chmod 755 "$BATS_TEST_TMPDIR/memleakbpf"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$BATS_TEST_TMPDIR/memleakbpf" --help >/dev/null
}

@test "-n takes that many snapshots and ends with status 0" {
	start_target "$TARGETS/leaf"
	run_tool -f json -p "$T_PID" -i 100ms -n 3
	[[ $STATUS -eq 0 ]] || fail "$STATUS $ERR"
	[[ $(wc -l <<<"$OUT") -eq 3 ]] || fail "$OUT"
	[[ $(jq -s -c 'map(.final)' <<<"$OUT") == '[false,false,true]' ]] || fail "$(jq -s -c 'map(.final)' <<<"$OUT")"
	end_target
}

# bats test_tags=alone
@test "durations: 100ms, 1s and a bare number of seconds" {
	start_target "$TARGETS/leaf"
	for interval in 100ms 1s 1 1.0; do
		[[ $interval != 1.0 ]] || continue
		run_tool -f json -p "$T_PID" -i "$interval" -n 1
		[[ $STATUS -eq 0 ]] || fail "$interval: $STATUS $ERR"
		elapsed=$(field .elapsed_ms "$OUT")
		[[ $interval == 100ms ]] && least=90 || least=990
		[[ $elapsed -ge $least && $elapsed -lt $((least + 4000)) ]] || fail "$interval: $elapsed ms"
	done
	end_target
}

# bats test_tags=quick
@test "SIGINT, SIGTERM: a final snapshot and status 0" {
	for signal in INT TERM; do
		clean
		fresh
		start_target "$TARGETS/leaf"
		attach
		tell go
		stop_tool $signal
		final
		same
		end_target
	done
}

@test "doctor says what this machine allows" {
	run_tool doctor
	[[ $STATUS -eq 0 ]] || fail "$STATUS $ERR"
	grep -qi 'uprobe' <<<"$OUT" || fail "$OUT"
	start_target "$TARGETS/leaf"
	run_tool doctor -p "$T_PID"
	[[ $STATUS -eq 0 ]] || fail "$STATUS $ERR"
	grep -q 'malloc' <<<"$OUT" || fail "$OUT"
	end_target
}

# byte_at ADDRESS OCTAL: into the target's memory, its code too.
byte_at() {
	printf "\\$2" | dd of="/proc/$T_PID/mem" bs=1 seek="$(($1))" conv=notrunc status=none
}

@test "doctor says whether there can be a gate" {
	run_tool doctor -f json
	[[ $STATUS -eq 0 ]] || fail "$STATUS $ERR"
	if [[ $(uname -m) != x86_64 ]]; then
		[[ $(jq -r '.gate | "\(.have) \(.why)"' <<<"$OUT") == 'false there is a gate for x86_64 only' ]] || fail "$OUT"
		return
	fi
	jq -e --argjson can "$([[ $(</proc/sys/vm/overcommit_memory) == 2 ]] && echo false || echo true)" '.gate.guards == $can' <<<"$OUT" >/dev/null || fail "$OUT"
	jq -e '.gate | .have and .optimised == (.nop != "nop") and .hit_ns > 20' <<<"$OUT" >/dev/null || fail "$OUT"
	local how
	how=$(jq -r '.gate | "\(.nop), \(if .optimised then "optimised" else "emulated" end) by the kernel, "' <<<"$OUT")
	run_tool doctor
	grep -Eq "^  ok       gate +${how}[0-9.]+ us a hit\$" <<<"$OUT" || fail "$OUT"
	# With this, a memfd that is made to be executed is refused; it is a setting of the process's PID namespace.
	if [[ -e /proc/sys/vm/memfd_noexec ]]; then
		OUT=$(unshare --pid --fork --mount-proc "$BASH" -c 'echo 2 >/proc/sys/vm/memfd_noexec && exec "$1" doctor -f json' - "$TOOL")
		jq -e '.gate.have' <<<"$OUT" >/dev/null || fail "$OUT"
	fi
	cp "$TOOL" "$BATS_TEST_TMPDIR/memleakbpf"
	chmod 755 "$BATS_TEST_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_RUN_TMPDIR" "$BATS_TEST_TMPDIR/memleakbpf"
	OUT=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$BATS_TEST_TMPDIR/memleakbpf" doctor -f json) && fail "$OUT"
	jq -e '.gate | .have == false and .why != ""' <<<"$OUT" >/dev/null || fail "$OUT"
}

@test "doctor names breakpoints that somebody has left in a process's code" {
	local line start offset path
	local leftover

	start_target "$TARGETS/leaf"
	leftover="process $T_PID \\(leaf\\): 1 in"
	read -r line < <(grep -E 'r-xp .*/libc\.so\.6$' "/proc/$T_PID/maps")
	read -r start _ offset _ _ path <<<"$line"
	run_tool doctor
	grep -Eq "$leftover" <<<"$OUT" && fail "$OUT"
	# Another byte than an int3 is none; its page is the process's own all the same.
	byte_at "0x${start%-*} + 0x100" 17
	run_tool doctor
	grep -Eq "$leftover" <<<"$OUT" && fail "$OUT"
	byte_at "0x${start%-*} + 0x100" 314
	run_tool doctor
	[[ $STATUS -eq 0 ]] || fail "$STATUS $ERR"
	grep -Eq "$leftover $path, the first at $(printf '0x%x' $((0x$offset + 0x100)))\$" <<<"$OUT" || fail "$OUT"
	run_tool doctor -f json
	[[ $(jq -c ".breakpoints[] | select(.pid == $T_PID) | [.comm, .path, .count]" <<<"$OUT") == '["leaf","'"$path"'",1]' ]] ||
		fail "$OUT"
	end_target
}
