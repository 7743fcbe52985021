# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What guarded blocks cost, beside the gate that they stand before: a part of tests/bench/run.

GUARD_GATE='memleakbpf, gate, sampled every 512 KiB'
GUARD_EXACT='memleakbpf, exact, session'
guard_attach=(--attach gate -s 512k)

# guard_tool PID ARG…: until it has attached, and guards are there if it is told to make them.
guard_tool() {
	local attached='' guarded=yes

	[[ " $* " != *' --guard'* ]] || guarded=
	pipe tool_err
	"$PROGRAM" -v "${guard_attach[@]}" -p "$@" 2>"$tmp/tool_err" >/dev/null &
	tool_pid=$!
	children+=("$tool_pid")
	until [[ $attached && $guarded ]]; do
		expect tool_err '*memleakbpf: *'
		[[ $line != *'attached to'* ]] || attached=yes
		[[ $line != *'guards before'* ]] || guarded=yes
	done
	# What it says from now on is not to fill the pipe.
	cat <&"${fds[tool_err]}" >/dev/null &
	guard_reader=$!
}

guard_stop() {
	tool_stop
	kill "$guard_reader"
	wait "$guard_reader" 2>/dev/null
}

guard_measure() { # NAME
	measure guard "$1"
	loop_do "touch $RUN_SECONDS"
	record guard "$1" fault_ns "${line% *}"
}

guard_resident() {
	awk '/^Rss(Anon|Shmem):/ { sum += $2 } END { print sum }' "/proc/$loop_pid/status"
}

guard_redis() { # NAME PID
	local before requests=100000

	before=$(cpu_ns "$2")
	redis-benchmark -s "$tmp/redis.sock" -t set,get -n $((requests / 2)) -c 50 -d 200 --csv >/dev/null 2>&1
	record guard "$1" redis_us "$(awk -v ns="$(($(cpu_ns "$2") - before))" -v n="$requests" 'BEGIN { printf "%.2f", ns / n / 1000 }')"
}

section_guard() {
	local n pid before

	loop_start 1 10
	guard_measure 'no tool'
	with_empty guard 'empty probes at our places, session' session place
	guard_tool "$loop_pid"
	guard_measure "$GUARD_GATE"
	guard_stop
	for n in 100000 10000 1000; do
		guard_tool "$loop_pid" --guard="$n"
		guard_measure "$GUARD_GATE, --guard=$n"
		guard_stop
	done
	guard_attach=(--attach session)
	guard_tool "$loop_pid"
	guard_measure "$GUARD_EXACT"
	guard_stop
	guard_tool "$loop_pid" --guard=10000
	guard_measure "$GUARD_EXACT, --guard=10000"
	guard_stop
	guard_attach=(--attach gate -s 512k)
	loop_stop
	# Each place has been used.
	loop_start 1 10
	loop_do 'run 0.1'
	before=$(guard_resident)
	guard_tool "$loop_pid" --guard=1
	loop_do 'run 0.3'
	record guard "$GUARD_GATE, --guard=1" place_bytes "$((($(guard_resident) - before) * 1024 / 512))"
	guard_stop
	loop_stop
	if ! have redis-server || ! have redis-benchmark; then
		return
	fi
	redis_start
	pid=$redis_pid
	guard_redis 'no tool' "$pid"
	guard_tool "$pid"
	guard_redis "$GUARD_GATE" "$pid"
	guard_stop
	guard_tool "$pid" --guard=10000
	guard_redis "$GUARD_GATE, --guard=10000" "$pid"
	guard_stop
	kill "$pid"
	wait "$pid"
}
