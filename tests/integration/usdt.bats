#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Targets that sample by themselves and tell of it by USDT probes (OpenTelemetry's contract): found without being asked for,
# counted as they tell, with no probe on any function of theirs.
# shellcheck disable=SC2016,SC2030,SC2031,SC2034,SC2154
# bats file_tags=beside

load lib

need_target() {
	[[ -x $TARGETS/usdt ]] || skip 'no <sys/sdt.h>'
}

# The snapshot has what the target has told, to the byte, in all and for each site, and nothing else; its error is what the
# weights say.
as_told() {
	jq -e --argjson truth "$TRUTH" '
		([.stacks[].error_bytes | . * .] | add // 0 | sqrt) as $error
		| .attach == "usdt" and .live.bytes == $truth.told_live
		and (.sample_bytes // 32768) == 32768
		and ([.lost[]] | add) == 0 and .unknown_frees == 0
		and ([.stacks[].frames[].function] | index("leak_plain")) == null
		and all(.stacks[]; .alloc.bytes % 32768 == 0 and .frames[0].function != "malloc")
		and ($error - ($truth.told_live * 32768 | sqrt) | fabs) < 10' <<<"$SNAP" >/dev/null ||
		fail "not as told: $(jq -c 'del(.stacks[].frames)' <<<"$SNAP")"
}

semaphores() {
	[[ $(jq -c '.semaphores' <<<"$TRUTH") == "$1" ]] || fail "semaphores: $TRUTH, not $1"
}

told_exactly() {
	start_target "$TARGETS/$1"
	attach "${@:2}"
	tool_says "^memleakbpf: attached to $T_PID \\(.*\\), which samples its allocations itself"
	tell plain
	tell go
	snap
	as_told
	[[ $(jq .told_live <<<"$TRUTH") -gt 4000000 ]] || fail "few samples: $TRUTH"
	# Above the allocator's own frames the stack is a trap's.
	holds '[.stacks[] | [.frames[].function] | (index("leak_small"), index("leak_medium"), index("leak_large")) | values] | length >= 3'
	holds 'all(.stacks[]; any(.frames[]; .function == "fill"))'
	tell free
	snap
	as_told
	holds '.live == {"bytes": 0, "count": 0} and .alloc.bytes == .free.bytes and .alloc.bytes > 4000000'
	stop_tool
	end_target
}

# bats test_tags=quick
@test "usdt: the report has the target's own reports, to the byte" {
	need_target
	told_exactly usdt
}

@test "usdt: without frame pointers, with arguments in memory, static, without semaphores" {
	local kind

	need_target
	for kind in nofp O0 static always; do
		[[ $kind != nofp || ${STACKS-} != fp ]] || continue
		(fresh && told_exactly "usdt.$kind" && clean) || fail "$kind"
	done
}

@test "usdt: stacks by frame pointers begin inside of the function that tells" {
	need_target
	told_exactly usdt --stack fp
}

@test "usdt: the estimate is within its standard error, and the error is the spread" {
	local i

	need_target
	start_target "$TARGETS/usdt"
	attach
	for ((i = 0; i < 40; i++)); do
		tell go
		snap
		jq -r --argjson truth "$TRUTH" '
			(["leak_small", "leak_medium", "leak_large"][]) as $site
			| [.stacks[] | select([.frames[].function] | index($site))] as $of
			| [$site, ([$of[].live.bytes] | add // 0), ([$of[].error_bytes | . * .] | add // 0),
			   $truth.live[$site].bytes, ([$of[].live.count] | add // 0), $truth.live[$site].count] | @tsv' <<<"$SNAP"
		tell free
	done >"$D/rounds"
	# The mean of 40 against the truth, by the variance that was said; and the spread beside it. What chance does is outside of these bounds once
	# in a hundred thousand runs (the target draws anew each time): sampling.bash has the sums. A count's error is some 16 % larger than that of
	# the bytes, by which it is judged, as small blocks are what it is uncertain of.
	awk -F'\t' '
	{ n[$1]++; sum[$1] += $2; square[$1] += $2 * $2; said[$1] += $3; truth[$1] = $4; count[$1] += $5; blocks[$1] = $6 }
	END {
		for (site in n) {
			r = n[site]; mean = sum[site] / r; error = sqrt(said[site] / r)
			spread = sqrt((square[site] - r * mean * mean) / (r - 1))
			off = (mean - truth[site]) / (error / sqrt(r))
			off_count = (count[site] / r / blocks[site] - 1) / (error / truth[site] / sqrt(r))
			printf "%s: truth %d, mean of %d %d: %+.2f standard errors (blocks %+.2f); spread %d, said %d\n", site,
				truth[site], r, mean, off, off_count, spread, error
			if (off > 5.5 || off < -5.5 || off_count > 6.5 || off_count < -6.5) bad = 1
			if (spread < 0.5 * error || spread > 1.65 * error) bad = 1
		}
		exit bad || length(n) != 3
	}' "$D/rounds" >"$D/judged" || fail "$(cat "$D/judged")"
	cat "$D/judged" >&3
}

@test "usdt: semaphores are 0 before, 1 while we listen, and 0 again, also after kill -9" {
	local signal

	need_target
	start_target "$TARGETS/usdt"
	tell look
	semaphores '[0,0]'
	tell go
	[[ $(jq .samples <<<"$TRUTH") -eq 0 ]] || fail 'it samples for nobody'
	for signal in INT KILL INT; do
		attach
		tell look
		semaphores '[1,1]'
		kill -$signal "$TOOL_PID"
		wait "$TOOL_PID" || :
		until_true "$DEADLINE" eval 'tell look && [[ $(jq -c .semaphores <<<"$TRUTH") == "[0,0]" ]]' ||
			fail "after SIG$signal: $TRUTH"
	done
	end_target
}

# The kernel counts the places that have a probe, not who has one there.
@test "usdt: two tools on one target, one of which ends" {
	local first

	need_target
	start_target "$TARGETS/usdt"
	attach
	first=$TOOL_PID
	attach
	tell look
	semaphores '[1,1]'
	tell go
	snap
	as_told
	# Not stop_tool: the pipe has no end while the first one writes.
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail 'the second tool failed'
	tell look
	semaphores '[1,1]'
	kill "$first"
	until_true "$DEADLINE" eval 'tell look && [[ $(jq -c .semaphores <<<"$TRUTH") == "[0,0]" ]]' || fail "$TRUTH"
	end_target
}

@test "usdt: no function of any allocator in the target has a probe" {
	local before

	need_target
	own_libc
	start_target "$TARGETS/usdt"
	before=$(code_sum "$T_PID")
	attach --attach usdt
	tell go
	[[ $(code_sum "$T_PID") == "$before" ]] || fail 'its C library has breakpoints'
	snap
	as_told
}

@test "usdt: a program that becomes one that tells loses the probes on its functions" {
	local before child

	need_target
	own_libc
	start_target "$TARGETS/usdt"
	before=$(code_sum "$T_PID")
	end_target
	# The first program has that C library, too.
	run_target env "${T_ENV[@]}" "$TOOL" -v -f json -o "$D/snapshots" -- env "$TARGETS/usdt" 2>"$D/tool.err"
	target_line 'ready '
	child=${LINE#ready }
	tool_says "^memleakbpf: attached to $child \\(usdt\\), which samples"
	until_true "$DEADLINE" eval '[[ $(code_sum "$child") == "$before" ]]' || fail 'its C library has breakpoints'
	tell go
	tell quit
	wait "$T_PID"
	grep -q "$D/lib/libc.so.6 provides" "$D/tool.err" || fail 'another C library'
	SNAP=$(jq -c 'select(.comm == "usdt")' "$D/snapshots")
	holds '.attach == "usdt" and .live.bytes > 4000000 and .live.bytes % 32768 == 0'
	holds '[.lost[]] | add == 0'
}

# Where all processes have the probes on functions, they do not count in one that tells.
# bats test_tags=alone
@test "usdt: with probes in every process of the machine" {
	need_target
	start_target "$TARGETS/usdt"
	attach --children exact-systemwide
	tell plain
	tell go
	snap
	as_told
	tell free
	snap
	as_told
	holds '.live.bytes == 0'
}

@test "usdt: blocks of several threads count, and so do frees by others" {
	need_target
	start_target "$TARGETS/usdt"
	attach
	tell threads
	snap
	as_told
	holds '.alloc.bytes > 100000000'
	end_target
	tool_ends
	final
	holds '.attach == "usdt" and .alloc.bytes > 100000000'
}

@test "usdt: beside a target without such probes, which is traced by its functions" {
	local other in out truth

	need_target
	start_target "$TARGETS/mixed"
	other=$T_PID in=$T_IN out=$T_OUT
	mkfifo "$D/in2" "$D/out2"
	"$TARGETS/usdt" <"$D/in2" >"$D/out2" 3>&- &
	T_PID=$!
	PIDS+=("$T_PID")
	exec {T_IN}>"$D/in2" {T_OUT}<"$D/out2"
	target_line 'ready '
	start_tool -p "$T_PID,$other"
	attached "$T_PID"
	attached "$other"
	tell go
	snap
	as_told
	T_PID=$other T_IN=$in T_OUT=$out
	tell go
	snap
	same
	holds '.attach != "usdt" and .attach != null and .sample_bytes == 0'
}

@test "usdt: an attach mode by name traces functions, of such a target too" {
	need_target
	each_mode traced_by_functions
}

traced_by_functions() {
	start_target "$TARGETS/usdt"
	attach
	tell go
	snap
	same none any
	holds ".attach == \"$MODE\" and .sample_bytes == 0"
	semaphores '[0,0]'
}

@test "usdt: --attach usdt is an error where nothing tells, and with what only functions show" {
	local option

	start_target "$TARGETS/leaf"
	run_tool --attach usdt -p "$T_PID"
	refused 1 "^memleakbpf: --attach usdt: process $T_PID \\(leaf\\) maps no object that tells its allocations"
	for option in '-s 64k' --check-frees --mmap '-O libc.so.6' '--alloc-fn a:1' '--free-fn a:1' '--symbols-prefix je_'; do
		# shellcheck disable=SC2086
		run_tool --attach usdt $option -p "$T_PID"
		refused 2 '^memleakbpf: --attach usdt: excludes '"${option%% *}"
	done
	run_tool --attach usdt -- "$TARGETS/brief"
	grep -q 'mapped no object that tells its allocations' <<<"$ERR" || fail "$ERR"
}

@test "usdt: a command is counted by what it tells from its start" {
	need_target
	run_tool_on_command "$TARGETS/usdt"
	run_tool_on_command "$TARGETS/usdt.static"
}

run_tool_on_command() {
	printf 'go\nquit\n' >"$D/commands"
	"$TOOL" -f json -- "$1" <"$D/commands" >"$D/both" 2>"$D/run.err" 3>&- || fail "$(<"$D/run.err")"
	TRUTH=$(grep '"phase":"go"' "$D/both")
	SNAP=$(grep '"version"' "$D/both")
	as_told
	[[ $(jq .told_live <<<"$TRUTH") -gt 4000000 ]] || fail "few samples: $TRUTH"
}

@test "usdt: a library that tells, preloaded, opened before and opened later" {
	need_target
	# Each byte of its blocks is a sample, so that what it tells is the truth.
	T_ENV=("LD_PRELOAD=$TARGETS/plugin_usdt.so")
	start_target "$TARGETS/dl"
	tell 'open plugin_usdt'
	attach
	tell 'go plugin_usdt'
	snap
	same none any
	holds '.attach == "usdt"'
	stop_tool
	end_target
	T_ENV=()

	start_target "$TARGETS/dl"
	tell 'open plugin_usdt'
	attach --attach usdt
	tell 'go plugin_usdt'
	snap
	same none any
	holds '.attach == "usdt"'
	stop_tool
	end_target

	# What was traced by its functions stays so: the blocks that are known would end unseen.
	start_target "$TARGETS/dl"
	attach
	tell 'open plugin_a'
	tell 'go plugin_a'
	tell 'open plugin_usdt'
	tell 'go plugin_usdt'
	tool_says "process $T_PID \\(dl\\) has opened .*/plugin_usdt.so, which tells its allocations itself"
	snap
	same any any
	holds '.attach != "usdt"'
	end_target
}

@test "usdt: forked children tell for themselves" {
	local child parent

	need_target
	start_target "$TARGETS/usdt"
	attach --children exact
	tell go
	snap
	as_told
	parent=$T_PID
	printf 'fork\n' >&"$T_IN"
	target_line 'ready '
	child=${LINE#ready }
	tool_says "^memleakbpf: attached to $child \\(usdt\\), which samples"
	printf 'child-go\n' >&"$T_IN"
	truth child-go
	[[ $(jq .told_live <<<"$TRUTH") -gt 4000000 ]] || fail "few samples: $TRUTH"
	snap "$child"
	as_told
	printf 'child-quit\n' >&"$T_IN"
	truth fork
	T_PID=$parent
	snap
	as_told
	end_target
}

@test "usdt: verdicts weigh blocks as the target did" {
	need_target
	start_target "$TARGETS/usdt"
	attach --verdict
	tell go
	snap
	as_told
	# All blocks are in a static array.
	holds '.verdict.reachable.bytes == .live.bytes and .live.bytes > 0'
	holds 'all(.stacks[]; (.verdict.reachable.count - .live.count | fabs) <= 1)'
}

@test "usdt: recordings, text and doctor say how allocations are seen" {
	need_target
	start_target "$TARGETS/usdt"
	run_tool doctor -p "$T_PID"
	grep -q 'usdt$' <<<"$OUT" || fail "$OUT"
	grep -q 'otel_memory probes *2, each with a semaphore' <<<"$OUT" || fail "$OUT"
	"$TOOL" record -o "$D/r.mlb" -i 1h -p "$T_PID" 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	attached "$T_PID"
	tell go
	printf 'quit\n' >&"$T_IN"
	wait "$TOOL_PID"
	SNAP=$("$TOOL" report -f json "$D/r.mlb" | tail -n 1)
	as_told
	"$TOOL" report "$D/r.mlb" >"$D/text"
	grep -q 'one sample per 32.0 KiB allocated (made by the process itself)' "$D/text" || fail "$(cat "$D/text")"
}
