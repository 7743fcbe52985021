#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# The static program (make static) where no file of a distribution is: in a root with nothing but it, /proc, /sys, /dev and the test's folder.

load lib.bash
load survey.bash

setup_file() {
	[[ $EUID -eq 0 ]] || skip 'needs root'
	make_static
}

# make_static: as what is built was: see tests/tools/install.bats. Two files of tests may want it at once.
make_static() {
	local root build=${BUILD:-build}

	root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
	[[ ${SANITIZE-} != 1 ]] || skip 'a sanitized build is not static'
	[[ $(gcc -print-file-name=libdw.a) == /* ]] || skip 'no archives to link with'
	[[ $build == /* ]] || build=$root/$build
	flock "$build" make -s -C "$root" BUILD="${build#"$root/"}" static
}

# Paths below are seen within the root, too.
setup() {
	export STATIC_PROGRAM=$BUILD/static/memleakbpf VISIBLE=$BATS_TEST_TMPDIR
	USUAL=$TOOL
	TOOL=$HERE/empty-root
	fresh
}

# passes FILE [FILTER…]: the tests of that file, with the static program in an empty root in place of the usual one. Each says its name.
passes() {
	local file=$1 status=0

	shift
	mkdir -p "$BATS_TEST_TMPDIR/nested"
	env TMPDIR="$BATS_TEST_TMPDIR/nested" MEMLEAKBPF="$TOOL" MODES="${MODES%% *}" bats --formatter tap "$@" "$HERE/$file.bats" >"$D/tap" 2>&1 3>&- || status=$?
	[[ $status -eq 0 ]] || fail "$(<"$D/tap")"
	[[ $(grep -c '^ok ' "$D/tap") -gt 0 ]] || fail "no test of $file ran: $(<"$D/tap")"
	! grep -i '# skip' "$D/tap" || fail 'some were skipped'
}

@test "counts, to the byte and the block: core's quick tests" {
	passes core --filter-tags quick
}

@test "inspect finds what is lost" {
	passes inspect --filter-tags quick
}

@test "the static build passes the quick tests of the survey" {
	passes survey --filter-tags quick
}

@test "top without terminfo and locales, with lines and letters beyond ASCII" {
	passes top --filter-tags quick
}

@test "top knows the usual terminals, draws in UTF-8 where that is asked for, and says which terminal it does not know" {
	local term

	cp "$TARGETS/leaf" "$D/lëaf"
	start_target "$D/lëaf"
	for term in linux screen tmux-256color vt100 vt220 xterm; do
		TERM=$term LC_ALL=C.UTF-8 script -qefc "$TOOL top -p $T_PID -i 100ms --duration 200ms 2>$D/tool.err" /dev/null >"$D/screen" 2>&1 </dev/null ||
			fail "$term: $(cat -v "$D/screen")"
		grep -q 'FUNCTION' "$D/screen" || fail "$term: $(cat -v "$D/screen")"
	done
	# The letters of a locale that the machine does not have, and that nobody has asked for.
	TERM=xterm LC_ALL=de_DE.utf8 script -qefc "$TOOL top -p $T_PID -i 100ms --duration 200ms 2>$D/tool.err" /dev/null >"$D/wide" 2>&1 </dev/null || fail "$(cat -v "$D/wide")"
	TERM=xterm LC_ALL=C script -qefc "$TOOL top -p $T_PID -i 100ms --duration 200ms 2>$D/tool.err" /dev/null >"$D/narrow" 2>&1 </dev/null || fail "$(cat -v "$D/narrow")"
	grep -q "$T_PID (lëaf)" "$D/wide" || fail "ASCII: $(cat -v "$D/wide")"
	grep -q "$T_PID (l" "$D/narrow" || fail "$(cat -v "$D/narrow")"
	! grep FUNCTION "$D/narrow" | LC_ALL=C grep -q $'[\x80-\xff]' || fail "not ASCII: $(cat -v "$D/narrow")"
	! TERM=no-such script -qefc "$TOOL top -p $T_PID" /dev/null >"$D/screen" 2>&1 </dev/null || fail 'it was begun'
	grep -q "the terminal's description ('no-such') is not installed" "$D/screen" || fail "$(cat -v "$D/screen")"
}

@test "html: a page of a process, and of a recording byte for byte the usual program's" {
	grep -q HTML_PAGE_MISSING "$BUILD/gen/html_page.gen.h" && skip 'no page in this build'
	start_target "$TARGETS/leaf"
	timeout -k 5 "$DEADLINE" "$TOOL" record -p "$T_PID" -i 1h -o "$D/rec" >"$D/tool.err" 2>&1 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	until_true "$DEADLINE" grep -q 'watching\|attached\|recording' "$D/tool.err" || fail 'not attached'
	tell go
	kill -INT "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?"
	"$TOOL" report "$D/rec" -f html >"$D/static.html"
	"$USUAL" report "$D/rec" -f html >"$D/usual.html"
	cmp "$D/static.html" "$D/usual.html"
	grep -q 'leak_1m' "$D/static.html" || fail 'no function of the target'
	grep -q 'leaf.c' "$D/static.html" || fail 'no file of the target'
}

@test "survey --metrics is scraped" {
	local port url

	# A port that is free now.
	port=$(/usr/bin/python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	"$TOOL" survey -i 1 --no-drill --metrics "127.0.0.1:$port" -o /dev/null 2>"$D/tool.err" 3>&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	url=http://127.0.0.1:$port/metrics
	until_true "$DEADLINE" curl -sf -o "$D/metrics" "$url" || fail 'no answer'
	grep -q "^memleakbpf_build_info{version=\"$("$USUAL" --version | sed 's/.* //')\"" "$D/metrics" || fail "$(head -20 "$D/metrics")"
	until_true "$DEADLINE" sh -c "curl -sf '$url' | grep -q '^memleakbpf_process_[a-z_]*{.*comm='" || fail "$(curl -s "$url" | head -40)"
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID" || fail "status $?"
}

@test "--user: names of /etc/passwd, numbers, and a refusal without a crash where nsswitch.conf has more than files" {
	local message='is not a user; give a name or a number; this static program knows only the names of /etc/passwd'

	printf 'passwd: files systemd\n' >"$BATS_TEST_TMPDIR/nsswitch.conf"
	printf 'root:x:0:0::/:/bin/sh\nshop:x:4321:4321::/:/bin/sh\n' >"$BATS_TEST_TMPDIR/passwd"
	# In this machine's own root the modules of nsswitch.conf are there to be loaded; it has the file for this process only.
	for where in 'chroot /' "$TOOL"; do
		[[ $where != "$TOOL" ]] || export ETC=$BATS_TEST_TMPDIR
		command=("$TOOL")
		[[ $where == "$TOOL" ]] || command=(unshare --mount --propagation private bash -c 'mount --bind "$1" /etc/nsswitch.conf; mount --bind "$2" /etc/passwd; shift 2; exec "$@"' - \
			"$BATS_TEST_TMPDIR/nsswitch.conf" "$BATS_TEST_TMPDIR/passwd" "$STATIC_PROGRAM")
		STATUS=0
		"${command[@]}" survey --user NOSUCH -n 1 >"$D/said" 2>"$D/err" || STATUS=$?
		[[ $STATUS -eq 2 && $(<"$D/err") == *"$message" ]] || fail "$where: $STATUS $(<"$D/err")"
		STATUS=0
		"${command[@]}" survey --gate --keep user=NOSUCH -n 1 >"$D/said" 2>"$D/err" || STATUS=$?
		[[ $STATUS -eq 2 && $(<"$D/err") == *'knows only the names of /etc/passwd' ]] || fail "$where: $STATUS $(<"$D/err")"
		for user in shop 4321 4294967294; do
			STATUS=0
			"${command[@]}" survey --user "$user" -n 1 >"$D/said" 2>"$D/err" || STATUS=$?
			grep -q 'no process has matched' "$D/err" || fail "$where: $user: $STATUS $(<"$D/err")"
		done
		"${command[@]}" survey --user root -n 1 -i 100ms --no-drill >"$D/said" 2>"$D/err" || fail "$where: $(<"$D/err")"
	done
}

@test "what it cannot do is said: by doctor, and by the option" {
	"$TOOL" doctor >"$D/doctor" || :
	grep -q '^  note     static program, without  debuginfod: ' "$D/doctor" || fail "$(<"$D/doctor")"
	grep -q '^  note     static program, without  users of LDAP or systemd: ' "$D/doctor" || fail "$(<"$D/doctor")"
	"$TOOL" doctor -f json >"$D/doctor.json" || :
	[[ $(jq -c '.static_without | length' "$D/doctor.json") -eq 2 ]] || fail "$(<"$D/doctor.json")"
	[[ $("$USUAL" doctor -f json | jq 'has("static_without")') == false ]]
	! DEBUGINFOD_URLS=http://127.0.0.1:1 "$TOOL" -p 1 --debuginfod 2>"$D/err" || fail 'it was begun'
	[[ $(<"$D/err") == *'--debuginfod: this static program has no debuginfod; '* ]] || fail "$(<"$D/err")"
}
