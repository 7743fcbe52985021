#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Core files say what the process said: each target is inspected as it lives, then dumped by gcore and by the kernel, and what is said of these
# is compared. Who may read what, and files that are no cores, or no whole ones.
# bats file_tags=beside

load lib.bash

# What differs by what it is of, and by when.
# What several variables lead to depends on what is left over on the stacks, which go on until the core is written.
OWN='del(.ways[]?.alone, .ways[]?.shared) | del(.findings, .time, .time_ms, .total_ms, .pause_ms, .elapsed_ms, .tool_peak_bytes, .core, .final)'
# What is of blocks. gcore does not say which pages were touched, so that what is resident is another number.
BLOCKS='{verdict: (.verdict | del(.unknown_bytes)), groups, losses,
	allocators: [.allocators[] | {name, in_use, slack_bytes, free_bytes, cached_bytes, unbelieved_bytes}]}'
# Kernel and core agree about how much memory is the process's own, but for pages that it has written what was there before.
NEARLY=16384

dumps() {
	[[ $(</proc/sys/kernel/core_pattern) != [\|/]* ]] || skip "the kernel puts no core files into the directory of the process"
	need gcore
	ulimit -c unlimited
}

# A target in a directory of its own, where its core goes.
begin() {
	mkdir -p "$D/dump"
	cd "$D/dump" || fail "no $D/dump"
	start_target "$@"
	cd "$ROOT" || fail "no $ROOT"
}

# look WORD…: JSON of all there is. Nothing else in it, whatever the locale.
look() {
	patience inspect "$@"
	timeout "$DEADLINE" "$TOOL" inspect "${PATIENCE[@]}" "$@" -f json -T 1000000 2>"$D/tool.err" || fail "inspect $*: $(<"$D/tool.err")"
}

# by_kernel: CORE, of the target, which has ended.
by_kernel() {
	kill -SEGV "$T_PID"
	wait "$T_PID" || :
	CORE=("$D"/dump/core*)
	[[ -s ${CORE[0]} ]] || fail "no core in $D/dump"
}

near() {
	local was is

	was=$(jq "$1" "$2") is=$(jq "$1" "$3")
	((was - is <= NEARLY && is - was <= NEARLY)) || fail "$1: $was of the process, $is of its core"
}

# alike FILTER CORE: the core's JSON against that of the living process. The first sentences are another: a core has no shared memory, and no next step.
alike() {
	diff <(jq -S "$1" "$D/live.json") <(jq -S "$1" "$2") >"$D/differ" || fail "$2: $(head -50 "$D/differ")"
}

# The same of PROGRAM, once it has done COMMAND. It has a C library of its own: a breakpoint in that of the machine is a page of the process's, as long as
# somebody traces all processes.
same_of() {
	local env=("${T_ENV[@]}")

	own_libc
	T_ENV+=("${env[@]}")
	begin "${@:2}"
	[[ -z $1 ]] || tell "$1"
	look -p "$T_PID" --snapshot=stop >"$D/live.json"
	gcore -o "$D/gcore" "$T_PID" >"$D/gcore.log" 2>&1 || fail "$(<"$D/gcore.log")"
	by_kernel
	look "$D/gcore.$T_PID" >"$D/gcore.json"
	alike "$BLOCKS" "$D/gcore.json"
	look "${CORE[0]}" >"$D/kernel.json"
	alike "$BLOCKS" "$D/kernel.json"
	alike "$OWN | del(.memory.file_private_bytes, .memory.rss_anon_bytes, .memory.shmem_bytes, .memory.rest_bytes)" "$D/kernel.json"
	near .memory.rss_anon_bytes "$D/live.json" "$D/kernel.json"
	near .memory.file_private_bytes "$D/live.json" "$D/kernel.json"
	clean
}

# bats test_tags=quick
@test "a core says what its process said: lost blocks, chains, rings, freed memory" {
	dumps
	same_of all "$TARGETS/verdict_heap"
	(($(jq .verdict.definite.count "$D/kernel.json") > 0)) || fail "$(jq .verdict "$D/kernel.json")"
	# By debug information: from a variable on, thousands of nodes deep.
	(($(jq '[.groups[] | select(.kind == "type" and .name == "struct node") | .live.count][0]' "$D/kernel.json") > 1000)) ||
		fail "$(jq -c '.groups[]' "$D/kernel.json")"
}

