#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# survey --gate --keep: which processes are sampled all the time, by books of their own, and what keeps to the limits.

load lib
load survey.bash

setup() {
	need_gate
	fresh
	DRILL=(--no-drill)
	# Names of this test alone: others may have such targets at the same time.
	N=$BASHPID
}

# kept I [NAME]: the I-th target, by the name kI-N or that; KEPT[I] is its pid, and ask I COMMAND has it do something: TRUTH. PROGRAM is another than kept.
kept() {
	local i=$1 line

	mkfifo "$D/in$i" "$D/out$i"
	"${WRAP[@]}" "${PROGRAM:-$TARGETS/kept}" "${2:-k$i-$N}" <"$D/in$i" >"$D/out$i" 2>>"$D/target.err" 3>&- &
	PIDS+=("$!")
	# shellcheck disable=SC1083,SC2093 # descriptors of the shell's own, in members of arrays
	exec {INS[i]}>"$D/in$i" {OUTS[i]}<"$D/out$i"
	read -r -t "$DEADLINE" line <&"${OUTS[i]}" || fail "no target: $(<"$D/target.err")"
	KEPT[i]=${line#ready }
}

ask() {
	printf '%s\n' "$2" >&"${INS[$1]}"
	read -r -t "$DEADLINE" TRUTH <&"${OUTS[$1]}" || fail "target $1 did not answer"
}

# keep ARG…: a survey of all of this test's targets, which looks when it is told to; its reports are in survey.json.
keep() {
	: >"$D/survey.json"
	# KEEP_IN: its control group of memory.
	"$BASH" -c '[[ -z $0 ]] || echo $$ >"$0/cgroup.procs" && exec "$@"' "${KEEP_IN-}" "$TOOL" survey -f json -T 1000 -i 300ms --gate "${DRILL[@]}" --comm "^[kx][0-9]-$N\$" "$@" >"$D/survey.json" 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
}

# last FILTER: of the last whole line.
last() {
	tail -n 2 "$D/survey.json" | jq -sc "last | $1" 2>/dev/null
}

last_is() {
	[[ $(last "$1") == true ]]
}

# once FILTER: waits until that is true of the last report.
once() {
	until_true "$DEADLINE" last_is "$1" || fail "never: $1: $(last '.keep, (.processes[] | {pid, comm, kept})')"
}

sampled() {
	once ".processes | any(.pid == ${KEPT[$1]} and .kept.sampled)"
}

# all_told I: so many bytes as its books have are in the row, within four standard errors and what a process has beside.
all_told() {
	local truth

	truth=$(jq '[.live[].bytes] | add' <<<"$TRUTH")
	once ".processes[] | select(.pid == ${KEPT[$1]}) | .kept | (.live_bytes - $truth | fabs) < 4 * .error_bytes + ${2:-4096}"
	[[ $(last ".processes[] | select(.pid == ${KEPT[$1]}) | .kept.error_bytes < $truth / ${3:-4}") == true ]] || fail "too wide: $(last .processes)"
}

@test "two of three, by filters: what they allocate is known, through exec and new ones, and after kill -9 nothing is attached" {
	kept 1
	kept 2
	kept 3
	keep -s 4k --keep "comm=^k[14]-" --keep "comm=^k2-$N\$"
	sampled 1
	sampled 2
	ask 1 'leak 20000 200'
	all_told 1
	ask 2 'leak 100 100000'
	all_told 2
	ask 3 'leak 100 100000'
	once ".processes | any(.pid == ${KEPT[3]} and .kept == null)"
	[[ $(last '.keep | .sampled == 2 and .left_out == 0 and ([.lost[]] | add) == 0') == true ]] || fail "$(last .keep)"
	# Another program in its place, which a filter names as well; then one that none does.
	ask_to_become 2 "k4-$N"
	once ".processes | any(.pid == ${KEPT[2]} and .comm == \"k4-$N\" and .kept.sampled and .kept.live_bytes < 100000)"
	ask 2 'leak 100 50000'
	all_told 2
	ask_to_become 2 "k5-$N"
	once ".processes | any(.pid == ${KEPT[2]} and .comm == \"k5-$N\" and .kept == null)"
	# A new one, and the end of an old one.
	kept 4
	sampled 4
	ask 1 quit
	once '.keep.sampled == 1'
	kill -KILL "$TOOL_PID"
	wait "$TOOL_PID" || :
	ask 4 'leak 1000 100'
	# The next one takes over.
	keep -s 4k --keep "comm=^k4-"
	sampled 4
	ask 4 'leak 20000 100'
	once ".processes[] | select(.pid == ${KEPT[4]}) | .kept | (.live_bytes - 2000000 | fabs) < 4 * .error_bytes + 4096"
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?: $(<"$D/tool.err")"
	ask 4 'leak 1 1'
}

# ask_to_become I NAME: it is another program then.
ask_to_become() {
	local line

	printf 'become %s\n' "$2" >&"${INS[$1]}"
	read -r -t "$DEADLINE" line <&"${OUTS[$1]}" && [[ $line == "ready ${KEPT[$1]}" ]] || fail "exec: $line"
}

@test "limits: processes, live samples; one that cannot have a gate has its reason, and gets it when nothing is in the way any more" {
	local tracer i own

	kept 1
	keep -s 1k --keep-processes 1 --keep-live 500 --keep "comm=^k"
	sampled 1
	kept 2
	once ".processes[] | select(.pid == ${KEPT[2]}) | .kept | .sampled == false and (.reason | test(\"1 are sampled already\"))"
	[[ $(last '.keep | .sampled == 1 and .left_out == 1') == true ]]
	ask 1 'leak 2000 4000'
	once '.keep.lost.kept_full > 1000'
	[[ $(last ".processes[] | select(.pid == ${KEPT[1]}) | .kept.live_samples == 500") == true ]] || fail "$(last .processes)"
	ask 1 quit
	sampled 2
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?"
	WRAP=(strace -f -o /dev/null -e trace=none)
	command -v strace >/dev/null || skip 'no strace'
	kept 3
	tracer=${PIDS[-1]}
	WRAP=()
	DRILL=(--window 1)
	keep -s 4k --keep "comm=^k3"
	once ".processes | any(.pid == ${KEPT[3]} and .kept.sampled == false and (.kept.reason | test(\"trace\")))"
	# It has windows of probes, as any that grows.
	own=".processes[] | select(.pid == ${KEPT[3]})"
	for ((i = 1; i <= 60; i++)); do
		ask 3 'leak 400 10000'
		# 400 pages are written to, and seen: a look at each step, or there is no growth in every third of the watch.
		once "$own | .rss_anon_bytes > $((i * 1500000))"
		[[ $(last "$own | (.drill.live.bytes // 0) > 0") != true ]] || break
	done
	[[ $(last "$own | .kept.sampled") == false ]] || fail "$(last .processes)"
	((i <= 60)) || fail "never any probes: $(last .processes)"
	# A gate is tried again, after ten seconds at first.
	kill -KILL "$tracer"
	sampled 3
	ask 3 'leak 1 1'
}

# reason I TEXT: it is not sampled for that reason.
reason() {
	once ".processes[] | select(.pid == ${KEPT[$1]}) | .kept | .sampled == false and (.reason | test(\"$2\"))"
}

@test "limits of memory: none is taken, the one that came last is given up and comes back; live samples in all" {
	local wide

	memory_cgroup || skip 'no memory control group can be made here'
	wide=$(<"$LIMIT")
	kept 1
	keep -s 4k --keep-memory 1M --keep "comm=^k"
	reason 1 'more memory than --keep-memory'
	once '.keep | .sampled == 0 and .left_out == 1'
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?"

	KEEP_IN=$CGROUP keep -s 1k --keep-live-all 2000 --keep "comm=^k"
	sampled 1
	kept 2
	sampled 2
	ask 1 'leak 500 4000'
	once '.keep.live_samples > 400'
	until_true "$DEADLINE" narrowed || fail 'the limit cannot be had'
	reason 2 'control group has too little memory left'
	grep -q "process ${KEPT[2]} is not sampled any more: .*control group" "$D/tool.err" || fail "$(<"$D/tool.err")"
	# What it had has been given back. Less again:
	until_true "$DEADLINE" narrowed || fail 'the limit cannot be had'
	reason 1 'control group has too little memory left'
	once '.keep | .sampled == 0 and .left_out == 2'
	# They work on, and come back when there is room again.
	ask 2 'leak 1 1'
	echo "$wide" >"$LIMIT"
	sampled 1
	sampled 2
	# What is more than there may be of them all is counted.
	ask 2 'leak 4000 4000'
	once '.keep | .live_samples == 2000 and .lost.live_map_full > 1500'
}

# So little is left that one is to be given up, and not that the tool would be killed.
narrowed() {
	local usage

	usage=$(cat "$CGROUP"/memory.{usage_in_bytes,current} 2>/dev/null || :)
	echo $((usage + (12 << 20))) >"$LIMIT" 2>/dev/null
}

own_kib() { # STATUS-FIELD
	awk -v field="$1:" '$1 == field { print $2 }' "/proc/$TOOL_PID/status"
}

@test "limits of memory: one whose stacks take more than --keep-memory is given up, and only that one" {
	local base

	[[ ${SANITIZE-} != 1 ]] || skip 'AddressSanitizer keeps what has been freed'
	kept 1
	keep -s 1 --keep "comm=^k1"
	sampled 1
	base=$(own_kib VmRSS)
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?"
	# It takes none above seven eighths.
	keep -s 1 --keep-rate 1000000 --keep-live 100000 --keep-memory "$((base * 6 / 5))k" --keep "comm=^k"
	sampled 1
	cp "$TARGETS/many" "$D/k2-$N"
	PROGRAM=$D/k2-$N kept 2
	sampled 2
	ask 2 'stacks 60000'
	reason 2 'more memory than --keep-memory'
	grep -q "process ${KEPT[2]} is not sampled any more: .*more memory" "$D/tool.err" || fail "$(<"$D/tool.err")"
	# What it took has been given back, so that the other stays.
	once '.keep | .sampled == 1 and .left_out == 1'
	(($(own_kib VmRSS) < base * 6 / 5)) || fail "$(own_kib VmRSS) KiB of $base"
	ask 1 'leak 2000 200'
	all_told 1
	ask 2 'stacks 1'
}

@test "a storm is sampled by a coarser mean, and its sums stay without bias" {
	local before

	kept 1
	keep -s 8k --keep-rate 1000 --keep "comm=^k1"
	sampled 1
	ask 1 'storm 4000000 2000'
	all_told 1 100000
	[[ $(last '.keep | .sample_bytes >= 65536 and .samples < 200000') == true ]] || fail "$(last .keep)"
	[[ $(last '[.keep.lost[]] | add == 0') == true ]] || fail "$(last .keep)"
	# What is there keeps its weights.
	before=$TRUTH
	ask 1 'leak 5000 2000'
	[[ $TRUTH != "$before" ]]
	all_told 1 100000
}

@test "one that grows has its stacks of what is sampled anyway" {
	local i truth

	DRILL=(--window 1)
	kept 1
	keep -s 4k --keep "comm=^k1"
	sampled 1
	# A step a look, as each shows what came before it.
	for ((i = 0; i < 60; i++)); do
		ask 1 'leak 400 10000'
		all_told 1
		[[ $(last '.processes[0] | has("stacks")') != true ]] || break
	done
	once '.processes[0] | (.stacks // []) | any(.frames[1].function == "leak_kept")'
	# It is that of the whole time, and no window of probes.
	truth=$(jq '[.live[].bytes] | add' <<<"$TRUTH")
	once ".processes[0] | .kept.sampled and .drill.open == false and (.drill.live.bytes > $truth / 2)"
}

@test "guards: what is kept is guarded, and metrics count what was wrong; what cannot have guards is kept without, and says why" {
	local metrics

	ln -s "$TARGETS/guarded.nofp" "$D/k1-$N"
	PROGRAM=$D/k1-$N kept 1
	kept 2
	keep -s 4k --guard=1 --guard-slots 64 --keep "comm=^k" --metrics :0
	sampled 1
	sampled 2
	once ".processes | map(select(.pid == ${KEPT[1]} or .pid == ${KEPT[2]})) | length == 2 and all(.kept.guard.on and .kept.guard.places == 64)"
	once '.keep | .guarded == 2 and .not_guarded == 0'
	ask 1 bugs
	jq -e '.failed == false' <<<"$TRUTH" >/dev/null || fail "$TRUTH"
	once ".processes[] | select(.pid == ${KEPT[1]}) | .kept.bad_accesses == {overflow: 5, underflow: 1, use_after_free: 4, slack_overwrite: 1, double_free: 3, invalid_free: 1}"
	once ".processes[] | select(.pid == ${KEPT[2]}) | .kept.bad_accesses | add == 0"
	metrics=$(sed -n 's|.*\(http://[^ ]*metrics\).*|\1|p' "$D/tool.err" | head -n 1)
	curl -sf --max-time "$DEADLINE" "$metrics" >"$D/metrics" || fail "no metrics at '$metrics'"
	grep -q "^memleakbpf_bad_accesses_total{pid=\"${KEPT[1]}\",.*kind=\"double_free\"} 3$" "$D/metrics" || fail "$(grep bad_acc "$D/metrics")"
	grep -q "^memleakbpf_process_guards{pid=\"${KEPT[2]}\",.*} 1$" "$D/metrics" || fail "$(grep guard "$D/metrics")"
	# Locked memory turns them off; the samples go on.
	ask 1 lock
	once ".processes[] | select(.pid == ${KEPT[1]}) | .kept | .sampled and (.guard.on | not) and (.guard.reason | test(\"locked\"))"
	once '.keep | .guarded == 1 and .not_guarded == 1'
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?: $(<"$D/tool.err")"
	ask 1 right
	jq -e '.failed == false' <<<"$TRUTH" >/dev/null || fail "$TRUTH"
	ask 2 'leak 1 1'
}
