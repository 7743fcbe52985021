#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# What the tool says when something is not as the user thinks.

load lib.bash
load recording.bash

@test "a survey's filter that matches nothing: said at the first look, status 1 at the end" {
	run_tool survey --comm '^no-such-program$' --user 0 --no-drill -i 100ms -n 2
	[[ $STATUS -eq 1 ]] || fail "$STATUS $ERR"
	grep -q "no process matches --user 0 --comm ^no-such-program\\$" <<<"$ERR" || fail "$ERR"
	grep -q "no process has matched --user 0 --comm" <<<"$ERR" || fail "$ERR"
	start_target "$TARGETS/leaf"
	run_tool survey --comm '^leaf$' --no-drill -i 100ms -n 2
	[[ $STATUS -eq 0 && -z $ERR ]] || fail "$STATUS $ERR"
	end_target
}

@test "-n N -- COMMAND: a line says that the command runs on" {
	mkfifo "$D/never"
	run_tool -i 100ms -n 1 -- cat "$D/never"
	pid=$(sed -nE 's/.*-n 1 is reached: cat \(PID ([0-9]+)\) runs on, .*/\1/p' <<<"$ERR")
	[[ -n $pid ]] || fail "$ERR"
	PIDS+=("$pid")
	[[ $STATUS -eq 0 ]] || fail "$STATUS $ERR"
	kill -0 "$pid" || fail 'it does not run on'
	# One that has ended is no news.
	run_tool -i 10s -n 1 -- true
	! grep -q 'runs on' <<<"$ERR" || fail "$ERR"
}

# bats test_tags=quick
@test "a mistyped subcommand: the message names the likely one" {
	run_tool servey -i 1
	refused 2 'did you mean memleakbpf survey' || fail 'servey'
	run_tool recrod -p 1
	refused 2 'did you mean memleakbpf record' || fail 'recrod'
	# A program of such a name is run, and -- says that one is meant.
	mkdir "$D/bin"
	printf '#!/bin/sh\nexit 5\n' >"$D/bin/servey"
	chmod 755 "$D/bin/servey"
	PATH=$D/bin:$PATH run_tool servey
	[[ $STATUS -eq 5 ]] || fail "$STATUS $ERR"
	run_tool -- servey
	refused 127 'servey: command not found' || fail 'with --'
}

# bats test_tags=quick
@test "--help and --version that cannot be written: said, status 1" {
	for option in --help --version --help=options; do
		STATUS=0
		"$TOOL" "$option" >/dev/full 2>"$D/run.err" || STATUS=$?
		[[ $STATUS -eq 1 ]] || fail "$STATUS"
		grep -q 'cannot write to standard output: No space left' "$D/run.err" || fail "$option: $(<"$D/run.err")"
	done
}

# on_terminal ARGUMENT…: what the tool writes to one, in $D/terminal.
on_terminal() {
	python3 - "$TOOL" "$@" >"$D/terminal" 3>&- <<-'PY'
		import fcntl, os, pty, struct, sys, termios
		columns = int(os.environ.get("WIDE", "80"))
		pid, terminal = pty.fork()
		if pid == 0:
		    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
		    os.execv(sys.argv[1], sys.argv[1:])
		while True:
		    try:
		        text = os.read(terminal, 65536)
		    except OSError:
		        break
		    if not text:
		        break
		    os.write(1, text)
		os.waitpid(pid, 0)
	PY
}

# bats test_tags=quick
@test "TERM=dumb and NO_COLOR: no escapes" {
	cp "$ROOT/tests/golden/recording/shop.mlb" "$D/shop.mlb"
	TERM=xterm on_terminal report "$D/shop.mlb"
	grep -q $'\033' "$D/terminal" || fail 'no colour at all'
	TERM=dumb on_terminal report "$D/shop.mlb"
	! grep -q $'\033' "$D/terminal" || fail "$(cat -v "$D/terminal")"
	TERM=xterm NO_COLOR=1 on_terminal report "$D/shop.mlb"
	! grep -q $'\033' "$D/terminal" || fail "$(cat -v "$D/terminal")"
}