@test "a core says what its process said: globals, TLS, threads, C++, libraries loaded later" {
	local program

	dumps
	for program in verdict_roots verdict_threads verdict_cxx verdict_dl; do
		fresh
		same_of all "$TARGETS/$program.nofp"
	done
}

@test "a core says what its process said: the other allocators" {
	local library

	dumps
	for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
		[[ -e $LIBDIR/$library ]] || skip "no $library"
		fresh
		T_ENV=("LD_PRELOAD=$LIBDIR/$library")
		same_of all "$TARGETS/verdict_threads"
	done
}

@test "a core says what its process said: musl, linked statically, at another place" {
	local program

	dumps
	for program in mixed.musl mixed.musl-static mixed.static leaf.static-pie; do
		[[ -x $TARGETS/$program ]] || continue
		fresh
		same_of '' "$TARGETS/$program"
	done
}

# What a Go program says of itself, static and stripped, is what is said of it, of its core, and of a recording.
@test "Go's own heap: of a process, of its core, recorded, and its profile as stacks" {
	local part value
	local go='.managed | del(.[].kinds[]?.growth_bytes_per_s, .[].threads[]?.growth_per_s)'

	need gcore
	[[ -x $TARGETS/heap_go ]] || skip 'no go to build with'
	run_target "$TARGETS/heap_go"
	target_line ready
	look -p "$T_PID" >"$D/live.json"
	jq -e '.managed | length == 1 and .[0].read and (.[0] | has("why") | not)' "$D/live.json" >"$D/is" || fail "$(jq -c .managed "$D/live.json" | head -c 2000)"
	for part in objects:alloc spans:inuse stacks:stack; do
		value=$(printf '%s\n' "${T_LINES[@]}" | awk -v name="${part#*:}" '$1 == name { print $2 }')
		[[ $(jq --arg name "${part%:*}" '.managed[0].parts[] | select(.name == $name).bytes' "$D/live.json") == "$value" ]] ||
			fail "$part: $value, not $(jq -c '.managed[0].parts' "$D/live.json")"
	done
	[[ $(jq '[.managed[0].threads[] | select(.own | not).count] | add' "$D/live.json") == 311 ]] || fail "$(jq -c '.managed[0].threads' "$D/live.json")"
	patience inspect -p "$T_PID"
	timeout "$DEADLINE" "$TOOL" inspect "${PATIENCE[@]}" -p "$T_PID" -o "$D/go.mlb" 2>"$D/tool.err" || fail "$(<"$D/tool.err")"
	timeout "$DEADLINE" "$TOOL" report "$D/go.mlb" -f json -T 1000000 2>"$D/tool.err" >"$D/recorded.json" || fail "$(<"$D/tool.err")"
	alike "$go" "$D/recorded.json"
	timeout "$DEADLINE" "$TOOL" report "$D/go.mlb" -f folded 2>"$D/tool.err" >"$D/folded" || fail "$(<"$D/tool.err")"
	grep -Eq '^heap_go;runtime\.goexit;runtime\.main;main\.main;main\.fill [0-9]+$' "$D/folded" || fail "$(<"$D/folded")"
	# It handles its signals itself: the kernel would write what it is after that.
	gcore -o "$D/gcore" "$T_PID" >"$D/gcore.log" 2>&1 || fail "$(<"$D/gcore.log")"
	look "$D/gcore.$T_PID" >"$D/gcore.json"
	alike "$go" "$D/gcore.json"
}

@test "a core of another root: --sysroot finds its files, and a line names those that are missing" {
	dumps
	begin "$TARGETS/verdict_cxx"
	tell all
	by_kernel
	look "${CORE[0]}" >"$D/here.json"
	[[ $(wc -l <"$D/tool.err") == 1 ]] || fail "$(<"$D/tool.err")"
	mkdir "$D/root"
	look "${CORE[0]}" --sysroot "$D/root" >"$D/nowhere.json"
	grep -q 'verdict_cxx: it is not here' "$D/tool.err" || fail "$(<"$D/tool.err")"
	mkdir -p "$D/root${TARGETS}"
	cp "$TARGETS/verdict_cxx" "$D/root$TARGETS"
	look "${CORE[0]}" --sysroot "$D/root" >"$D/root.json"
	! grep -q 'verdict_cxx: it is not here' "$D/tool.err" || fail "$(<"$D/tool.err")"
	# Another program by that name.
	cp "$TARGETS/verdict_heap" "$D/root$TARGETS/verdict_cxx"
	look "${CORE[0]}" --sysroot "$D/root" >/dev/null
	grep -q 'verdict_cxx: the file of that name here has another build id' "$D/tool.err" || fail "$(<"$D/tool.err")"
	# What is lost is found without the files.
	cmp <(jq -S .verdict "$D/here.json") <(jq -S .verdict "$D/nowhere.json") || fail 'other verdicts without the files'
}

