#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Targets that mean harm: nothing that they say is believed, nothing of theirs is opened but regular files in their own root.

load lib.bash

teardown() {
	[[ -n ${BATS_TEST_COMPLETED-} ]] || dump
	clean
	restore_limit
}

# trap_watch … trap_result: in between nobody may open one of the files in TRAPS.
trap_watch() {
	mkfifo "$D/watch.in"
	"$HERE/watch-opens" "${TRAPS[@]}" <"$D/watch.in" >"$D/opens" 2>&1 3>&- &
	WATCHER=$!
	PIDS+=("$WATCHER")
	exec {W_IN}>"$D/watch.in"
	until_true "$DEADLINE" grep -q '^ready' "$D/opens" || fail "no watcher: $(<"$D/opens")"
}

trap_result() {
	exec {W_IN}>&-
	wait "$WATCHER"
	[[ $(<"$D/opens") == ready ]] || fail "opened: $(<"$D/opens")"
}

# copy_with_libraries PROGRAM ROOT
copy_with_libraries() {
	local file

	cp "$1" "$2/program"
	ldd "$1" | grep -o '/[^ ]*' | while read -r file; do
		mkdir -p "$2/${file%/*}"
		cp -L "$file" "$2/$file"
	done
}

build_id() {
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}

@test "the test's watcher of traps sees an open" {
	: >"$D/trap"
	TRAPS=("$D/trap")
	trap_watch
	cat "$D/trap"
	until_true "$DEADLINE" grep -q "$D/trap" "$D/opens" || fail 'not seen'
	exec {W_IN}>&-
}

