#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# survey --gate --keep: which processes are sampled all the time, by books of their own, and what keeps to the limits.

load lib
load survey.bash
load recording.bash

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

# last FILTER: of the last whole line. Another one may be half written just now.
last() {
	tail -n 2 "$D/survey.json" | jq -cnR "[inputs | fromjson?] | last | $1" 2>/dev/null
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

# all_told I: in a look from now on, so many bytes as its books have are in the row, within six standard errors and what a process has beside. (Four would fail one of
# 16,000 by chance, and this is asked some thirty times a run; six are one of 500 million.) A sum that has come
# out too low by chance has too low an error, too: of so many bytes as there are it is the root of their quotient larger. Blocks that are to be
# samples for certain are twenty times as large as the mean or more: at twelve one in 200,000 is none, and of its error there is nothing to be seen.
all_told() {
	local truth since

	since=$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)
	truth=$(jq '[.live[].bytes] | add' <<<"$TRUTH")
	once ".time >= \"$since\" and (.processes[] | select(.pid == ${KEPT[$1]}) | .kept | (.live_bytes - $truth | fabs) < 6 * .error_bytes * ([1, $truth / .live_bytes] | max | sqrt) + ${2:-4096})"
	[[ $(last ".processes[] | select(.pid == ${KEPT[$1]}) | .kept.error_bytes < $truth / ${3:-4}") == true ]] || fail "too wide: $(last .processes)"
}

@test "two of three, by filters: what they allocate is known, through exec and new ones, and after kill -9 nothing is attached" {
	local line

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
	ask 2 'leak 50 100000'
	all_told 2
	# On its way there it is one without an allocator, which none names either: it is let go of, and not found again by what it becomes.
	ln -s "$TARGETS/noalloc" "$D/x2-$N"
	printf 'through %s k5-%s\n' "$D/x2-$N" "$N" >&"${INS[2]}"
	read -r -t "$DEADLINE" line <&"${OUTS[2]}" && [[ $line == ready ]] || fail "exec: $line"
	once ".processes | any(.pid == ${KEPT[2]} and .comm == \"x2-$N\" and .kept == null)"
	echo >&"${INS[2]}"
	read -r -t "$DEADLINE" line <&"${OUTS[2]}" && [[ $line == "ready ${KEPT[2]}" ]] || fail "exec: $line"
	once ".processes | any(.pid == ${KEPT[2]} and .comm == \"k5-$N\" and .kept == null)"
	# A new one, and the end of an old one.
	kept 4
	sampled 4
	# By now the tool has heard of that exec.
	! grep memleakbpf-gate "/proc/${KEPT[2]}/maps" || fail 'a process that no filter names has a gate'
	ask 1 quit
	once '.keep.sampled == 1'
	kill -KILL "$TOOL_PID"
	wait "$TOOL_PID" || :
	ask 4 'leak 1000 100'
	# The next one takes over.
	keep -s 4k --keep "comm=^k4-"
	sampled 4
	ask 4 'leak 20000 100'
	once ".processes[] | select(.pid == ${KEPT[4]}) | .kept | (.live_bytes - 2000000 | fabs) < 6 * .error_bytes + 4096"
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
	# A gate is tried again, after ten seconds at first, and then later and later: how often it has been by now is the machine's affair.
	kill -KILL "$tracer"
	DEADLINE=$((8 * DEADLINE)) sampled 3
	ask 3 'leak 1 1'
}

@test "frozen: all of them are told so in one look, and the look after they are thawed has them" {
	local i at

	freezer 2
	for i in 1 2 3 4; do
		kept "$i"
	done
	freeze "${KEPT[@]}"
	keep -s 4k --guard=100 --keep "comm=^k"
	once '[.processes[] | select(.kept.sampled == false and (.kept.reason // "" | test("it is frozen; thaw it first")))] | length == 4'
	[[ $(grep -c "is not sampled all the time: it is frozen; thaw it first (control group $FREEZER_PATH" "$D/tool.err") -eq 4 ]] || fail "$(<"$D/tool.err")"
	# Others do not wait for them.
	kept 5
	sampled 5
	# They are not asked more and more seldom.
	at=$(lines)
	until_true "$DEADLINE" eval '[[ $(lines) -ge $((at + 10)) ]]' || fail 'there are no more looks'
	thaw
	at=$(lines)
	for i in 1 2 3 4; do
		sampled "$i"
	done
	# One that is being made now has perhaps begun before; and so much is attached to in a look.
	[[ $(($(first_with_all) - at)) -le 10 ]] || fail "they were thawed at look $at, and sampled by look $(first_with_all)"
	ask 3 'leak 20000 200'
	all_told 3
}