@test "--alloc-fn and --free-fn that name nothing: said, once" {
	start_target "$TARGETS/pool"
	run_tool -p "$T_PID" -i 100ms -n 3 -f json --alloc-fn my_pool_alloc:2 --alloc-fn nosuch:1 --free-fn nowhere:2
	[[ $STATUS -eq 0 ]] || fail "$STATUS $ERR"
	[[ $(grep -c 'warning: --alloc-fn nosuch:1: nothing that is mapped' <<<"$ERR") -eq 1 ]] || fail "$ERR"
	[[ $(grep -c 'warning: --free-fn nowhere:2: nothing that is mapped' <<<"$ERR") -eq 1 ]] || fail "$ERR"
	! grep -q 'pool_alloc' <<<"$ERR" || fail "$ERR"
	end_target
}

@test "record onto an existing file: that is FILE.old; a run that cannot begin leaves both" {
	start_target "$TARGETS/leaf"
	for n in 1 2 3; do
		run_tool record -p "$T_PID" -i 100ms -n "$n" -o "$D/rec"
		[[ $STATUS -eq 0 ]] || fail "$STATUS $ERR"
		[[ $(report_count "$D/rec") -eq $n ]] || fail "not $n: $(report_count "$D/rec")"
		[[ $n -eq 1 ]] || grep -q "kept as $D/rec.old" <<<"$ERR" || fail "$ERR"
	done
	[[ $(report_count "$D/rec.old") -eq 2 ]] || fail 'not the one before'
	# Neither is touched by what fails before its first snapshot.
	end_target
	run_tool record -p "$T_PID" -i 100ms -n 1 -o "$D/rec"
	[[ $STATUS -eq 1 ]] || fail "$STATUS $ERR"
	[[ $(report_count "$D/rec") -eq 3 && $(report_count "$D/rec.old") -eq 2 ]] || fail 'not put back'
	rm "$D/rec.old"
	run_tool record -p "$T_PID" -i 100ms -n 1 -o "$D/rec"
	[[ $STATUS -eq 1 && $(report_count "$D/rec") -eq 3 && ! -e $D/rec.old ]] || fail 'not put back without another one'
	# A link is followed: what it leads to is kept there.
	mkdir "$D/else"
	mv "$D/rec" "$D/else/there"
	ln -s else/there "$D/rec"
	start_target "$TARGETS/leaf"
	run_tool record -p "$T_PID" -i 100ms -n 1 -o "$D/rec"
	[[ $STATUS -eq 0 && -L $D/rec ]] || fail "$STATUS $ERR"
	[[ $(report_count "$D/else/there") -eq 1 && $(report_count "$D/else/there.old") -eq 3 ]] || fail 'the link'
	end_target
}

report_count() {
	"$TOOL" report "$1" -f json | wc -l
}

@test "pprof: -top has the callers, not malloc" {
	command -v go >/dev/null || skip 'no go'
	start_target "$TARGETS/leaf"
	tool_into "$D/file" -f pprof
	tell go
	tool_stops
	end_target
	pprof -top -flat -unit=B "$D/file" >"$D/top"
	grep -qE 'leak_1m' "$D/top" || fail "$(<"$D/top")"
	! grep -qE ' (malloc|calloc|realloc)$' "$D/top" || fail "$(<"$D/top")"
}

