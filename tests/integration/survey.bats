#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# memleakbpf survey: which of all processes leaks, and where.

load lib.bash
load survey.bash

# The probes that a process holds.
probes_of() {
	cat "/proc/$1/fdinfo/"* 2>/dev/null | grep -cE '^link_type:.*(uprobe|perf)' || :
}

setup_file() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
}

# bats test_tags=quick
@test "json: the members of the contract" {
	scene idle
	survey -n 2 -i 200ms --no-drill
	[[ $(wc -l <"$D/survey.json") -eq 2 ]]
	[[ $(jq -c .final "$D/survey.json" | tr '\n' ' ') == 'false true ' ]]
	SNAP=$(head -n 1 "$D/survey.json")
	holds '.version == 1 and .source == "bpf" and (.elapsed_ms | type) == "number"'
	holds '.time | test("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\\.[0-9]{3}Z$")'
	# Nothing is known of a trend after two looks, and nothing of growth after one.
	holds '[.processes[] | select(has("trend") or has("growth_bytes_per_s"))] == []'
	holds '[.processes[].pid] | length == (unique | length)'
	holds '[.. | select(. == null or . == "")] == []'
	[[ $(of "$PID" '.comm') == idle ]]
	[[ $(of "$PID" '.cgroup') == /* ]]
	[[ $(of "$PID" '.rss_anon_bytes > 0 and .threads == 1 and .samples == 2') == true ]]
	[[ $(of "$PID" 'has("growth_bytes_per_s")') == true ]]
	# It sleeps; before 6.17 /proc lags behind a little.
	rss=$(awk '/^VmRSS:/ { print 1024 * $2 }' "/proc/$PID/status")
	[[ $(of "$PID" ".rss_bytes - $rss | fabs < 800000") == true ]] || fail "$(of "$PID" .rss_bytes), and VmRSS is $rss"
}

# scene_of_forty PACE: forty processes, watched from their start for a minute, or for a part of it in which as much happens: trends go by samples, and the
# scene is faster by as much as the interval is shorter.
scene_of_forty() {
	local leakers=() others=() pid i root
	local -x PACE=$1

	for i in {1..20}; do
		scene idle
		others+=("$PID")
	done
	for i in {1..8}; do
		scene churn
		others+=("$PID")
	done
	for i in {1..4}; do
		scene sawtooth
		others+=("$PID")
	done
	for i in {1..4}; do
		scene warmup
		others+=("$PID")
	done
	scene leak 100000
	leakers+=("$PID")
	PROGRAM=$TARGETS/survey_scene.nofp scene leak 3000000
	leakers+=("$PID")
	scene children 2000000
	leakers+=("$PID")
	# In a mount namespace and control group of its own, with its own copy of libc.
	for root in /sys/fs/cgroup/memory /sys/fs/cgroup; do
		if [[ -w $root/cgroup.procs ]]; then
			CGROUP=$root/memleakbpf-test-$$
			mkdir "$CGROUP"
			break
		fi
	done
	cp "$LIBDIR/libc.so.6" "$D/libc"
	cat >"$D/inside" <<-END
		[[ -z '${CGROUP-}' ]] || echo \$\$ >'${CGROUP-}/cgroup.procs'
		mount --bind '$D/libc' '$(readlink -f "$LIBDIR/libc.so.6")' && exec "\$@"
	END
	WRAP=(unshare -m bash "$D/inside")
	scene leak 500000
	WRAP=()
	leakers+=("$PID")

	survey -i $((1000 / PACE))ms -n 60 --window $((10000 / PACE))ms --budget $((2 * PACE)) --comm '^(idle|churn|sawtooth|warmup|leak|children)$'
	for pid in "${leakers[@]}"; do
		[[ $(of "$pid" .trend) == growing ]] || fail "$pid is $(of "$pid" .trend): $(of "$pid" .reason)"
		[[ $(of "$pid" '.stacks[0].frames | any(.function == "leaked_here")') == true ]] ||
			fail "$pid is not named: $(of "$pid" .drill)"
	done
	for pid in "${leakers[@]:0:2}"; do
		[[ $(of "$pid" '.regime.state == "growing" and .regime.since_start') == true ]] || fail "$(of "$pid" .regime)"
	done
	[[ -z ${CGROUP-} || $(of "${leakers[3]}" .cgroup) == "/${CGROUP##*/}" ]] || fail "$(of "${leakers[3]}" .cgroup)"
	# At no time.
	for pid in "${others[@]}"; do
		[[ $(jq -c --argjson pid "$pid" '.processes[] | select(.pid == $pid and .trend == "growing")' "$D/survey.json") == '' ]] ||
			fail "$pid ($(of "$pid" .comm)) was called growing: $(of "$pid" .reason)"
	done
	[[ $(jq -s --argjson pace "$PACE" 'map(.probe_cpu_percent) | max <= 2.2 * $pace' "$D/survey.json") == true ]]
}

# Three of three: what a watch shows must not be luck.
@test "a scene, first run: every leaker is called growing and named, nothing else is" {
	scene_of_forty 2
}

@test "the survey finds who leaks among forty processes, second run" {
	scene_of_forty 4
}

@test "the survey finds who leaks among forty processes, third run" {
	scene_of_forty 4
}

# bats test_tags=alone
@test "probes come off a process that has too many calls for the budget, and come off at the end" {
	local probes

	scene busy
	"$TOOL" survey -f json -i 200ms --window 5 --comm '^busy$' >"$D/survey.json" 2>"$D/tool.err" 3>&- {HOLD}>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	until_true "$DEADLINE" grep -q 'too busy' "$D/survey.json" || fail "$(tail -n 1 "$D/survey.json")"
	probes=$(probes_of "$TOOL_PID")
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?"
	[[ $(of "$PID" .drill.note) == 'too busy'* ]]
	# The budget of a minute, and what two looks, a fifth of a second apart, can miss between them.
	[[ $(jq -s 'map(.probe_cpu_percent) | max <= 2.4' "$D/survey.json") == true ]] ||
		fail "$(jq -sc 'map(.probe_cpu_percent)' "$D/survey.json")"
	[[ $probes -eq 0 ]] || fail "$probes probes are left"
}

# Each burst takes a good part of a CPU for some 20 ms, and all of them together are within the budget.
# bats test_tags=alone
@test "bursts of calls do not end a window" {
	scene bursts 3000000
	"$TOOL" survey -f json -i 200ms --window 4 --comm '^bursts$' >"$D/survey.json" 2>"$D/tool.err" 3>&- {HOLD}>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	until_true $((2 * DEADLINE)) grep -q '"drill":{[^}]*"open":false' "$D/survey.json" || fail "$(tail -n 1 "$D/survey.json")"
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?"
	[[ $(of "$PID" '.drill.note // ""') != *budget* ]] || fail "$(of "$PID" .drill.note)"
	[[ $(of "$PID" '.drill.window_ms >= 3500') == true ]] || fail "$(of "$PID" .drill)"
}

@test "nothing is left in the kernel after the end, kill -9 included" {
	local ids signal

	scene leak 3000000
	for signal in TERM KILL; do
		: >"$D/survey.json" # now, so that nobody reads what an earlier one said
		"$TOOL" survey -f json -i 100ms --window 30 --comm '^leak$' >"$D/survey.json" 2>"$D/tool.err" 3>&- {HOLD}>&- &
		TOOL_PID=$!
		PIDS+=("$TOOL_PID")
		until_true "$DEADLINE" grep -q '"drill":{"open":true' "$D/survey.json" || fail 'no probes'
		ids=$(bpf_ids "$TOOL_PID")
		[[ -n $ids ]] || fail 'nothing of it is in the kernel'
		[[ $(probes_of "$TOOL_PID") -gt 0 ]] || fail 'no uprobe links'
		kill -"$signal" "$TOOL_PID"
		wait "$TOOL_PID" || :
		nothing_left() { ! bpf_any_left <<<"$ids"; }
		until_true "$DEADLINE" nothing_left || fail "after SIG$signal: $ids"
	done
}

@test "growth without blocks behind it is said to be that; what is mapped by hand is named" {
	local mapped fragments handmade pid

	scene mapped 3000000
	mapped=$PID
	scene fragments 3000000
	fragments=$PID
	scene handmade 3000000
	handmade=$PID
	survey_until '[.processes[] | .drill.open == false and .trend == "growing"] | length == 3 and all' -i 200ms --window 3 --comm '^(mapped|fragments|handmade)$'
	for pid in "$mapped" "$fragments" "$handmade"; do
		[[ $(of "$pid" .trend) == growing ]] || fail "$(of "$pid" .)"
		[[ $(of "$pid" '.drill.grown_bytes > 4000000') == true ]] || fail "$(of "$pid" .drill)"
	done
	for pid in "$mapped" "$fragments"; do
		[[ $(of "$pid" .drill.note) == *'fragmentation'* ]] || fail "$(of "$pid" .drill)"
		[[ $(of "$pid" '.drill.live.bytes < .drill.grown_bytes / 10') == true ]] || fail "$(of "$pid" .drill)"
	done
	[[ $(of "$handmade" '.drill.note // "none"') == none ]] || fail "$(of "$handmade" .drill)"
	[[ $(of "$handmade" '[.stacks[0].frames[0, 1].function]') == '["mmap","mapped_here"]' ]] || fail "$(of "$handmade" .stacks)"
}

@test "a Go program without C code that grows is said to be one" {
	local pid

	need go
	mkdir "$D/pure"
	cat >"$D/pure/main.go" <<-'END'
		package main

		import "time"

		var kept [][]byte

		func main() {
			println("ready")
			for {
				b := make([]byte, 256<<10)
				for i := range b {
					b[i] = 1
				}
				kept = append(kept, b)
				time.Sleep(20 * time.Millisecond)
			}
		}
	END
	printf 'module pure\n' >"$D/pure/go.mod"
	(cd "$D/pure" && env GOCACHE="$BUILD/go/cache" GOPATH="$BUILD/go" GOPROXY=off CGO_ENABLED=0 go build -o pure .) || fail 'go build'
	# An end to what it takes, if nobody ends it.
	(ulimit -v 4000000 && exec "$D/pure/pure") 2>"$D/pure.out" 3>&- &
	pid=$!
	PIDS+=("$pid")
	until_true "$DEADLINE" grep -q ready "$D/pure.out" || fail 'it does not begin'
	exec {HOLD}</dev/null
	survey_until "any(.processes[]; .pid == $pid and .drill.note != null)" -i 200ms --window 2 --comm '^pure$'
	[[ $(of "$pid" .drill.note) == "no probes: it is a Go program without C code, whose heap is Go's own;"* ]] || fail "$(of "$pid" .drill)"
}

# bats test_tags=alone
@test "--sort growth in a watch: what grows comes before what is large" {
	scene both 2000000
	"$TOOL" -p "$PID" -f json -i 200ms -n 40 --sort growth >"$D/growth.json" 2>"$D/tool.err" 3>&- {HOLD}>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	attached "$PID"
	kill -USR1 "$PID"
	wait "$TOOL_PID" || fail "status $?"
	SNAP=$(tail -n 1 "$D/growth.json")
	holds '.stacks[0] | .trend == "growing" and any(.frames[]; .function == "leaked_here")'
	# Steps that come late are made up for: half a second of these eight makes 6 %. The large block would make it four times as much.
	holds '.stacks[0].growth_bytes_per_s | . > 1.5e6 and . < 2.6e6'
	# The large block is live, and no growth.
	holds '.live.bytes > 67108864 + .stacks[0].live.bytes / 2'
	holds '.stacks[0].live.bytes < 40e6'
}

@test "--no-drill places no probe" {
	scene leak 3000000
	survey_until "any(.processes[]; .pid == $PID and .trend == \"growing\")" -i 100ms --no-drill --comm '^leak$'
	[[ $(jq -s 'map(.processes[] | select(has("drill"))) == []' "$D/survey.json") == true ]]
}

@test "scope: by command, user and control group; never the tool itself" {
	local mine other

	scene idle
	mine=$PID
	scene churn
	other=$PID
	survey -n 1 --no-drill --comm '^idle$'
	[[ -n $(of "$mine" .pid) && -z $(of "$other" .pid) ]]
	survey -n 1 --no-drill --exclude '^(idle|x)$'
	[[ -z $(of "$mine" .pid) && -n $(of "$other" .pid) ]]
	[[ $(jq '[.processes[] | select(.comm == "memleakbpf" and .samples == 1 and .ppid == '$$')] == []' "$D/survey.json") == true ]]
	survey_of_nobody -n 1 --no-drill --user 54321
	[[ $(jq -c .processes "$D/survey.json") == '[]' ]]
	survey -n 1 --no-drill --user root
	[[ -n $(of "$mine" .pid) ]]
	survey -n 1 --no-drill --cgroup "$(of "$mine" .cgroup)"
	[[ -n $(of "$mine" .pid) ]]
	survey_of_nobody -n 1 --no-drill --cgroup /no/such/group
	[[ $(jq -c .processes "$D/survey.json") == '[]' ]]
	survey_of_nobody -n 1 --no-drill --container 0123
	[[ $(jq -c .processes "$D/survey.json") == '[]' ]]
}

# runtime FILE: a container runtime at $D/runtime.sock, which answers with that file. TURNS has a line for each time it was asked.
runtime() {
	TURNS=$D/turns
	: >"$TURNS"
	rm -f "$D/runtime.sock"
	python3 - "$D/runtime.sock" "$TURNS" "$1" 3>&- <<'END' &
import http.server, socketserver, sys
path, turns, answer = sys.argv[1:]
class Runtime(http.server.BaseHTTPRequestHandler):
    def address_string(self): return 'unix'
    def log_message(self, *_): pass
    def do_GET(self):
        print(self.path, file=open(turns, 'a'))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(open(answer, 'rb').read())
socketserver.UnixStreamServer(path, Runtime).serve_forever()
END
	PIDS+=("$!")
	until_true "$DEADLINE" test -S "$D/runtime.sock" || fail 'no server'
}

# bats test_tags=alone
@test "scope and time to the limit: a container with limited memory" {
	local id=0123456789abcdef root limit file leaker other left

	id=$(printf '%s%s%s%s' $id $id $id $id)
	if [[ -w /sys/fs/cgroup/memory/cgroup.procs ]]; then
		root=/sys/fs/cgroup/memory file=memory.limit_in_bytes
	elif grep -qw memory /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null; then
		root=/sys/fs/cgroup file=memory.max
	else
		skip 'no memory control group can be made here'
	fi
	CGROUP=$root/docker-$id.scope
	limit=$((400 << 20))
	mkdir "$CGROUP"
	echo $limit >"$CGROUP/$file"
	WRAP=(bash -c "echo \$\$ >'$CGROUP/cgroup.procs' && exec \"\$@\"" sh)
	scene leak 4000000
	WRAP=()
	leaker=$PID
	scene idle
	other=$PID

	survey -i 250ms -n 20 --no-drill --comm '^(leak|idle)$'
	[[ $(of "$leaker" '.trend') == growing ]]
	[[ $(of "$leaker" '.container') == "${id:0:12}" && $(of "$leaker" '.runtime') == docker ]] || fail "$(of "$leaker" .)"
	# What is left of the limit, by what it has now; the kernel counts a little more to the group than the process's memory.
	left=$(of "$leaker" "($limit - .rss_anon_bytes) / .growth_bytes_per_s / .limit_in_s | . > 0.95 and . < 1.1")
	[[ $left == true ]] || fail "$(of "$leaker" '[.limit_in_s, .growth_bytes_per_s, .rss_anon_bytes]')"
	[[ -n $(of "$other" .pid) && -z $(of "$other" '.container // empty') ]]
	for name in "${id:0:12}" "$id"; do
		survey -n 1 --no-drill --container "$name"
		[[ $(jq -c '[.processes[].pid]' "$D/survey.json") == "[$leaker]" ]]
	done
	# A name that a runtime alone knows, in each place that shows it, and as a filter; asked once, for one look is within ten seconds.
	printf '[{"Id":"%s","Names":["/shop"],"Labels":{"io.kubernetes.pod.name":"shop-0","io.kubernetes.pod.namespace":"default"}}]' "$id" >"$D/answer"
	runtime "$D/answer"
	survey -n 3 -i 100ms --no-drill --container-runtime "$D/runtime.sock" --container shop
	[[ $(jq -c '[.processes[] | .pid, .container, .pod_name]' "$D/survey.json" | uniq) == "[$leaker,\"shop\",\"default/shop-0\"]" ]] || fail "$(<"$D/survey.json")"
	[[ $(<"$TURNS") == /containers/json ]] || fail "asked: $(<"$TURNS")"
	"$TOOL" survey -n 1 --no-drill --container-runtime "$D/runtime.sock" --container shop 2>/dev/null | grep -q ' shop-0:shop ' || fail 'not in the table'
	# A recording has the names, and so has a profile made of it.
	survey -n 20 -i 250ms --window 1s --min-growth 0 --container-runtime "$D/runtime.sock" --container shop --record "$D/rec"
	[[ $(of "$leaker" '.drill.live.bytes > 0') == true ]] || fail "$(of "$leaker" .)"
	"$TOOL" report "$D/rec" -f json -T 1000 >"$D/survey.json" 2>"$D/tool.err"
	[[ $(of "$leaker" '"\(.container) \(.pod_name)"') == 'shop default/shop-0' ]] || fail "$(of "$leaker" .)"
	"$TOOL" report "$D/rec" -f pprof -o "$D/profile" 2>"$D/tool.err"
	for word in container shop pod_name default/shop-0; do
		gzip -dc "$D/profile" | grep -aqF -- "$word" || fail "no $word in the profile"
	done
	# What answers nonsense is said to, once, and everything else is as it was.
	printf '[{"Id":' >"$D/answer"
	survey -n 3 -i 100ms --no-drill --container-runtime "$D/runtime.sock" --container "${id:0:12}"
	[[ $(of "$leaker" '.container') == "${id:0:12}" ]]
	[[ $(grep -c 'no names of containers from' "$D/tool.err") -eq 1 ]] || fail "$(<"$D/tool.err")"
	survey -n 1 --no-drill --cgroup "/${CGROUP##*/}/"
	[[ $(jq -c '[.processes[].pid]' "$D/survey.json") == "[$leaker]" ]]
	# Not that which only begins like it.
	survey_of_nobody -n 1 --no-drill --cgroup "/docker-${id:0:12}"
	[[ $(jq -c '[.processes[].pid]' "$D/survey.json") == '[]' ]]
}

@test "what exits has a last line, one; what is new is seen" {
	local idle leaker new

	scene idle
	idle=$PID
	scene leak 3000000
	leaker=$PID
	"$TOOL" survey -f json -i 100ms --no-drill --comm '^(leak|idle)$' >"$D/survey.json" 2>"$D/tool.err" 3>&- {HOLD}>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	until_true "$DEADLINE" grep -q '"growing"' "$D/survey.json" || fail 'not growing'
	scene idle
	new=$PID
	until_true "$DEADLINE" grep -q "\"pid\":$new," "$D/survey.json" || fail 'the new one is not seen'
	kill -KILL "$leaker" "$idle"
	has_ended() { [[ $(jq -s "map(.processes[] | select(.pid == $1 and .ended)) | length" "$D/survey.json") -eq 1 ]]; }
	until_true "$DEADLINE" has_ended "$leaker" || fail 'no last line'
	until_true "$DEADLINE" has_ended "$idle" || fail 'no last line of the idle one'
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?"
	has_ended "$leaker"
	has_ended "$idle"
	[[ $(of "$leaker" .ended) == true && $(of "$idle" .ended) == true ]]
	[[ $(of "$new" '.ended') == false ]]
}

@test "children that live for less than an interval are counted with their parent" {
	local parent

	scene spawn 20
	parent=$PID
	"$TOOL" survey -f json -i 500ms --no-drill -v --comm '^spawn$' >"$D/survey.json" 2>"$D/tool.err" 3>&- {HOLD}>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	until_true "$DEADLINE" test -s "$D/survey.json" || fail 'no look'
	kill -USR1 "$parent"
	# Ten that are children, and ten with one of their own.
	until_true "$DEADLINE" grep -q '"children_exited":30' "$D/survey.json" || fail "$(of "$parent" .children_exited) instead of 30"
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?"
	[[ $(of "$parent" '.children_exited') -eq 30 ]]
	[[ $(of "$parent" '.comm') == spawn ]]
	[[ $(of "$parent" '.children_peak_bytes >= 16777216 and .children_peak_bytes < 30000000') == true ]] || fail "$(of "$parent" .children_peak_bytes)"
	[[ $(of "$parent" '.rss_anon_bytes < 1000000') == true ]]
}

@test "text: the table fits 100 columns and says why" {
	scene leak 3000000
	LC_ALL=C "$TOOL" survey -i 100ms --window 1 --comm '^leak$' >"$D/text" 2>"$D/tool.err" 3>&- {HOLD}>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	said() {
		grep -q 'growing since the start' "$D/text" && grep -q 'most in leaked_here' "$D/text"
	}
	until_true $((2 * DEADLINE)) said || fail "$(tail -n 20 "$D/text")"
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?"
	grep -Eq 'growing since the start, [0-9:]+ \([^)]+\), [0-9.]+M/s' "$D/text" || fail "$(<"$D/text")"
	grep -q 'most in leaked_here' "$D/text"
	! grep -q $'\x1b' "$D/text" || fail 'escapes in a file'
	[[ $(grep -E '^ +[0-9]+ +[0-9]+ ' "$D/text" | awk '{ if (length > m) m = length } END { print m }') -le 100 ]] ||
		fail 'wider than 100 columns'
}

# bats test_tags=alone
@test "flat, then a leak: told in time, since when, and when its control group's memory is full" {
	local leaker began killed said

	memory_cgroup || skip 'no memory control group can be made here'
	echo $((160 << 20)) >"$LIMIT"
	WRAP=(bash -c "echo \$\$ >'$CGROUP/cgroup.procs' && exec \"\$@\"" sh)
	scene late 10000000
	WRAP=()
	leaker=$PID
	"$TOOL" survey -f json -i 250ms --no-drill --comm '^late$' >"$D/survey.json" 2>"$D/tool.err" 3>&- {HOLD}>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	until_true "$DEADLINE" reports '.processes[0].samples >= 30' || fail "$(tail -n 1 "$D/survey.json")"
	reports '.processes[0] | .trend == "steady" and .growth_bytes_per_s == 0' || fail "$(tail -n 1 "$D/survey.json")"
	began=$EPOCHREALTIME
	kill -USR1 "$leaker"
	has_ended() {
		! alive "$leaker"
	}
	until_true "$DEADLINE" has_ended || fail 'nobody killed it'
	killed=$EPOCHREALTIME
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?"
	grep -qs '^oom_kill [1-9]' "$CGROUP/memory.oom_control" "$CGROUP/memory.events" || fail 'it ended otherwise'
	# Growing: before half of the room is used. By then the beginning is known, and the end to a tenth of the time.
	said=$(jq -s -c --argjson began "$began" --argjson killed "$killed" '
		def seconds: capture("(?<s>.*)[.](?<ms>[0-9]+)Z") | (.s + "Z" | fromdate) + (.ms | tonumber) / 1000;
		[.[] | select(.processes[0].trend == "growing")][0] as $first |
		[.[] | select(.processes[0].regime.room_used >= 0.5)][0].processes[0].regime as $half |
		($killed - $began) as $took |
		[(($first.time | seconds) - $began) / $took, (($half.full_at | seconds) - $killed) / $took, ($half.since | seconds) - $began] |
		., (.[0] < 0.5 and (.[1] | fabs) < 0.1 and (.[2] | fabs) < 1)' "$D/survey.json" | paste -sd ' ')
	[[ $said == *true ]] || fail "$said: $(jq -c '[.time, .processes[0].trend, .processes[0].regime]' "$D/survey.json")"
}

@test "--duration: it ends by itself, with a last report" {
	local began=$EPOCHSECONDS

	run_tool survey --no-drill -i 100ms --duration 1s -f json
	[[ $STATUS -eq 0 ]] || fail "$STATUS $ERR"
	# However late a busy machine has the first look, the last is when that time is over.
	[[ $(jq -s --argjson began "$began" '(last | .final and (.time[:19] + "Z" | fromdate) >= $began + 1) and length > 1' <<<"$OUT") == true ]] ||
		fail "$began $OUT"
}

@test "options of the survey that make no sense together are refused" {
	run_tool survey -f folded
	refused 2 "-f: 'folded' is not a format of the survey"
	run_tool survey --comm '['
	refused 2 "--comm: '\\[' is not a regular expression"
	run_tool survey --budget 0
	refused 2 '--budget: .0. is not a share'
	run_tool survey --user nobody-of-that-name
	refused 2 'is not a user'
	run_tool survey -p 1
	refused 2 '-p: not an option'
}
