# shellcheck shell=bash disable=SC2154
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Small services of Python and Node under load: a part of tests/bench/run.

SERVICE_REQUESTS=4000

# Of its threads that have ended as well.
service_ms() { # PID
	awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) * 1000 / hz }' "/proc/$1/stat"
}

service_measure() { # NAME PID PORT
	local before rate

	before=$(service_ms "$2")
	rate=$(python3 tests/bench/requests.py "$3" "$SERVICE_REQUESTS") || die "no answers of $1"
	record services "$1" request_us "$((($(service_ms "$2") - before) * 1000 / SERVICE_REQUESTS))"
	record services "$1" requests "$rate"
}

service_with() { # NAME PID PORT ARG …
	tool_start -p "$2" "${@:4}"
	service_measure "$1" "$2" "$3"
	tool_stop
}

service() { # NAME PROGRAM ARG …
	local started pid port

	pipe service_out
	"${@:2}" >"$tmp/service_out" &
	started=$!
	expect service_out 'ready *'
	# Which may be a child of what was started, where that only looks for a version of it.
	read -r _ port pid <<<"$line"
	children+=("$pid")
	# Until what is compiled as it runs is so.
	python3 tests/bench/requests.py "$port" "$((8 * SERVICE_REQUESTS))" >/dev/null || die "no answers of $1"
	service_measure "$1, no tool" "$pid" "$port"
	service_with "$1, memleakbpf, exact" "$pid" "$port"
	service_with "$1, memleakbpf, sampled every 512 KiB" "$pid" "$port" -s 512k
	service_with "$1, memleakbpf, gate, sampled every 512 KiB" "$pid" "$port" --attach gate -s 512k
	# Node is faster the longer it has run: the better of both counts.
	service_measure "$1, no tool" "$pid" "$port"
	kill "$pid"
	wait "$started" 2>/dev/null
}

section_services() {
	service python3 python3 tests/bench/serve.py
	if have node; then
		service node node tests/bench/serve.js
	else
		echo 'node: not installed, left out' >&2
	fi
}