@test "pprof: plain -top names the C++ function that allocates, and not what is inlined into it" {
	need go
	need g++
	cat >"$D/leaky.cc" <<-'END'
		#include <cstdlib>
		#include <map>
		#include <string>
		#include <vector>
		struct session { std::string user; std::vector<char> buffer; session *before; };
		static session *last;
		static std::map<int, std::string> cache;
		__attribute__((noinline)) static void open_session(int i)
		{
			last = new session{"user-" + std::to_string(i), std::vector<char>(3000), last};
		}
		__attribute__((noinline)) static void cache_put(int i) { cache[i] = std::string(200, 'x'); }
		int main()
		{
			for (int i = 0; i < 1000; i++) {
				open_session(i);
				cache_put(i);
			}
			quick_exit(0);
		}
	END
	g++ -O2 -g "$D/leaky.cc" -o "$D/leaky"
	run_tool record -o "$D/leaky.mlb" -- "$D/leaky"
	"$TOOL" report "$D/leaky.mlb" -f pprof -o "$D/leaky.pb.gz"
	# As docs/formats.md has it, and with an option that is to leave names as they are.
	for option in '' -symbolize=none; do
		HOME=$D go tool pprof -top $option "$D/leaky.pb.gz" >"$D/top" 2>"$D/pprof.err" || fail "$(<"$D/pprof.err")"
		# flat, flat%, sum%, cum, cum%, name: below the head two functions have all there is.
		first=$(awk '/ flat% /{ on = 1; next } on && $1 != 0 { print $6 }' "$D/top" | head -2 | xargs)
		[[ $first == 'open_session(int) cache_put(int)' ]] ||
			fail "$(<"$D/top")"
	done
}

# fits WIDTH: no line on the terminal is wider.
fits() {
	local wide

	wide=$(sed -e 's/\r$//' -e $'s/\033\\[[0-9;]*[A-Za-z]//g' "$D/terminal" | LC_ALL=C.UTF-8 awk -v w="$1" 'length > w') ||
		fail awk
	[[ -z $wide ]] || fail "wider than $1: $wide"
}

# bats test_tags=quick
@test "on a terminal every line fits: report, --short, diff, the survey" {
	cp "$ROOT/tests/golden/recording/"*.mlb "$D/"
	for wide in 80 64 132; do
		for recording in shop notes; do
			WIDE=$wide on_terminal report "$D/$recording.mlb"
			fits $wide
			WIDE=$wide on_terminal report "$D/$recording.mlb" --short
			fits $wide
		done
		WIDE=$wide on_terminal diff "$D/shop.mlb" --from 1s --to 3s
		fits $wide
		WIDE=$wide on_terminal survey -i 100ms -n 2 --no-drill
		fits $wide
	done
	grep -q 'SEEN' "$D/terminal" || fail 'no whole table at 132'
}

@test "several processes: a table first; those without a change have their line only" {
	mkfifo "$D/never"
	cat "$D/never" 3>&- &
	first=$!
	PIDS+=("$first")
	until_true "$DEADLINE" grep -q '^cat$' "/proc/$first/comm" || fail 'no cat'
	start_target "$TARGETS/leaf"
	"$TOOL" -p "$first,$T_PID" -i 1h >"$D/text" 2>"$D/text.err" 3>&- &
	tool=$!
	PIDS+=("$tool")
	until_true "$DEADLINE" grep -q "attached to $T_PID" "$D/text.err" || fail "$(<"$D/text.err")"
	tell go
	for n in 1 2; do
		kill -USR1 "$tool"
		until_true "$DEADLINE" eval "[[ \$(grep -c 'MOST IN' '$D/text') -eq $n ]]" || fail "round $n: $(<"$D/text")"
	done
	# By then nothing has changed in any; at first in one of them.
	[[ $(grep -c '^=== ' "$D/text") -eq 1 ]] || fail "$(<"$D/text")"
	grep -q "^=== .* PID $T_PID " "$D/text" || fail "$(<"$D/text")"
	[[ $(grep -cE "^ *$first cat .* 0 +(-|no change) " "$D/text") -eq 2 ]] || fail "$(<"$D/text")"
	end_target
}

# named NAME: a program of that name that the tool can trace, waiting; STARTED.
named() {
	[[ -e $D/$1 ]] || cp "$TARGETS/leaf" "$D/$1"
	mkfifo "$D/in.$((++FIFOS))"
	"$D/$1" <"$D/in.$FIFOS" >/dev/null 2>&1 3>&- &
	STARTED=$!
	PIDS+=("$STARTED")
	exec {HOLD}>"$D/in.$FIFOS"
	# Until then it is a shell of that number.
	until_true "$DEADLINE" grep -qx "${1:0:15}" "/proc/$STARTED/comm" || fail "no $1"
}

