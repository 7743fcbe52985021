#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# memleakbpf survey --gate --keep --profiles, read by go tool pprof, curl and Prometheus.

load lib.bash

setup_file() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
}

# serve ARG…: a survey that serves; TOOL_PID, AT its address.
serve() {
	"$TOOL" survey --gate --no-drill --profiles :0 -o /dev/null "$@" 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	tool_says 'profiles at http://'
	AT=$(sed -n 's/.*profiles at //p' "$D/tool.err")
	AT=${AT%/targets}
}

# lists PID: it is one of the targets.
lists() {
	curl -sSf "$AT/targets" >"$D/targets" 2>"$D/curl.err" && jq -e --arg pid "$1" 'any(.[]; .labels.__param_pid == $pid)' "$D/targets" >/dev/null
}

pprof() {
	HOME=$D go tool pprof "$@" 2>"$D/pprof.err" || fail "pprof: $(<"$D/pprof.err")"
}

# near BYTES TEXT: the total of a profile's text (pprof -top -unit=B) is so many, but for what sampling one byte in 4k leaves open.
near() {
	local total=${2#*Total samples = }

	total=${total%%B*}
	[[ $total =~ ^-?[0-9]+$ && $((total - $1)) -lt $(($1 / 20)) && $(($1 - total)) -lt $(($1 / 20)) ]] || fail "$total instead of about $1: $2"
}

status_of() {
	curl -s -o "$D/body" -w '%{http_code}' "$@"
}

# discovered PID: Prometheus has found that target, and says with which labels.
discovered() {
	curl -sS "$PROMETHEUS/api/v1/targets?state=any" >"$D/found" 2>"$D/curl.err" &&
		jq -e --arg pid "$1" 'any(.data.activeTargets[]; .labels.pid == $pid and .discoveredLabels.__param_pid == $pid and (.labels.comm | startswith("leaf")))' "$D/found" >/dev/null
}

start_prometheus() {
	local port

	port=$(free_port)
	cat >"$D/prometheus.yml" <<-END
		scrape_configs:
		  - job_name: profiles
		    http_sd_configs:
		      - url: $AT/targets
		        refresh_interval: 1s
	END
	promtool check config --syntax-only "$D/prometheus.yml"
	prometheus --config.file="$D/prometheus.yml" --storage.tsdb.path="$D/data" --web.listen-address="127.0.0.1:$port" >"$D/prometheus.err" 2>&1 3>&- &
	PIDS+=($!)
	PROMETHEUS=http://127.0.0.1:$port
}

@test "go tool pprof lists leaking stacks, and those of the time between; Prometheus finds the endpoint" {
	local kept url status asking

	need_gate
	need go
	need prometheus
	# A name that no other test's processes have.
	cp "$TARGETS/leaf" "$D/leaf$$"
	start_target "$D/leaf$$"
	serve -v -i 200ms --keep "comm=^leaf$$\$" -s 4k --metrics :0
	# One address, one server.
	[[ $(sed -n 's|.*metrics at \(.*\)/metrics|\1|p' "$D/tool.err") == "$AT" ]] || fail 'two servers'
	until_true "$DEADLINE" lists "$T_PID" || fail "not listed: $(<"$D/targets")"
	"$ROOT/tests/tools/schema.py" --whole targets "$D/targets"
	start_prometheus
	url="$AT/debug/pprof/heap?pid=$T_PID"

	tell go
	kept=$(jq '[.live[].bytes] | add' <<<"$TRUTH")
	pprof -top -unit=B "$url" >"$D/top"
	near "$kept" "$(<"$D/top")"
	grep -Eq '^ *4194304B .* leak_1m' "$D/top" || fail "$(<"$D/top")"
	grep -q "Build ID: $(readelf -n "$TARGETS/leaf" | awk '/Build ID/ { print $3 }')" "$D/top" || fail 'no build id'
	grep -q 'Type: inuse_space' "$D/top" || fail 'another preset'
	pprof -top -unit=B "$AT/debug/pprof/allocs" >"$D/top"
	grep -q 'Type: alloc_space' "$D/top" || fail 'another preset'
	pprof -raw "$AT/debug/pprof/allocs" | grep -Eq 'comm:\[leaf' || fail 'no label'

	# What is asked for while the survey waits for its end is what changed in between: as much again. A busy machine may be late to tell.
	status_of --max-time 30 "$url&seconds=4" >"$D/status" &
	asking=$!
	tool_says "profile of process $T_PID: the difference begins"
	tell go
	wait "$asking"
	[[ $(<"$D/status") == 200 ]] || fail "$(<"$D/status")"
	pprof -top -unit=B "$D/body" >"$D/top"
	near "$kept" "$(<"$D/top")"

	for url in 'heap?pid=1 404' 'heap?pid=x 400' "heap?pid=$T_PID&seconds=0 400" 'profile?seconds=1 404' 'heap?debug=1 400'; do
		[[ $(status_of "$AT/debug/pprof/${url% *}") == "${url##* }" ]] || fail "$url: $(<"$D/body")"
	done
	until_true "$DEADLINE" discovered "$T_PID" || fail "not discovered: $(<"$D/found")"
	# The survey ends while somebody waits: he is told.
	curl -s -o "$D/body" -w '%{http_code}' "$AT/debug/pprof/heap?seconds=300" >"$D/status" &
	asking=$!
	until_true "$DEADLINE" pprof_waits || fail 'it does not wait'
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?"
	wait "$asking" || fail 'not answered'
	[[ $(<"$D/status") == 503 && $(<"$D/body") == 'the survey ends' ]] || fail "$(<"$D/status") $(<"$D/body")"
	end_target
}

# flat FUNCTION: its own bytes in the text of pprof -top -unit=B; all of them if it has several lines.
flat() {
	awk -v name="$1" '$1 ~ /B$/ && $6 == name { sub("B", "", $1); sum += $1 } END { printf "%.0f", sum }' "$D/top"
}

tool_cpu_ms() {
	awk -v hz="$(getconf CLK_TCK)" '{ print ($14 + $15) * 1000 / hz }' "/proc/$TOOL_PID/stat"
}

# of_metric NAME[{LABELS}]: its value.
of_metric() {
	curl -sSf "$AT/metrics" | awk -v name="$1" '$1 == name { print $2 }'
}

# Into $D/top; what that took the tool is its processor time since $before. What a busy machine has not made in the time that a scraper has is asked for anew.
profile_of_all() {
	before=$(tool_cpu_ms)
	HOME=$D go tool pprof -top -unit=B -nodecount=100000 "$AT/debug/pprof/heap" >"$D/top" 2>"$D/pprof.err"
}

@test "100,000 stacks of one process: 65,536 are told apart, the others are one sum and said, and a profile takes bounded time and memory" {
	local lost dropped before took told

	need_gate
	need go
	cp "$TARGETS/many" "$D/many$$"
	start_target "$D/many$$"
	serve -i 200ms --keep "comm=^many$$\$" -s 1 --keep-rate 1000000 --keep-live 100000 --metrics :0
	until_true "$DEADLINE" lists "$T_PID" || fail "not listed: $(<"$D/targets")"
	tell 'stacks 100000'
	until_true "$((2 * DEADLINE))" profile_of_all || fail "pprof: $(<"$D/pprof.err")"
	took=$(($(tool_cpu_ms) - before))
	# A look, by which the counters are.
	tool_says 'more than 65536 different stacks'
	lost=$(of_metric 'memleakbpf_lost_records_total{cause="stack_table_full"}')
	dropped=$(of_metric 'memleakbpf_lost_records_total{cause="gate_full"}')
	((lost > 20000)) || fail "lost $lost"
	grep -q "lost: $lost allocations counted without their stack" "$D/top" || fail "$(head -n 20 "$D/top")"
	# Each has its place: one of 32 bytes under its function, in the sum, or not recorded.
	told=$(($(flat many_leak) / 32))
	[[ $told -gt 65000 && $told -le 65536 ]] || fail "$told: $(head -n 20 "$D/top")"
	((told + lost + dropped == 100000)) || fail "$told + $lost + $dropped"
	[[ ${SANITIZE-} == 1 ]] || ((took < 10000)) || fail "$took ms"
	[[ ${SANITIZE-} == 1 ]] || (($(awk '$1 == "VmHWM:" { print $2 }' "/proc/$TOOL_PID/status") < 512 << 10)) || fail 'more than --keep-memory'
	end_target
}

# A connection to the survey that is not one of Prometheus' is being answered.
pprof_waits() {
	local port=${AT##*:}

	ss -Htnp state established "( dport = :$port )" | grep -q '"curl"'
}

@test "--profiles-token: files that others may read, and options that lack another, are refused" {
	local port

	need_gate
	printf '0123456789abcdef0123456789abcdef\n' >"$D/token"
	chmod 604 "$D/token"
	run_tool survey --gate --keep comm=^nobody$ --profiles :0 --profiles-token "$D/token"
	refused 1 'profiles-token: .*: others may read or change it'
	run_tool survey --gate --keep comm=^nobody$ --profiles :0 --profiles-token "$D/none"
	refused 1 'profiles-token: .*No such file'
	run_tool survey --gate --profiles :0
	refused 2 '--profiles: nothing is sampled all the time'
	run_tool survey --gate --keep comm=^nobody$ --profiles-token "$D/token"
	refused 2 '--profiles-token: nothing asks for it'
	run_tool survey --gate --keep comm=^nobody$ --profiles 9436
	refused 2 "--profiles: '9436' is not an address and a port"
	chmod 640 "$D/token"
	port=$(free_port)
	serve -i 200ms --keep 'comm=^nobody$' --metrics "127.0.0.1:$port" --profiles-token "$D/token"
	[[ $AT != *:$port ]] || fail 'one server'
	no_look_yet() {
		[[ $(status_of -H 'Authorization: Bearer 0123456789abcdef0123456789abcdef' "$AT/targets") != 503 ]]
	}
	until_true "$DEADLINE" no_look_yet
	[[ $(<"$D/body") == '[]' ]] || fail "$(<"$D/body")"
	for path in /targets /debug/pprof/heap; do
		[[ $(status_of "$AT$path") == 401 ]] || fail "$path without a token"
		[[ $(status_of -H 'Authorization: Bearer 0123456789abcdef0123456789abcdee' "$AT$path") == 401 ]] || fail "$path with another token"
	done
	[[ $(status_of "http://127.0.0.1:$port/metrics") == 200 ]] || fail 'the metrics have no token'
	[[ $(status_of "http://127.0.0.1:$port/targets") == 404 ]] || fail 'profiles at the port of the metrics'
	[[ $(status_of -H 'Host: evil.example' "$AT/targets") == 421 ]] || fail 'a stranger has their name'
	[[ $(status_of -X POST "$AT/targets") == 405 ]]
	[[ $(status_of "$AT/") == 200 ]]
}
