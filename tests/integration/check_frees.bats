#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# --check-frees: each kind of bad free by its number, between frees that are right (tests/targets/bad_frees.cc).
# bats file_tags=beside

load lib.bash

# What each function does, as "kind function count allocated_by freed_by".
MISMATCHES='mismatch array_and_delete() 4 new[] delete
mismatch malloc_and_delete() 3 malloc delete
mismatch new_and_array_delete() 5 new delete[]
mismatch new_and_free() 2 new free'
OTHERS='double_free put_again(void*) 6
double_free put_moved(void*) 1
inside_block put_inside(char*) 7'

found() {
	jq -r '.bad_frees[] | [.kind, .free[1].function, .count] + (if .kind == "mismatch" then [.allocated_by, .freed_by] else [] end)
		| join(" ")' <<<"$SNAP" | sort
}

found_is() {
	[[ $(found) == "$1" ]] || fail "found $(found); expected $1"
}

# watched WHAT: the target is attached to while it waits, and then goes on.
watched() {
	start_target "$TARGETS/bad_frees" "$1" wait
	attach --check-frees
	echo go >&"$T_IN"
	tool_ends
	final
}

each_kind_attached() {
	T_ENV=(LD_PRELOAD="$TARGETS/noop_free.so")
	watched all
	found_is "$OTHERS
$MISMATCHES"
	# The block from before the attach, and the eight addresses of no block: nothing is known of them.
	holds '.unknown_frees == 9'
	# The stacks of all three calls.
	holds '.bad_frees[] | select(.kind == "double_free" and .count == 6)
		| any(.first_free[]; .function == "put(void*)") and any(.alloc[]; .function == "get(unsigned long)")
		and any(.free[]; .function == "put_again(void*)") and .size == 40'
	holds '.bad_frees[] | select(.kind == "inside_block") | .offset == 24 and .size == 64'
}

@test "every kind, exactly, in a process that runs already" {
	probe_modes
	each_mode each_kind_attached
}

@test "a command: addresses that were never allocated as well" {
	# The allocator is linked in, so that it is known before the program begins.
	g++ -O2 -g -w -fno-omit-frame-pointer "$ROOT/tests/targets/bad_frees.cc" -x none "$TARGETS/noop_free.so" \
		-Wl,-rpath,"$TARGETS" -o "$D/bad_frees"
	run_tool --check-frees -f json -o "$D/result" -- "$D/bad_frees" all
	[[ $STATUS -eq 0 ]] || fail "status $STATUS; $ERR"
	SNAP=$(jq -c 'select(.final and .comm == "bad_frees")' "$D/result")
	found_is "$OTHERS
$MISMATCHES
never_allocated put_static() 8"
}

@test "glibc ends the process at a double free: it is reported all the same" {
	watched abort
	found_is 'double_free put_again(void*) 1'
}

# Bytes of a loaded program of the tool, after the verifier has taken out what cannot run.
loaded_size() {
	awk '/^prog_id/ { print $2 }' "/proc/$TOOL_PID/fdinfo/"* 2>/dev/null | sort -u | while read -r id; do
		bpftool -j prog show id "$id"
	done | jq -r --arg name "$1" 'select(.name == $name).bytes_xlated'
}

@test "without --check-frees none of its programs is loaded" {
	local without with

	start_target "$TARGETS/bad_frees" none wait
	attach
	without=$(loaded_size free_enter)
	[[ -z $(loaded_size on_named) ]] || fail 'a probe for C++ operators'
	kill -INT "$TOOL_PID"
	tool_ends
	attach --check-frees
	with=$(loaded_size checked_free_enter)
	[[ -n $(loaded_size on_named) ]] || fail 'no probe for C++ operators'
	[[ $without -gt 0 && $((4 * without)) -lt $with ]] || fail "free_enter has $without bytes without, $with with it"
	echo go >&"$T_IN"
	tool_ends
}