@test "-p NAME: all processes of that name, now and later, and no others; none of that name: status 1" {
	local first later other name=chosen_$$

	run_tool -p "$name" -i 1h
	[[ $STATUS -eq 1 ]] || fail "$STATUS $ERR"
	grep -q "no process that can be traced matches -p $name" <<<"$ERR" || fail "$ERR"
	named "$name"
	first=$STARTED
	named "${name}x"
	other=$STARTED
	"$TOOL" -p "$name" -i 1h -f json >"$D/json.out" 2>"$D/tool.err" 3>&- &
	tool=$!
	PIDS+=("$tool")
	until_true "$DEADLINE" grep -q "attached to $first" "$D/tool.err" || fail "$(<"$D/tool.err")"
	named "$name"
	later=$STARTED
	until_true "$DEADLINE" grep -q "attached to $later" "$D/tool.err" || fail "$(<"$D/tool.err")"
	! grep -q "attached to $other" "$D/tool.err" || fail 'another name'
	# The end of all is not the end: others may come.
	kill -KILL "$first" "$later"
	until_true "$DEADLINE" eval "[[ \$(grep -c '\"final\":true' '$D/json.out') -eq 2 ]]" || fail 'no last snapshots'
	named "$name"
	until_true "$DEADLINE" grep -q "attached to $STARTED" "$D/tool.err" || fail "$(<"$D/tool.err")"
	kill -INT "$tool"
	STATUS=0
	wait "$tool" || STATUS=$?
	[[ $STATUS -eq 0 ]] || fail "$STATUS"
}

@test "--cgroup, --container and --unit choose what is watched, and go together with a name" {
	local group name

	group=$(sed -n 's/^0:://p' /proc/self/cgroup)
	[[ -n $group ]] || skip 'no control groups of version 2'
	name=grouped_$$
	named "$name"
	run_tool -p "$name" --cgroup "$group" -n 1 -i 100ms -f json
	[[ $STATUS -eq 0 && $(jq -s -c 'map(.pid)' <<<"$OUT") == "[$STARTED]" ]] || fail "$STATUS $OUT $ERR"
	for other in '--cgroup /no/such/group' '--container 0123456789ab' '--unit no-such-unit'; do
		# shellcheck disable=SC2086
		run_tool -p "$name" $other -n 1 -i 100ms
		[[ $STATUS -eq 1 ]] || fail "$other: $STATUS $ERR"
		grep -q -- "matches -p $name $other" <<<"$ERR" || fail "$ERR"
	done
	run_tool --unit no-such-unit -- true
	refused 2 '--unit: excludes running a COMMAND' || fail 'with a command'
}

@test "--duration: the tool ends by itself; a line says that a COMMAND runs on" {
	start_target "$TARGETS/leaf"
	run_tool -p "$T_PID" -i 1h --duration 300ms -f json
	[[ $STATUS -eq 0 ]] || fail "$STATUS $ERR"
	holds '.final and .elapsed_ms >= 290' "$OUT"
	end_target
	mkfifo "$D/never"
	run_tool --duration 200ms -- cat "$D/never"
	pid=$(sed -nE 's/.*--duration is reached: cat \(PID ([0-9]+)\) runs on, .*/\1/p' <<<"$ERR")
	[[ -n $pid ]] || fail "$ERR"
	PIDS+=("$pid")
}

# configured [NAME=VALUE…] -- OPTION…: as run_tool, with $D/etc in the place of /etc, for it alone.
configured() {
	local vars=()

	while [[ $1 != -- ]]; do
		vars+=("$1")
		shift
	done
	shift
	STATUS=0
	timeout -k 5 "$DEADLINE" env -u XDG_CONFIG_HOME HOME="$D/home" "${vars[@]}" unshare -m bash -c \
		'mount --bind "$1" /etc && shift && exec "$@"' - "$D/etc" "$TOOL" "$@" >"$D/run.out" 2>"$D/run.err" 3>&- || STATUS=$?
	OUT=$(<"$D/run.out")
	ERR=$(<"$D/run.err")
}