@test "a cut core is inspected as far as it goes, and a line names the missing part" {
	local size status

	dumps
	begin "$TARGETS/verdict_heap"
	tell all
	gcore -o "$D/gcore" "$T_PID" >"$D/gcore.log" 2>&1 || fail "$(<"$D/gcore.log")"
	by_kernel
	size=$(stat -c %s "${CORE[0]}")
	truncate -s $((size - 65536)) "${CORE[0]}"
	look "${CORE[0]}" >"$D/cut.json"
	grep -q 'it is not whole: 6[0-9].0 KiB' "$D/tool.err" || fail "$(<"$D/tool.err")"
	(($(jq .verdict.unread_bytes "$D/cut.json") > 60000)) || fail "$(<"$D/cut.json")"
	# gcore's notes are behind the memory.
	truncate -s $((size / 2)) "$D/gcore.$T_PID"
	look "$D/gcore.$T_PID" >"$D/cut.json"
	[[ $(jq .verdict.no_registers "$D/cut.json") == true ]] || fail "$(<"$D/cut.json")"
	grep -q 'no registers of threads' "$D/tool.err" && grep -q 'which files were mapped' "$D/tool.err" || fail "$(<"$D/tool.err")"
	# Cut everywhere it is one or the other: a report, or a reason.
	for size in 1 63 64 100 1000 2000 4000 5000 9000 20000 70000; do
		truncate -s "$size" "${CORE[0]}"
		status=0
		timeout "$DEADLINE" "$TOOL" inspect "${CORE[0]}" -f json >"$D/cut.json" 2>"$D/tool.err" || status=$?
		case $status in
		0) jq -e .verdict "$D/cut.json" >/dev/null ;;
		1) grep -q 'not inspected: ' "$D/tool.err" ;;
		*) false ;;
		esac || fail "$size bytes: status $status: $(<"$D/tool.err")"
	done
}

# refused STATUS MESSAGE WORD…
refused() {
	local status=0

	timeout "$DEADLINE" "$TOOL" inspect "${@:3}" >"$D/out.txt" 2>"$D/tool.err" || status=$?
	((status == $1)) && grep -q "$2" "$D/tool.err" && [[ ! -s $D/out.txt ]] || fail "$*: status $status: $(<"$D/tool.err")"
}

# bats test_tags=quick
@test "a file that is no core is refused, with the reason" {
	refused 1 'a program or a library' "$TOOL"
	refused 1 'no regular file' /dev/null
	refused 1 'No such file' "$D/nothing"
	printf 'hello' >"$D/text"
	refused 1 'no core file' "$D/text"
	: >"$D/empty"
	refused 1 'it is empty' "$D/empty"
	gzip -c "$TOOL" >"$D/core.gz"
	refused 1 'packed by gzip; unpack it first (gzip -d)' "$D/core.gz"
	refused 2 'looks like a PID' 1234
	refused 2 'a core file beside -p' "$D/text" -p 1
	refused 2 'a core file stays as it is' "$D/text" -i 5
	refused 1 'sysroot' "$D/text" --sysroot "$D/nothing"
}

nobody() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$directory/tool" "$@"
}

# The file is another's: it is read by the caller's own rights.
@test "a core is inspected without any privilege" {
	local directory status=0

	dumps
	begin "$TARGETS/verdict_heap"
	tell all
	by_kernel
	# bats' own directories are for root alone.
	directory=$(mktemp -d)
	cp "$TOOL" "$directory/tool"
	mv "${CORE[0]}" "$directory/core"
	chmod 755 "$directory" "$directory/tool"
	nobody inspect "$directory/core" 2>"$D/tool.err" >/dev/null || status=$?
	((status == 1)) && grep -q 'Permission denied' "$D/tool.err" || fail "status $status: $(<"$D/tool.err")"
	chmod 644 "$directory/core"
	status=0
	nobody inspect "$directory/core" -f json >"$D/nobody.json" 2>"$D/tool.err" || status=$?
	rm -r "$directory"
	((status == 0)) || fail "$(<"$D/tool.err")"
	(($(jq .verdict.definite.count "$D/nobody.json") > 0)) || fail "$(<"$D/nobody.json")"
}
