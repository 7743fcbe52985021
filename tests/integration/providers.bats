#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
# Where allocators come from: C libraries, static programs, preloaded ones, containers, deleted files.
# bats file_tags=beside

load lib.bash

portable() {
	start_target "$1"
	attach
	tell go
	snap
	same
	end_target
	tool_ends
	final
	same
}

@test "a static program with glibc is traced" {
	each_way portable "$TARGETS/leaf.static"
	each_mode portable "$TARGETS/calls.static"
	portable "$TARGETS/realloc.static"
}

@test "a static program with musl is traced, its stacks to their ends" {
	[[ -x $TARGETS/leaf.musl-static ]] || skip 'no musl-gcc'
	each_way portable "$TARGETS/leaf.musl-static"
	each_mode portable "$TARGETS/calls.musl-static"
	holds '.ends.no_rows.stacks == 0 and .ends.complete.stacks > 9'
	fresh
	portable "$TARGETS/realloc.musl-static"
}

@test "a program with musl is traced, its stacks to their ends" {
	[[ -x $TARGETS/leaf.musl ]] || skip 'no musl-gcc'
	each_way portable "$TARGETS/leaf.musl"
	each_mode portable "$TARGETS/calls.musl"
	holds '.ends.no_rows.stacks == 0 and .ends.complete.stacks > 9'
	fresh
	portable "$TARGETS/realloc.musl"
}

preloaded() {
	local target args targets=(leaf exceptions)

	[[ $MODE != "${MODES%% *}" ]] || targets+=(calls realloc)
	for target in "${targets[@]}"; do
		fresh
		T_ENV=("LD_PRELOAD=$1")
		args=()
		[[ $target != exceptions || $1 != *mimalloc* ]] || args=(quiet)
		start_target "$TARGETS/$target" "${args[@]}"
		attach
		tell go
		snap
		if [[ $target == exceptions ]]; then
			same freed any
			holds '[.stacks[].frames[0].function | startswith("operator new")] | any'
		else
			same
		fi
		end_target
		tool_ends
		clean
	done
}

# preload LIBRARY each_mode|each_way: that operator new's own malloc counts once has to do with how returns are seen; one library shows it.
preload() {
	local library=$LIBDIR/$1

	[[ -e $library ]] || skip "no $1"
	"$2" preloaded "$library"
}

@test "jemalloc by LD_PRELOAD, operator new included" {
	preload libjemalloc.so.2 each_mode
}

@test "tcmalloc by LD_PRELOAD, operator new included" {
	preload libtcmalloc_minimal.so.4 each_way
}

@test "mimalloc by LD_PRELOAD, operator new included" {
	preload libmimalloc.so.2 each_way
}

wrapped() {
	T_ENV=("LD_PRELOAD=$TARGETS/wrapper.so")
	start_target "$TARGETS/leaf"
	attach
	tell go
	tell free
	snap
	same
	# The wrapper's own calls of the C library's free are part of its free.
	holds '.unknown_frees == 0'
	end_target
	tool_ends
	clean
	fresh
	T_ENV=("LD_PRELOAD=$TARGETS/wrapper.so")
	start_target "$TARGETS/realloc"
	attach
	tell go
	snap
	same
}

@test "a malloc that wraps the C library's: each block counts once" {
	each_mode wrapped
}

preloaded_threads() {
	T_ENV=("LD_PRELOAD=$LIBDIR/$1")
	start_target "$TARGETS/threads" 1000
	attach
	tell go
	snap
	same
	tell free
	snap
	same
}

@test "preloaded allocators under 8 threads" {
	local library

	for library in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
		[[ -e $LIBDIR/$library ]] || skip "no $library"
		clean
		fresh
		preloaded_threads "$library"
	done
}

# copy_with_libraries PROGRAM DIR: the program as DIR/program, and what it needs, under DIR as under /.
copy_with_libraries() {
	local file

	cp "$1" "$2/program"
	while read -r file; do
		mkdir -p "$2/${file%/*}"
		cp -L "$file" "$2/$file"
	done < <(ldd "$1" | grep -o '/[^ ]*')
}