@test "defaults: /etc's, the user's over them, the command line over both; --no-config; a key that is none" {
	need unshare
	start_target "$TARGETS/leaf"
	tell go
	cp -a /etc "$D/etc"
	mkdir -p "$D/etc/memleakbpf" "$D/home/.config/memleakbpf" "$D/xdg/memleakbpf"
	printf '# ours\nformat = json\ninterval 100ms\ncount=1\nmin-growth = 5M # of the survey\n' >"$D/etc/memleakbpf/config"
	configured -- -p "$T_PID"
	[[ $STATUS -eq 0 ]] || fail "$STATUS $ERR"
	holds ".pid == $T_PID and .final" "$OUT"
	# The user's own, where HOME says and where XDG_CONFIG_HOME does; what it leaves out is /etc's.
	echo 'merge' >"$D/home/.config/memleakbpf/config"
	echo 'format = pprof' >"$D/xdg/memleakbpf/config"
	configured -- -p "$T_PID"
	holds ".merged or has(\"processes\") or .pids == [$T_PID]" "$OUT"
	configured XDG_CONFIG_HOME="$D/xdg" -- -p "$T_PID" -o "$D/heap.pb.gz"
	[[ $STATUS -eq 0 && $(head -c 2 "$D/heap.pb.gz" | od -An -tx1) == ' 1f 8b' ]] || fail "$STATUS $ERR"
	configured XDG_CONFIG_HOME="$D/xdg" -- -p "$T_PID" -f text
	[[ $STATUS -eq 0 && $OUT == *' since attach'* ]] || fail "$STATUS $OUT $ERR"
	configured XDG_CONFIG_HOME="$D/xdg" -- --no-config -p "$T_PID" -n 1 -i 100ms
	[[ $STATUS -eq 0 && $OUT == *' since attach'* ]] || fail "$STATUS $OUT $ERR"
	# What is wrong in them is said, with the place; and leaving them out helps.
	printf 'top = 3\ntopp = 3\n' >"$D/home/.config/memleakbpf/config"
	configured -- -p "$T_PID"
	refused 2 "$D/home/.config/memleakbpf/config:2: 'topp' is no option that can be set here; .* --no-config"
	echo 'top = many' >"$D/etc/memleakbpf/config"
	configured -- survey
	refused 2 "/etc/memleakbpf/config:1: top: 'many' is not a number of stacks"
	configured -- --no-config -p "$T_PID" -n 1 -i 100ms
	[[ $STATUS -eq 0 ]] || fail "$STATUS $ERR"
	# One that others may write to is not obeyed.
	chmod go+w "$D/etc/memleakbpf/config"
	rm "$D/home/.config/memleakbpf/config"
	configured -- -p "$T_PID" -n 1 -i 100ms
	[[ $STATUS -eq 0 && $ERR == *'/etc/memleakbpf/config: is not read: '* ]] || fail "$STATUS $ERR"
	end_target
}

