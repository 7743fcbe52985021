#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# memleakbpf survey --metrics, read by curl, promtool and Prometheus itself.

load lib.bash
load survey.bash

setup_file() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
	command -v prometheus >/dev/null || skip 'prometheus is not installed'
}

# serve ARG…: a survey that serves; TOOL_PID, URL of its metrics.
serve() {
	"$TOOL" survey --metrics :0 -o /dev/null "$@" 2>"$D/tool.err" 3>&- {HOLD}>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	tool_says 'metrics at http://'
	URL=$(sed -n 's/.*metrics at //p' "$D/tool.err")
}

# scraped: PAGE is what is there, once a look has been taken.
scraped() {
	PAGE=$(curl -sSf "$@" "$URL")
}

@test "curl and promtool read it; on the loopback only" {
	local port

	scene idle
	serve -i 200ms --no-drill --comm '^idle$'
	until_true "$DEADLINE" scraped 2>/dev/null || fail 'no metrics'
	[[ $URL == http://127.0.0.1:* ]]
	port=${URL##*:}
	port=${port%/metrics}
	# In the kernel's table an address is one number in the machine's byte order.
	[[ $(awk -v p="$(printf '%04X' "$port")" '$4 == "0A" { split($2, a, ":"); if (a[2] == p) print a[1] }' /proc/net/tcp) == 0100007F ]]
	# What nobody asked for is what every tool reads.
	promtool check metrics <<<"$PAGE" || fail 'promtool does not like it'
	scraped -H 'Accept: application/openmetrics-text'
	[[ $(curl -sI -H 'Accept: application/openmetrics-text' "$URL" | tr -d '\r') == *'Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8'* ]]
	[[ ${PAGE##*$'\n'} == '# EOF' ]]
	[[ $PAGE == *"memleakbpf_process_anon_bytes{pid=\"$PID\",comm=\"idle\""* ]]
	scraped -H 'Accept: text/plain'
	promtool check metrics <<<"$PAGE" || fail 'promtool does not like it'
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?"
	! curl -s "$URL" || fail 'still there'
}

@test "a thousand silent connections, and a request by somebody else's name" {
	local port

	scene idle
	serve -i 200ms --no-drill --comm '^idle$' --metrics-host web1.example.org
	until_true "$DEADLINE" scraped 2>/dev/null || fail 'no metrics'
	port=${URL##*:}
	port=${port%/metrics}
	# They stay connected, in turns of all of them, until this shell closes their input.
	mkfifo "$D/crowd.in"
	python3 -c '
import select, socket, sys
def new():
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=30)
    if at % 2:
        s.send(b"G")
    return s
at = 0
crowd = []
while len(crowd) < 1000:
    crowd.append(new())
    at += 1
print("here", flush=True)
at = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    crowd[at].close()
    crowd[at] = new()
    at = (at + 1) % len(crowd)
' "$port" <"$D/crowd.in" >"$D/crowd" 3>&- {HOLD}>&- &
	PIDS+=($!)
	exec {CROWD}>"$D/crowd.in"
	until_true "$DEADLINE" grep -q here "$D/crowd" || fail 'no crowd'
	# Less than the five seconds after which a silent one is sent away.
	for _ in {1..50}; do
		scraped --max-time 4 || fail 'not served'
	done
	exec {CROWD}>&-
	[[ $(curl -s -o /dev/null -w '%{http_code}' -H 'Host: evil.example' "$URL") == 421 ]]
	[[ $(curl -s -o /dev/null -w '%{http_code}' -H "Host: evil.example:$port" "$URL") == 421 ]]
	for name in "localhost:$port" "WEB1.example.org" "[::1]:$port" "192.0.2.7" "$(hostname)"; do
		scraped -H "Host: $name" || fail "$name: refused"
	done
	grep -q '^Threads:.2$' "/proc/$TOOL_PID/status" || fail "$(grep Threads "/proc/$TOOL_PID/status")"
}

@test "series are bounded: all other processes are summed" {
	local all=0 n

	# A name that no other test's processes have.
	for _ in {1..6}; do
		scene "idle$$"
		all=$((all + $(awk '/^RssAnon/ { print $2 * 1024 }' "/proc/$PID/status")))
	done
	serve -i 200ms --no-drill --comm "^idle$$\$" --metrics-processes 2
	until_true "$DEADLINE" scraped 2>/dev/null || fail 'no metrics'
	[[ $(grep -c '^memleakbpf_process_anon_bytes' <<<"$PAGE") -eq 2 ]]
	grep -qx 'memleakbpf_processes 6' <<<"$PAGE"
	grep -qx 'memleakbpf_other_processes 4' <<<"$PAGE"
	n=$(awk '/^memleakbpf_(process|other_processes)_anon_bytes/ { sum += $NF } END { printf "%.0f", sum }' <<<"$PAGE")
	[[ $n -eq $all ]] || fail "$n bytes instead of $all"
}

# query EXPRESSION: the value of its only sample, or nothing.
query() {
	curl -sSG --data-urlencode "query=$1" "$PROMETHEUS/api/v1/query" | jq -r '.data.result | select(length == 1) | .[0].value[1]'
}

# holds_there EXPRESSION: it has one sample.
holds_there() {
	[[ -n $(query "$1" 2>/dev/null) ]]
}

start_prometheus() {
	local port

	port=$(free_port)
	cat >"$D/prometheus.yml" <<-END
		global:
		  scrape_interval: 1s
		scrape_configs:
		  - job_name: memleakbpf
		    static_configs:
		      - targets: ['${URL:7:-8}']
		rule_files: ['$ROOT/tools/prometheus/memleakbpf.rules.yml']
	END
	promtool check config "$D/prometheus.yml"
	mkdir "$D/data"
	prometheus --config.file="$D/prometheus.yml" --storage.tsdb.path="$D/data" --web.listen-address="127.0.0.1:$port" \
		>"$D/prometheus.err" 2>&1 3>&- {HOLD}>&- &
	PIDS+=($!)
	PROMETHEUS=http://127.0.0.1:$port
}

@test "Prometheus scrapes it: values by its API, names that harm nobody" {
	local hostile=$'a"b\\c\nd\xff' leaker

	scene "$hostile"
	scene leak 3000000
	leaker=$PID
	serve -i 250ms --window 2 --comm '^(leak|a)'
	start_prometheus
	until_true "$DEADLINE" holds_there 'up{job="memleakbpf"} == 1' || fail "$(curl -s "$PROMETHEUS/api/v1/targets") $(tail -n 3 "$D/prometheus.err")"
	holds_there 'memleakbpf_process_anon_bytes{comm="a\"b\\c\nd\ufffd"} > 0' || fail 'the name is another'
	until_true $((2 * DEADLINE)) holds_there "memleakbpf_process_suspicion{pid=\"$leaker\",comm=\"leak\"} >= 1" || fail "not growing: $(query "memleakbpf_process_suspicion{pid=\"$leaker\"}")"
	until_true "$DEADLINE" holds_there "memleakbpf_process_top_stack_live_bytes{pid=\"$leaker\",function=\"leaked_here\"} > 1e6" || fail 'not named'
	# What it loses a second is known; a window in which a busy machine made it wait is not the last one.
	until_true $((2 * DEADLINE)) holds_there "abs(memleakbpf_process_growth_bytes_per_second{pid=\"$leaker\"} / 3e6 - 1) < 0.1" ||
		fail "growth $(query "memleakbpf_process_growth_bytes_per_second{pid=\"$leaker\"}")"
	holds_there 'memleakbpf_probe_hits_total > 0 and memleakbpf_probe_cpu_seconds_total > 0'
	holds_there 'sum(memleakbpf_lost_records_total) == 0'
	holds_there 'memleakbpf_build_info{source="bpf"} == 1'
	holds_there 'memleakbpf_looks_total > 10'
}

@test "addresses that make no sense are refused, and a line warns of one that is open to all" {
	run_tool survey --metrics 9435
	refused 2 "--metrics: '9435' is not an address and a port"
	run_tool survey --metrics host.example:9435
	refused 2 '--metrics: .host.example:9435. is not an address'
	run_tool survey --metrics-processes -1
	refused 2 '--metrics-processes: .-1. is not a number'
	run_tool survey --metrics 203.0.113.1:1
	refused 1 'cannot serve metrics at 203.0.113.1:1: Cannot assign'
	"$TOOL" survey -n 1 --no-drill --metrics 0.0.0.0:0 >/dev/null 2>"$D/tool.err"
	grep -q 'whoever can reach 0.0.0.0:[0-9]* can read' "$D/tool.err"
}

@test "metrics have the bytes that calls of a function keep, in suspects" {
	local leaker n

	scene leak 3000000
	leaker=$PID
	serve -i 250ms --window 2 --comm '^leak$' --scope leaked_here --scope 'no_such_*'
	has_scope() {
		scraped && grep -q "^memleakbpf_scope_kept_bytes{pid=\"$leaker\",comm=\"leak\".*,function=\"leaked_here\"} [1-9]" <<<"$PAGE"
	}
	until_true $((2 * DEADLINE)) has_scope || fail "$PAGE"
	promtool check metrics <<<"$PAGE" || fail 'promtool does not like it'
	# All that is live was kept by these calls; it is a sample, and some are younger than the last return.
	n=$(awk '/^memleakbpf_scope_live_bytes/ { print $NF }' <<<"$PAGE")
	[[ $n -le $(awk '/^memleakbpf_process_live_bytes/ { print $NF }' <<<"$PAGE") && $n -gt 1000000 ]] || fail "$PAGE"
}