in_chroot() {
	mkdir "$D/root"
	copy_with_libraries "$TARGETS/leaf" "$D/root"
	start_target chroot "$D/root" /program
	attach
	tell go
	snap
	same
	holds '.stacks | map(.frames[1].file | endswith("leaf.c")) | all'
	end_target
	tool_ends
	final
	same
}

@test "a program in a chroot is traced in the C library of the chroot" {
	each_way in_chroot
}

@test "a mount namespace of its own, where the host has other files at the same paths" {
	mkdir "$D/root"
	copy_with_libraries "$TARGETS/leaf" "$D/root"
	# Hides the host's paths: /program exists only in there.
	start_target unshare -m chroot "$D/root" /program
	attach
	tell go
	snap
	same
}

deleted_program() {
	cp "$TARGETS/leaf" "$D/program"
	start_target "$D/program"
	rm "$D/program"
	attach
	tell go
	snap
	same
	end_target
	tool_ends
	final
	same
}

@test "a program whose file was deleted is traced" {
	each_way deleted_program
}

deleted_libc() {
	mkdir "$D/lib"
	cp -L "$LIBDIR/libc.so.6" "$D/lib/"
	T_ENV=("LD_LIBRARY_PATH=$D/lib")
	start_target "$TARGETS/leaf"
	grep -q "$D/lib/libc.so.6" "/proc/$T_PID/maps" || fail 'the copy is not in use'
	rm "$D/lib/libc.so.6"
	attach
	tell go
	snap
	same
}

@test "a C library that was deleted (upgraded) under the program" {
	each_way deleted_libc
}

@test "a C library that was replaced by another file under the same name" {
	mkdir "$D/lib"
	cp -L "$LIBDIR/libc.so.6" "$D/lib/"
	T_ENV=("LD_LIBRARY_PATH=$D/lib")
	start_target "$TARGETS/leaf"
	cp -L "$LIBDIR/libm.so.6" "$D/lib/new"
	mv "$D/lib/new" "$D/lib/libc.so.6"
	attach
	tell go
	snap
	same
}

# late_provider [FLOOD]: with it, the record of the new object is lost, and only other processes' records come after it.
late_provider() {
	start_target "$TARGETS/dl"
	attach --children none
	[[ -z ${1-} ]] || kill -STOP "$TOOL_PID"
	[[ -z ${1-} ]] || tell 'flood plugin_a'
	tell 'open plugin_provider'
	[[ -z ${1-} ]] || kill -CONT "$TOOL_PID"
	# What is allocated before the tool has seen the new object is not its business; from then on nothing may be missing.
	seen() {
		tell 'go plugin_provider'
		snap
		jq -e '[.stacks[] | select(any(.frames[]; .function == "late_leak"))] != []' <<<"$SNAP" >/dev/null
	}
	until_true "$DEADLINE" seen || fail 'the late provider is not traced'
	first=$SNAP
	tell 'go plugin_provider'
	snap
	change() {
		jq -n --argjson a "$1" --argjson b "$2" --arg g "$3" '
			def late: [.stacks[] | select(any(.frames[]; .function == "late_leak")) | .[$g].count] | add // 0;
			($b | late) - ($a | late)'
	}
	[[ $(change "$first" "$SNAP" alloc) -eq 12 ]] || fail 'allocations'
	[[ $(change "$first" "$SNAP" live) -eq 11 ]] || fail 'live blocks'
}

@test "an allocator that is loaded by dlopen when the tool is attached" {
	each_way late_provider
}

# Nothing between the two commands lets the tool see the new object first.
late_provider_at_once() {
	start_target "$TARGETS/dl"
	attach --children "$1"
	printf 'open plugin_provider\ngo plugin_provider\n' >&"$T_IN"
	truth 'open plugin_provider'
	truth 'go plugin_provider'
	snap
	late=$(field .lost.late_probes "$SNAP")
	printf '# %s: %d late\n' "$MODE" "$late" >&3
	[[ $late -gt 0 ]] || same any
}

@test "an allocator that is loaded by dlopen and used at once: from the first call on, or it is said" {
	each_mode late_provider_at_once late
	MODE='' late_provider_at_once exact
}