@test "a root full of traps: FIFOs, devices and links out of it, wherever a library or debug file is looked for" {
	root=$D/root
	mkdir -p "$root/tmp" "$root/proc"
	copy_with_libraries "$TARGETS/leaf" "$root"
	objcopy --strip-debug --add-gnu-debuglink="$TARGETS/leaf" "$root/program"
	libc=$(cd "$root" && find . -name libc.so.6)
	libc_id=$(build_id "$root/$libc") program_id=$(build_id "$root/program")
	echo secret >"$D/secret"
	up=../../../../../../../../../../../..
	start_target unshare -m chroot "$root" /program
	# Now that it runs, everything by name becomes a trap; what is mapped stays what it is.
	rm "$root/program" "$root/$libc"
	mkfifo "$root/program" "$root/tmp/perf-$T_PID.map" "$root/leaf"
	ln -s "$up$D/secret" "$root/$libc"
	mkdir -p "$root/usr/lib/debug/.build-id/${libc_id:0:2}" "$root/usr/lib/debug/.build-id/${program_id:0:2}" "$root/.debug"
	mkfifo "$root/usr/lib/debug/.build-id/${program_id:0:2}/${program_id:2}.debug"
	# A device by the number of /dev/zero; nothing may open it.
	mknod "$root/usr/lib/debug/.build-id/${libc_id:0:2}/${libc_id:2}.debug" c 1 5 || skip 'no devices can be made here'
	ln -s "$up$D/secret" "$root/.debug/leaf"
	TRAPS=("$D/secret" "$root/program" "$root/leaf" "$root/tmp/perf-$T_PID.map" "$root/usr/lib/debug/.build-id/"??/*.debug)
	before=$(find "$root" -printf '%p %y %T@ %s\n' | sort)
	trap_watch
	attach
	tell go
	snap
	same
	stop_tool
	final
	same
	run_tool -p "$T_PID" -n 1 -i 100ms --verdict
	[[ $STATUS -eq 0 ]] || fail "status $STATUS: $ERR"
	trap_result
	[[ $(find "$root" -printf '%p %y %T@ %s\n' | sort) == "$before" ]] || fail 'something was written in the root of the target'
	end_target
}

@test "a perf map of another user, or by a link, is not read" {
	start_target "$TARGETS/leaf"
	map=/tmp/perf-$T_PID.map
	printf '0 7fffffffffff evil_name\n' >"$D/map"
	rm -f "$map" # of another process that had this number
	ln -s "$D/map" "$map"
	TRAPS=("$D/map")
	trap_watch
	attach
	tell go
	snap
	same
	stop_tool
	trap_result
	rm "$map"
	printf '0 7fffffffffff evil_name\n' >"$map"
	chown 65534 "$map"
	SNAPS=()
	rm "$D/json"
	mkfifo "$D/json"
	attach
	tell go
	snap
	rm "$map"
	[[ $SNAP != *evil_name* ]] || fail 'believed'
	end_target
}

# Names that would take over a terminal or a page, and one of 2 MiB.
evil_program() {
	python3 - >"$D/names" <<-'PY'
		print("leak_16 \x1b]0;owned\x07\x1b[31m<script>alert(1)</script>&\"'\x9b")
		print("leak_4k " + "A" * (2 << 20))
	PY
	objcopy --strip-debug --redefine-syms="$D/names" "$TARGETS/leaf" "$D/evil"
}

@test "names with terminal escapes, markup and of megabytes, in every format" {
	evil_program
	start_target "$D/evil"
	"$TOOL" record -p "$T_PID" -i 1h -o "$D/recording" >"$D/tool.out" 2>"$D/tool.err" 3>&- {T_IN}>&- {T_OUT}<&- &
	TOOL_PID=$!
	PIDS+=("$TOOL_PID")
	attached "$T_PID"
	tell go
	kill -TERM "$TOOL_PID"
	wait "$TOOL_PID"
	[[ $(stat -c %s "$D/recording") -lt 1000000 ]] || fail 'the recording holds the long name'
	for format in text json folded android perfetto pprof otlp html; do
		run_tool report "$D/recording" -f "$format" -o "$D/report"
		[[ $STATUS -eq 0 ]] || fail "$format: $ERR"
		# Binary formats hold these bytes as numbers, but not as what a terminal obeys.
		! grep -qaF -e $'\x1b]0;owned' -e $'\x1b[31m' "$D/report" || fail "$format: an escape got through"
		[[ $(stat -c %s "$D/report") -lt 4000000 ]] || fail "$format: $(stat -c %s "$D/report") bytes"
		case $format in
		json) jq -e . "$D/report" >/dev/null || fail 'no JSON' ;;
		html) ! grep -q '<script>alert' "$D/report" || fail 'markup got through' ;;
		esac
	done
	run_tool report "$D/recording" -f json
	SNAP=$OUT
	holds 'any(.stacks[].frames[].function // ""; contains("<script>alert(1)"))'
	holds 'any(.stacks[].frames[].function // ""; startswith("AAAA") and length < 4096)'
	end_target
}

@test "garbage for unwind tables and debug information: the numbers stay right" {
	cp "$TARGETS/leaf" "$D/program"
	for section in .eh_frame .debug_info .debug_line .debug_abbrev .debug_str .debug_rnglists; do
		size=$(readelf -SW "$D/program" | awk -v s="$section" '{ sub(/^ *\[ *[0-9]+\] /, "") } $1 == s { print $5 }')
		[[ -n $size ]] || continue
		head -c $((16#$size)) /dev/urandom >"$D/garbage"
		objcopy --update-section "$section=$D/garbage" "$D/program" 2>"$D/objcopy.err"
	done
	start_target "$D/program"
	attach
	tell go
	snap
	jq -e --argjson truth "$TRUTH" '.live.bytes == ([$truth.live[].bytes] | add) and .live.count == ([$truth.live[].count] | add)' \
		<<<"$SNAP" >/dev/null || fail 'wrong sums'
	end_target
	tool_ends
	[[ $TOOL_STATUS -eq 0 ]] || fail "status $TOOL_STATUS"
}

@test "a program file of 64 GiB costs the tool nothing" {
	cp "$TARGETS/leaf" "$D/program"
	truncate -s 64G "$D/program" || skip 'this file system has no sparse files of that size'
	start_target "$D/program"
	attach
	tell go
	snap
	same
	rss=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$TOOL_PID/status")
	at_most "$rss" 300000 || fail "$rss KiB"
	end_target
}

# bomb KIND MESSAGE: a program whose file says that of itself; what the tool takes for it, and all that it can know without.
bomb() {
	"$HERE/elf_bomb.py" "$1" "$TARGETS/leaf" "$D/bomb" || fail 'no bomb'
	chmod +x "$D/bomb"
	start_target "$D/bomb"
	attach
	tell go
	snap
	jq -e --argjson truth "$TRUTH" '.live.bytes == ([$truth.live[].bytes] | add) and .live.count == ([$truth.live[].count] | add)' \
		<<<"$SNAP" >/dev/null || fail "$1: wrong sums"
	holds 'any(.stacks[].frames[]; .function == "__libc_start_main" or .function == "__libc_start_call_main" or .function == "malloc" or .module == "bomb")'
	rss=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$TOOL_PID/status")
	printf '# %s: %d KiB resident at most\n' "$1" "$rss" >&3
	at_most "$rss" 200000 || fail "$1: $rss KiB"
	grep -q "bomb: $2" "$D/tool.err" || fail "$1: not said"
	[[ $(grep -c "bomb: ${2%%: *}" "$D/tool.err") -eq 1 ]] || fail "$1: said more than once"
	end_target
	tool_ends
	[[ $TOOL_STATUS -eq 0 ]] || fail "$1: status $TOOL_STATUS"
	SNAPS=()
	rm -f "$D/json" "$D/bomb"
	mkfifo "$D/json"
}

@test "sections that are holes of gigabytes: symbols, names, notes, unwind tables" {
	local hole='what would be read of it claims to be 19[0-9]* MiB, and the file holds [0-9]* KiB'

	bomb symtab "its symbols are left out: $hole"
	bomb dynsym "its symbols are left out: $hole"
	bomb strtab "its symbols are left out: $hole"
	bomb note "its symbols are left out: $hole"
	bomb debug_frame "its unwind tables are left out: $hole"
	bomb headless "its symbols are left out: $hole"
}

@test "sections that inflate to gigabytes: strings, lines, units, minidebuginfo" {
	bomb debug_str 'its debug information is left out: [0-9]* KiB of its debug sections claim to be 2097152 KiB'
	bomb debug_line 'its debug information is left out: [0-9]* KiB of its debug sections claim to be 46080 KiB'
	bomb debug_info 'its debug information is left out: [0-9]* KiB of its debug sections claim to be 737[0-9]* KiB'
	bomb debugdata 'its symbols are left out: its .gnu_debugdata of [0-9]* KiB inflates to more than [0-9]* KiB'
}

@test "debug information that is no larger than it says, and takes gigabytes to read" {
	[[ -z ${SANITIZE-} ]] || skip 'AddressSanitizer takes memory that is not there for an error'
	bomb abbreviations 'its debug information is left out: reading it .*[0-9]* MiB of memory'
}

@test "32 million section headers, attached to and started" {
	bomb sections 'nothing of this file is used, no symbols and no unwind tables: it claims to have 33554432 sections'
	"$HERE/elf_bomb.py" sections "$TARGETS/short" "$D/bomb"
	chmod +x "$D/bomb"
	timed started -f json -- "$D/bomb"
}

@test "a debug file of holes beside the program is left out, and the tool stays below 200 MB" {
	objcopy --only-keep-debug "$TARGETS/leaf" "$D/bomb.debug"
	objcopy --strip-all --add-gnu-debuglink="$D/bomb.debug" "$TARGETS/leaf" "$D/bomb"
	truncate -s 1900M "$D/bomb.debug"
	start_target "$D/bomb"
	attach
	tell go
	snap
	holds '.live.count > 0'
	rss=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$TOOL_PID/status")
	at_most "$rss" 200000 || fail "$rss KiB"
	grep -q 'a debug file is left out: it claims to be 1900 MiB' "$D/tool.err" || fail 'not said'
	end_target
}

@test "a process with as many mappings as the kernel gives (65,000; MAPS for more)" {
	start_target "$TARGETS/many"
	tell "maps ${MAPS:-65000}"
	count=$(wc -l <"/proc/$T_PID/maps")
	[[ $count -gt 60000 ]] || fail "only $count mappings"
	attach -T 10
	tell 'stacks 50'
	snap
	holds '.live == {"bytes": 1600, "count": 50}'
	rss=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$TOOL_PID/status")
	printf '# %d mappings, %d KiB resident at most\n' "$count" "$rss" >&3
	at_most "$rss" $((100000 + count / 2)) || fail "$rss KiB"
	end_target
}

# timed WHAT ARG…: the tool, to its end; what it took.
timed() {
	local what=$1 began=$EPOCHREALTIME

	shift
	STATUS=0
	python3 - "$D/rss" "$TOOL" "$@" >"$D/run.out" 2>"$D/run.err" 3>&- <<-'PY' || STATUS=$?
		import resource, subprocess, sys
		status = subprocess.call(sys.argv[2:])
		open(sys.argv[1], "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
		sys.exit(status)
	PY
	[[ $STATUS -eq 0 ]] || fail "$what: status $STATUS: $(<"$D/run.err")"
	RSS=$(<"$D/rss")
	at_most "$RSS" 600000 || fail "$what: $RSS KiB"
	printf '# %s: %d ms, %d KiB resident at most\n' "$what" "$(((${EPOCHREALTIME/./} - ${began/./}) / 1000))" "$RSS" >&3
}

restore_limit() {
	[[ ! -f $BATS_TEST_TMPDIR/max_map_count ]] || cat "$BATS_TEST_TMPDIR/max_map_count" >/proc/sys/vm/max_map_count
}

# bats test_tags=alone
@test "a million mappings, where vm.max_map_count can be raised" {
	cat /proc/sys/vm/max_map_count >"$BATS_TEST_TMPDIR/max_map_count"
	{ echo 1100000 >/proc/sys/vm/max_map_count; } 2>/dev/null || skip 'vm.max_map_count cannot be raised here'
	start_target "$TARGETS/many"
	tell 'maps 1000000'
	[[ $(field .maps "$TRUTH") -eq 1000000 ]] || fail "only $(field .maps "$TRUTH") mappings"
	timed trace -p "$T_PID" -n 1 -i 100ms
	timed survey survey -n 1 -i 100ms
	timed doctor doctor -p "$T_PID"
	# Looking through them takes longer than a process may be held still for.
	timed verdict -p "$T_PID" -n 1 -i 100ms -f json --verdict --max-pause 200ms
	holds .verdict.approximate "$(<"$D/run.out")"
	pause_ms=$(field .verdict.pause_ms "$(<"$D/run.out")")
	printf '# held still for %s ms\n' "$pause_ms" >&3
	holds '.verdict.pause_ms < 1500' "$(<"$D/run.out")"
	attach -T 10
	tell 'stacks 50'
	snap
	holds '.live == {"bytes": 1600, "count": 50}'
	end_target
}

@test "a file that is cut while it is mapped and read" {
	cp "$TARGETS/leaf" "$D/program"
	objcopy --only-keep-debug "$D/program" "$D/program.debug"
	objcopy --strip-debug --add-gnu-debuglink="$D/program.debug" "$D/program"
	start_target "$D/program"
	attach
	tell go
	truncate -s 4096 "$D/program.debug"
	snap
	same
	end_target
}