@test "good frees are not reported; --error-exitcode and suppressions know bad frees" {
	watched none
	found_is ''
	holds '.unknown_frees == 1'
	for what in mismatch:77 none:0; do
		run_tool --check-frees --error-exitcode 77 -- "$TARGETS/bad_frees" "${what%:*}"
		[[ $STATUS -eq ${what#*:} ]] || fail "$what: status $STATUS; $ERR$OUT"
	done
	printf '{\n  all of them\n  Memcheck:Free\n  ...\n  fun:main\n}\n' >"$D/supp"
	run_tool --check-frees --error-exitcode 77 --suppressions "$D/supp" -- "$TARGETS/bad_frees" mismatch
	[[ $STATUS -eq 0 && $OUT == *'suppressed: 14 bad frees'* ]] || fail "status $STATUS; $OUT"
}

# A C library that no debug file belongs to: its inner functions have no names.
nameless_libc() {
	local id=$D/build-id

	own_libc
	objcopy --dump-section .note.gnu.build-id="$id" "$D/lib/libc.so.6"
	printf 'nobody' | dd of="$id" bs=1 seek=16 conv=notrunc status=none
	objcopy --update-section .note.gnu.build-id="$id" "$D/lib/libc.so.6"
}

@test "glibc's second free of a thread's cache is no bad free, with its symbols and without" {
	for library in own_libc nameless_libc; do
		clean
		fresh
		"$library"
		watched threads
		[[ $(jq '[.bad_frees[] | select(.suppressed == null)]' <<<"$SNAP") == '[]' ]] || fail "$library: $(field .bad_frees "$SNAP")"
		# Else this shows nothing.
		holds '[.bad_frees[] | select(.kind == "double_free") | .count] | add >= 3'
	done
	holds 'all(.bad_frees[]; .free[1].function == null)'
}

# own_new PROGRAM [HOW]: what is wrong is found where it can be told, and nothing else.
own_new() {
	run_tool --check-frees -f json -o "$D/result" -- "$@"
	[[ $STATUS -eq 0 ]] || fail "$*: status $STATUS; $ERR"
	SNAP=$(jq -c 'select(.final)' "$D/result")
	holds '[.bad_frees[] | [.kind, .allocated_by, .freed_by, .count]] == [["mismatch", "malloc", "delete", 3]]'
	holds '.bad_frees[0].free | any(.function == "malloc_and_delete()")'
	holds '[.lost[]] | add == 0'
}

@test "a program's own operators that keep books, and a failing new(nothrow), allocate without a mismatch" {
	fresh
	own_new "$TARGETS/own_new" before
	own_new "$TARGETS/own_new" behind
	own_new "$TARGETS/own_new.library"
}

@test "operators of a program's own that were inlined into their callers are seen in the stacks" {
	cat >"$D/inlined.cc" <<-'EOF2'
		#include <cstdio>
		#include <cstdlib>
		#include <new>
		#define CALLED	__attribute__((noinline, used))
		#define INLINED inline __attribute__((always_inline))
		#define SITE	__attribute__((noipa, used))
		#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
		#ifdef NEW_CALLED
		CALLED void *operator new(std::size_t size) { void *volatile block = std::malloc(size); return block; }
		INLINED void operator delete(void *block) noexcept { std::free(block); }
		INLINED void operator delete(void *block, std::size_t) noexcept { std::free(block); }
		#else
		INLINED void *operator new(std::size_t size) { return std::malloc(size); }
		CALLED void operator delete(void *block) noexcept { std::free(block); __asm__ volatile(""); }
		CALLED void operator delete(void *block, std::size_t) noexcept { std::free(block); __asm__ volatile(""); }
		#endif
		SITE void *make(std::size_t size) { void *volatile block = operator new(size); return block; }
		SITE void destroy(void *block) { operator delete(block); __asm__ volatile(""); }
		SITE void wrong(void *block)
		{
		#ifdef NEW_CALLED
			std::free(block);
			__asm__ volatile("");
		#else
			operator delete(block);
			__asm__ volatile("");
		#endif
		}
		int main()
		{
			for (int i = 0; i < 5; i++)
				destroy(make(40));
		#ifdef NEW_CALLED
			wrong(make(50));
		#else
			wrong(std::malloc(50));
		#endif
		}
	EOF2
	for how in NEW_CALLED DELETE_CALLED; do
		g++ -O2 -g -w "-D$how" "$D/inlined.cc" -o "$D/inlined"
		run_tool --check-frees -f json -o "$D/result" -- "$D/inlined"
		[[ $STATUS -eq 0 ]] || fail "$how: status $STATUS; $ERR"
		SNAP=$(jq -c 'select(.final)' "$D/result")
		# Else this shows nothing.
		holds '[.bad_frees[] | select(.suppressed != null) | .count] == [5]'
		# What is no operator's is found as before.
		holds '[.bad_frees[] | select(.suppressed == null) | [.kind, .count, (.free | any(.function | startswith("wrong")))]] == [["mismatch", 1, true]]'
		run_tool --check-frees --error-exitcode 77 -- "$D/inlined"
		[[ $STATUS -eq 77 ]] || fail "$how: status $STATUS"
	done
}