@test "an allocator that is loaded by dlopen while records of new mappings are lost" {
	MODE='' late_provider flood
}

@test "an allocator loaded by dlopen before the tool attaches" {
	start_target "$TARGETS/dl"
	tell 'open plugin_provider'
	attach
	tell 'go plugin_provider'
	snap
	same
}

@test "a static, stripped program is refused: no allocator was found" {
	cp "$TARGETS/noalloc" "$D/noalloc"
	run_target "$D/noalloc"
	target_line ready
	run_tool -p "$T_PID"
	refused 1 "$T_PID.*allocat"
	alive "$T_PID" || fail 'the target is gone'
}

@test "no allocator to be found: a static glibc program that is stripped" {
	strip -o "$D/stripped" "$TARGETS/leaf.static"
	start_target "$D/stripped"
	run_tool -p "$T_PID"
	refused 1 "$T_PID.*allocat"
	end_target
}

@test "a Go program without C code: -p, record and COMMAND say that it is one" {
	need go
	mkdir "$D/pure"
	cat >"$D/pure/main.go" <<-'END'
		package main

		import "os"

		func main() {
			println("ready", os.Getpid())
			os.Stdin.Read(make([]byte, 1))
		}
	END
	printf 'module pure\n' >"$D/pure/go.mod"
	# As small as people make them: without symbols.
	(cd "$D/pure" && env GOCACHE="$BUILD/go/cache" GOPATH="$BUILD/go" GOPROXY=off CGO_ENABLED=0 go build -ldflags='-s -w' -o pure .) || fail 'go build'
	"$D/pure/pure" 2>"$D/pure.out" <><(:) 3>&- &
	PIDS+=($!)
	until_true "$DEADLINE" grep -q ready "$D/pure.out" || fail 'it does not begin'
	go_is_said() {
		grep -q "a Go program without C code has a heap of Go's own" <<<"$ERR" || fail "$ERR"
		! grep -q stripped <<<"$ERR" || fail "$ERR"
	}
	run_tool -p "${PIDS[-1]}"
	[[ $STATUS -eq 1 ]] || fail "$STATUS"
	go_is_said
	run_tool record -p "${PIDS[-1]}" -o "$D/none.mlb"
	go_is_said
	run_tool -- "$D/pure/pure" </dev/null
	go_is_said
}

stripped_program() {
	strip -o "$D/stripped" "$TARGETS/leaf.static"
}

@test "a command without an allocator: a line says so, and --error-exitcode does not call it free of leaks" {
	stripped_program
	STATUS=0
	timeout "$DEADLINE" "$TOOL" -o "$D/report" --error-exitcode 9 -- "$D/stripped" < <(echo go; echo quit) >"$D/run.out" 2>"$D/run.err" || STATUS=$?
	[[ $STATUS -eq 1 ]] || fail "status $STATUS"
	[[ $(grep -c '(stripped).*no allocator' "$D/run.err") -eq 1 ]] || fail "$(<"$D/run.err")"
	! grep 'attached to' "$D/run.err" || fail 'attached to nothing'
	[[ ! -s $D/report ]] || fail "a report of what is not known: $(<"$D/report")"
}

exec_without_allocator() {
	stripped_program
	run_target "$BASH" -c "read -r _ < <(echo); echo ready; read -r _; exec '$D/stripped'"
	target_line ready
	attach
	echo go on >&"$T_IN"
	target_line 'ready '
	await_final
	tell go
	end_target
	tool_ends
	[[ $(grep -c "process $T_PID (stripped).*no allocator" "$D/tool.err") -eq 1 ]] || fail "$(<"$D/tool.err")"
	! grep "attached to $T_PID (stripped" "$D/tool.err" || fail 'attached to nothing'
	[[ $(printf '%s\n' "${SNAPS[@]}" | jq -s 'map(select(.comm == "stripped")) | length') -eq 0 ]] || fail 'a report of what is not known'
}

@test "a process that execs into a program without an allocator: a line says so" {
	each_way exec_without_allocator
}