lines() {
	wc -l <"$D/survey.json"
}

first_with_all() {
	jq -nR '[inputs | fromjson? | .keep.sampled] | index(5)' "$D/survey.json"
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

	# By any rate: fewer samples would be drawn of what comes at once, the more of a busy machine's.
	KEEP_IN=$CGROUP keep -s 1k --keep-rate 1000000 --keep-live-all 2000 --keep "comm=^k"
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
	keep -s 8k --keep-rate 10000 --keep "comm=^k1"
	sampled 1
	# So long that hundreds of what stays are drawn by the coarsest mean, of 1 MiB where this was written: the error is 4 % of the sum. (By 1,000 samples
	# a second it was 13 %, with 8 MiB, and six errors are most of the sum.)
	ask 1 'storm 12000000 2000'
	all_told 1 100000
	# By 8 KiB all of it would be three million samples. Those of the time before the budget holds are some 100,000, and more where a look comes late.
	[[ $(last '.keep | .sample_bytes >= 32768 and .samples < 1000000') == true ]] || fail "$(last .keep)"
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

# What was recorded says offline what the survey said, in every format.
recorded_guards() {
	local measured='del(.tool_cpu_percent, .probe_cpu_percent, .time, .elapsed_ms)'

	# As who may read the suppressions.
	REPORT=$("$TOOL" report "$D/rec" -f json -T 1000 --suppressions "$D/supp") || fail 'no report'
	diff <(tail -n 1 "$D/survey.json" | jq -S "$measured") <(tail -n 1 <<<"$REPORT" | jq -S "$measured") >"$D/differs" || fail "$(<"$D/differs")"
	report "$D/rec" -v
	[[ $(grep -c '^bad  ' <<<"$REPORT") -eq 16 ]] || fail "$REPORT"
	grep -q '^bad    heap use after free: READ 4 bytes inside a freed 96-byte block' <<<"$REPORT" || fail "$REPORT"
	REPORT=$("$TOOL" report "$D/rec" --suppressions "$D/supp") || fail 'no report'
	grep -qx 'suppressed: 4 bad accesses' <<<"$REPORT" || fail "$REPORT"
	"$TOOL" diff "$D/rec" >"$D/diff" || fail 'no diff'
	grep -A 2 '^new ' "$D/diff" | grep -q '^guard  16 bad accesses seen in [0-9,]* guarded blocks$' || fail "$(<"$D/diff")"
	# Two of them differ by their lines only.
	grep -qx 'bad    by kind and stacks: 15 new, 0 in both, 0 gone' "$D/diff" || fail "$(<"$D/diff")"
	"$TOOL" diff "$D/rec" -f json --suppressions "$D/supp" >"$D/diff.json"
	"$ROOT/tests/tools/schema.py" diff "$D/diff.json" || fail 'not as its schema says'
	jq -e '(.old | has("bad_accesses") | not) and .new.bad_accesses == 12 and .new.surveyed and
		(.bad_accesses | length == 12 and all(.change == "new"))' "$D/diff.json" >/dev/null || fail "$(<"$D/diff.json")"
	"$ROOT/tests/html/fetch" "$CHROMIUM" >/dev/null 2>&1 || return 0
	"$TOOL" report "$D/rec" -f html -o "$D/page.html" || fail 'no page'
	look "$D/page.html" 'count|#survey-bad details' "click|#processes tr[data-pid='${KEPT[1]}']" 'count|#survey-bad details' 'text|#survey-bad' \
		"click|#processes tr[data-pid='${KEPT[2]}']" 'count|#survey-bad details'
	[[ ${SEEN[0]} -eq 16 && ${SEEN[1]} -eq 16 && ${SEEN[2]} == *'heap use after free: READ 4 bytes inside'*put* && ${SEEN[3]} -eq 0 ]] || fail "the page: ${SEEN[*]}"
}

@test "guards: kept processes are guarded or say why not; metrics, suppressions and recordings have their bad accesses" {
	local metrics bad='.processes[] | select(.bad_accesses) | .bad_accesses'

	ln -s "$TARGETS/guarded.nofp" "$D/k1-$N"
	ln -s "$TARGETS/guarded.nofp" "$D/k2-$N"
	PROGRAM=$D/k1-$N kept 1
	PROGRAM=$D/k2-$N kept 2
	printf '{\n   again\n   Memcheck:Free\n   ...\n   fun:put_again\n}\n{\n   reads\n   Memcheck:Addr4\n   fun:load\n   fun:freed_read\n}\n' >"$D/supp"
	keep -s 4k --guard=1 --guard-slots 64 --keep "comm=^k" --metrics :0 --record "$D/rec" --suppressions "$D/supp"
	sampled 1
	sampled 2
	once ".processes | map(select(.pid == ${KEPT[1]} or .pid == ${KEPT[2]})) | length == 2 and all(.kept.guard.on and .kept.guard.places == 64)"
	once '.keep | .guarded == 2 and .not_guarded == 0'
	# What is known of a block outlasts all places of another process.
	ask 1 late
	ask 2 right
	ask 1 late
	ask 1 bugs
	jq -e '.failed == false' <<<"$TRUTH" >/dev/null || fail "$TRUTH"
	once ".processes[] | select(.pid == ${KEPT[1]}) | .kept.bad_accesses == {overflow: 5, underflow: 1, use_after_free: 5, slack_overwrite: 1, double_free: 3, invalid_free: 1}"
	once ".processes[] | select(.pid == ${KEPT[2]}) | .kept.bad_accesses | add == 0"
	# Each with its three stacks; more than there is room for are counted.
	once ".processes[] | select(.pid == ${KEPT[1]}) | (.bad_accesses | map(.count) | add) + (.bad_accesses_left_out // 0) == 16"
	once ".processes[] | select(.pid == ${KEPT[1]}) | .bad_accesses | any(.kind == \"use_after_free\" and any(.touch.frames[]; .function == \"late\") and
		any(.alloc.frames[]; .function == \"get\") and any(.free.frames[]; .function == \"put\"))"
	once ".processes[] | select(.pid == ${KEPT[1]}) | .bad_accesses | any(.kind == \"use_after_free\" and .offset == 4 and .size == 96 and .access == \"read\" and
		any(.alloc.frames[]; .function == \"get\" and (.file | test(\"guarded.c$\")) and .line > 0) and any(.free.frames[]; .function == \"put\") and
		any(.touch.frames[]; .function == \"freed_read\"))"
	once ".processes[] | select(.pid == ${KEPT[2]}) | has(\"bad_accesses\") | not"
	once "[${bad}[] | select(.suppressed) | [.suppressed, .kind]] | sort == [[\"again\", \"double_free\"], [\"again\", \"double_free\"], [\"again\", \"invalid_free\"], [\"reads\", \"use_after_free\"]]"
	metrics=$(sed -n 's|.*\(http://[^ ]*metrics\).*|\1|p' "$D/tool.err" | head -n 1)
	curl -sf --max-time "$DEADLINE" "$metrics" >"$D/metrics" || fail "no metrics at '$metrics'"
	grep -q "^memleakbpf_bad_accesses_total{pid=\"${KEPT[1]}\",.*kind=\"double_free\"} 3$" "$D/metrics" || fail "$(grep bad_acc "$D/metrics")"
	grep -q "^memleakbpf_process_suppressed_bad_accesses_total{pid=\"${KEPT[1]}\",.*} 4$" "$D/metrics" || fail "$(grep bad_acc "$D/metrics")"
	grep -q "^memleakbpf_process_guards{pid=\"${KEPT[2]}\",.*} 1$" "$D/metrics" || fail "$(grep guard "$D/metrics")"
	# Locked memory turns them off; the samples go on.
	ask 1 lock
	once ".processes[] | select(.pid == ${KEPT[1]}) | .kept | .sampled and (.guard.on | not) and (.guard.reason | test(\"locked\"))"
	once '.keep | .guarded == 1 and .not_guarded == 1'
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?: $(<"$D/tool.err")"
	"$ROOT/tests/tools/schema.py" survey "$D/survey.json" || fail 'not as its schema says'
	recorded_guards
	ask 1 right
	jq -e '.failed == false' <<<"$TRUTH" >/dev/null || fail "$TRUTH"
	ask 2 right
	jq -e '.failed == false' <<<"$TRUTH" >/dev/null || fail "$TRUTH"
}

# guarded_as I NAME: that target, as a program of that name.
guarded_as() {
	ln -s "$TARGETS/guarded.nofp" "$D/$2"
	PROGRAM=$D/$2 kept "$1"
}

# ended I FILTER: of the row of its end; COUNT: how many there are.
ended() {
	jq -cnR "[inputs | fromjson? | .processes[] | select(.pid == ${KEPT[$1]} and .ended)]" "$D/survey.json" >"$D/ended"
	COUNT=$(jq length "$D/ended")
	jq -e "$2" "$D/ended" >/dev/null
}

# It looks no more until it is told to.
stop_tool() {
	kill -STOP "$TOOL_PID"
	until_true "$DEADLINE" grep -q '^State:.T' "/proc/$TOOL_PID/status"
}

# quit I: its end has come.
quit() {
	ask "$1" quit
	# shellcheck disable=SC1083 # a descriptor in a member of an array
	exec {INS[$1]}>&-
	until_true "$DEADLINE" gone "${KEPT[$1]}" || fail "it goes on: $(<"/proc/${KEPT[$1]}/status")"
}

# shown FILTER: is it true of a report that is printed now, or of the one before?
shown() {
	kill -USR1 "$TOOL_PID"
	last_is "$1"
}

gone() {
	[[ ! -e /proc/$1 ]] || grep -q '^State:.Z' "/proc/$1/status"
}

@test "guards: bad accesses between the last look and an end are told once, in metrics and recordings" {
	local metrics all='{overflow: 6, underflow: 1, use_after_free: 4, slack_overwrite: 1, double_free: 3, invalid_free: 1}' one='{overflow: 1, underflow: 0, use_after_free: 0, slack_overwrite: 0, double_free: 0, invalid_free: 0}'

	guarded_as 1 "k1-$N"
	guarded_as 2 "k2-$N"
	guarded_as 3 "k3-$N"
	kept 5
	ln -s "$TARGETS/guarded.nofp" "$D/x2-$N"
	keep -s 4k --guard=1 --guard-slots 64 --keep "comm=^k" --metrics :0 --record "$D/rec"
	once '.processes | map(select(.kept.guard.on)) | length == 4'
	# What a look has had is not counted again.
	ask 1 again
	once ".processes[] | select(.pid == ${KEPT[1]}) | .kept.bad_accesses == $one"
	stop_tool
	ask 1 bugs
	ask 2 again
	printf 'become x2-%s\n' "$N" >&"${INS[2]}"
	read -r -t "$DEADLINE" TRUTH <&"${OUTS[2]}"
	[[ $TRUTH == "ready ${KEPT[2]}" ]] || fail "exec: $TRUTH"
	quit 1
	ask 5 'leak 20000 200'
	quit 5
	kill -CONT "$TOOL_PID"
	once ".processes | any(.pid == ${KEPT[1]} or .pid == ${KEPT[5]}) | not"
	ended 1 "length == 1 and (.[0] | .comm == \"k1-$N\" and .kept.bad_accesses == $all and .kept.guard.on and .kept.sampled and
		(.bad_accesses | map(.count) | add) + (.bad_accesses_left_out // 0) == 16 and
		(.bad_accesses | any(.kind == \"use_after_free\" and .offset == 4 and any(.touch.frames[]; .function == \"freed_read\" and .line > 0) and any(.free.frames[]; .function == \"put\"))))" || fail "$(<"$D/ended")"
	ended 5 'length == 1 and (.[0].kept | (.live_bytes - 4000000 | fabs) < 6 * .error_bytes + 4096 and .error_bytes < 1000000 and (.bad_accesses | add) == 0)' || fail "$(<"$D/ended")"
	# Its process goes on as another program, which is not kept.
	ended 2 "length == 1 and (.[0] | .comm == \"k2-$N\" and .kept.bad_accesses == $one and (.reason | test(\"another program\")))" || fail "$(<"$D/ended")"
	once ".processes | any(.pid == ${KEPT[2]} and .comm == \"x2-$N\" and .kept == null and (.ended | not))"
	once '.keep | .guarded == 1 and .not_guarded == 0 and .left_out == 0'
	metrics=$(sed -n 's|.*\(http://[^ ]*metrics\).*|\1|p' "$D/tool.err" | head -n 1)
	curl -sf --max-time "$DEADLINE" "$metrics" >"$D/metrics" || fail "no metrics at '$metrics'"
	for line in "bad_accesses_total{pid=\"${KEPT[1]}\",comm=\"k1-$N\",.*kind=\"overflow\"} 6" "bad_accesses_total{pid=\"${KEPT[2]}\",comm=\"k2-$N\",.*kind=\"overflow\"} 1" \
		"process_ended{pid=\"${KEPT[1]}\",.*} 1" 'ended_bad_accesses_total{kind="overflow"} 7' 'ended_bad_accesses_total{kind="double_free"} 3'; do
		grep -q "^memleakbpf_$line\$" "$D/metrics" || fail "$line: $(grep -a 'bad_acc\|ended' "$D/metrics")"
	done
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?: $(<"$D/tool.err")"
	"$ROOT/tests/tools/schema.py" survey "$D/survey.json" || fail 'not as its schema says'
	"$TOOL" report "$D/rec" -f json -T 1000 >"$D/report.json" || fail 'no report'
	for i in 1 2; do
		ended "$i" true
		diff <(jq -S '.[]' "$D/ended") <(jq -S ".processes[] | select(.pid == ${KEPT[i]} and .ended)" "$D/report.json") >"$D/differs" || fail "$i: $(<"$D/differs")"
	done
	# Text has the last look, and a line for each of the ends.
	report "$D/rec"
	[[ $(grep -c '^===' <<<"$REPORT") -eq 1 && $(grep -c '^ended before:$' <<<"$REPORT") -eq 1 ]] || fail "$REPORT"
	grep -Eq "^  [-0-9]+ [:0-9]+  PID ${KEPT[1]} \\(k1-${N}[,)].*[:;] 16 bad accesses: heap buffer overflow 6, heap buffer underflow 1, heap use after free 4, .*, double free 3, .*(; .* allocated and kept)?\$" <<<"$REPORT" || fail "$REPORT"
	grep -Eq "^  [-0-9]+ [:0-9]+  PID ${KEPT[2]} \\(k2-${N}[,)].*[:;] 1 bad access: heap buffer overflow 1(; .* allocated and kept)?\$" <<<"$REPORT" || fail "$REPORT"
	"$TOOL" diff "$D/rec" -f json >"$D/diff.json" || fail 'no diff'
	jq -e '.new.bad_accesses == 17 and (.bad_accesses | map(.new) | (add == 17) and length == 15)' "$D/diff.json" >/dev/null || fail "$(<"$D/diff.json")"
	# A survey whose next look is far: its own end has one.
	guarded_as 4 "k4-$N"
	keep -s 4k --guard=1 --guard-slots 64 --keep "comm=^k[34]" -i 1h
	once '.processes | length > 0'
	until_true "$DEADLINE" shown '.processes | map(select(.kept.guard.on)) | length == 2' || fail "$(last .)"
	ask 3 again
	ask 4 bugs
	quit 4
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?: $(<"$D/tool.err")"
	[[ $(last ".final and any(.processes[]; .pid == ${KEPT[3]} and (.ended | not) and .kept.bad_accesses == $one)") == true ]] || fail "$(last .)"
	ended 4 "length == 1 and .[0].kept.bad_accesses == ($all | .overflow = 5)" || fail "$(<"$D/ended")"
	ask 3 right
	jq -e '.failed == false' <<<"$TRUTH" >/dev/null || fail "$TRUTH"
}

@test "guards: a process given up for lack of memory keeps its bad accesses, and starts at zero when sampled anew" {
	local wide one='.overflow == 1 and add == 1' metrics

	memory_cgroup || skip 'no memory control group can be made here'
	wide=$(<"$LIMIT")
	guarded_as 1 "k1-$N"
	KEEP_IN=$CGROUP keep -s 4k --guard=1 --guard-slots 64 --keep "comm=^k" --metrics :0
	for look in first anew; do
		once ".processes | any(.pid == ${KEPT[1]} and .kept.guard.on and (.kept.bad_accesses | add) == 0)"
		ask 1 again
		once ".processes[] | select(.pid == ${KEPT[1]}) | .kept.bad_accesses | $one"
		until_true "$DEADLINE" narrowed || fail 'the limit cannot be had'
		once ".processes[] | select(.pid == ${KEPT[1]}) | .kept | (.sampled | not) and (.reason | test(\"too little memory left\")) and (.bad_accesses | $one)"
		[[ $look == anew ]] || echo "$wide" >"$LIMIT"
	done
	quit 1
	once ".processes | any(.pid == ${KEPT[1]}) | not"
	ended 1 "length == 1 and (.[0].kept | (.sampled | not) and (.bad_accesses | $one))" || fail "$(<"$D/ended")"
	metrics=$(sed -n 's|.*\(http://[^ ]*metrics\).*|\1|p' "$D/tool.err" | head -n 1)
	curl -sf --max-time "$DEADLINE" "$metrics" >"$D/metrics" || fail "no metrics at '$metrics'"
	for line in "process_ended{pid=\"${KEPT[1]}\",.*} 1" "bad_accesses_total{pid=\"${KEPT[1]}\",.*kind=\"overflow\"} 1" 'ended_bad_accesses_total{kind="overflow"} 2'; do
		grep -q "^memleakbpf_$line\$" "$D/metrics" || fail "$line: $(grep -a 'bad_acc\|ended' "$D/metrics")"
	done
}

@test "guards: of a process that executes another program, diff has what each of them did" {
	local one='.overflow == 1 and ([.[]] | add) == 1'

	guarded_as 1 "k1-$N"
	ln -s "$TARGETS/guarded.nofp" "$D/k2-$N"
	keep -s 4k --guard=1 --guard-slots 64 --keep "comm=^k" --record "$D/rec"
	once ".processes | any(.pid == ${KEPT[1]} and .kept.guard.on)"
	ask 1 again
	once ".processes[] | select(.pid == ${KEPT[1]}) | .kept.bad_accesses | $one"
	printf 'become k2-%s\n' "$N" >&"${INS[1]}"
	read -r -t "$DEADLINE" TRUTH <&"${OUTS[1]}"
	[[ $TRUTH == "ready ${KEPT[1]}" ]] || fail "exec: $TRUTH"
	once ".processes | any(.pid == ${KEPT[1]} and .comm == \"k2-$N\" and .kept.guard.on)"
	ask 1 again
	once ".processes[] | select(.comm == \"k2-$N\") | .kept.bad_accesses | $one"
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?: $(<"$D/tool.err")"
	"$TOOL" diff "$D/rec" -f json >"$D/diff.json" || fail 'no diff'
	"$ROOT/tests/tools/schema.py" diff "$D/diff.json" || fail 'not as its schema says'
	# One place in the program, in either of the two.
	jq -e '.old.processes == 1 and (.old | has("bad_accesses") | not) and .new.processes == 2 and .new.bad_accesses == 2 and
		(.bad_accesses | length == 1 and .[0].change == "new" and .[0].new == 2)' "$D/diff.json" >/dev/null || fail "$(<"$D/diff.json")"
}