@test "Rust: a row has the program's function, and not the library's that is inlined into it" {
	command -v rustc >/dev/null || PATH=$PATH:$HOME/.cargo/bin
	command -v rustc >/dev/null || skip 'no rustc'
	for mangling in legacy v0; do
		# A version that calls the older mangling unstable has v0 by itself, or takes it from its own name.
		rustc -O -g -C "symbol-mangling-version=$mangling" -o "$D/rust_names" "$ROOT/tests/integration/rust_names.rs" 2>"$D/rustc.err" ||
			rustc -O -g -o "$D/rust_names" "$ROOT/tests/integration/rust_names.rs" || fail "$(<"$D/rustc.err")"
		run_tool --short --by stack -- "$D/rust_names"
		[[ $STATUS -eq 0 ]] || fail "$STATUS $ERR"
		grep -qE '^#[0-9]+ +488\.3 KiB +500 .* <rust_names::Cache<..> as rust_names::Store>::put' <<<"$OUT" || fail "$OUT"
		grep -qE '^#[0-9]+ +150\.0 KiB +300 .* rust_names::main::.*closure' <<<"$OUT" || fail "$OUT"
		grep -qE '^#[0-9]+ +[0-9.]+ KiB +400 .* rust_names::main::.*closure' <<<"$OUT" || fail "$OUT"
		! grep -qE '^#.* (alloc|core|hashbrown|std)::|^#.* _(R|ZN)' <<<"$OUT" || fail "$OUT"
		# The bytes, the keys and the table of one line are one row.
		run_tool --short -- "$D/rust_names"
		(($(grep -cE '^#.* <rust_names::Cache<..> as rust_names::Store>::put' <<<"$OUT") == 1)) || fail "$OUT"
		grep -qE '^#1 .* 1,001 .* <rust_names::Cache<..> as rust_names::Store>::put +rust_names.rs:17 < rust_names::main' <<<"$OUT" || fail "$OUT"
	done
}

# bats test_tags=quick
@test "the words help, version and run work like the options" {
	for words in help 'help record' 'help inspect'; do
		# shellcheck disable=SC2086 # words
		run_tool $words
		[[ $STATUS -eq 0 && $OUT == *memleakbpf* ]] || fail "$words: $STATUS $OUT $ERR"
		[[ $OUT == "$("$TOOL" ${words#help} --help)" ]] || fail "$words: $OUT"
	done
	run_tool version
	[[ $STATUS -eq 0 && $OUT == "$("$TOOL" --version)" ]] || fail "$STATUS $OUT $ERR"
	run_tool run bash -c 'exit 6'
	[[ $STATUS -eq 6 ]] || fail "run: $STATUS $ERR"
	run_tool run -i 10s -- bash -c 'exit 6'
	[[ $STATUS -eq 6 ]] || fail "run --: $STATUS $ERR"
}

@test "inspect -p NAME and top NAME take the process of that name" {
	cp "$TARGETS/leaf" "$D/leaf-named"
	start_target "$D/leaf-named"
	run_tool inspect -p leaf-named -f json
	[[ $STATUS -eq 0 ]] || fail "$STATUS $ERR"
	[[ $(jq .pid <<<"$OUT") == "$T_PID" ]] || fail "$OUT"
	run_tool inspect -p no-such-name
	[[ $STATUS -eq 1 ]] || fail "$STATUS"
	grep -q 'no process matches -p no-such-name' <<<"$ERR" || fail "$ERR"
	# No screen is there to be had: but the word is no mistake any more.
	run_tool top no-such-name
	! grep -q 'takes no such argument' <<<"$ERR" || fail "$ERR"
	run_tool top leaf-named two
	refused 2 'takes no such argument' || fail "$ERR"
	end_target
}

@test "binary formats are refused on a terminal, and not in a pipe" {
	for format in pprof perfetto; do
		on_terminal report "$ROOT/tests/golden/recording/shop.mlb" -f "$format" || :
		grep -q "f $format is binary, and of no use on a terminal: give -o FILE" "$D/terminal" || fail "$(<"$D/terminal")"
		run_tool report "$ROOT/tests/golden/recording/shop.mlb" -f "$format" -o "$D/file"
		[[ $STATUS -eq 0 && -s $D/file ]] || fail "$STATUS $ERR"
	done
}

@test "diff of two programs says that they are two" {
	run_tool record -o "$D/one" -- true
	run_tool record -o "$D/two" -- bash -c :
	run_tool record -o "$D/three" -- bash -c :
	run_tool diff "$D/two" "$D/three"
	! grep -q 'two different programs' <<<"$OUT" || fail "$OUT"
	run_tool diff "$D/one" "$D/two"
	grep -q 'note   these are two different programs' <<<"$OUT" || fail "$OUT $ERR"
}
