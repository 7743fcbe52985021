#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Suppressions on real stacks: what LeakSanitizer and Valgrind make of the same file on the same program is what we make of it.
# bats file_tags=beside

load lib.bash

# A program with three leaks, each of its own size, built plainly and for LeakSanitizer.
build_leaks() {
	cat >"$D/leaks.cc" <<-'EOF'
		#include <cstdlib>
		__attribute__((noipa)) static void drop(void *p) { __asm__ volatile("" : : "r"(p)); }
		namespace shop {
		struct Archive { __attribute__((noipa)) void keep(long n) { drop(new char[n]); } };
		}
		extern "C" __attribute__((noipa)) void plain_leak(void) { drop(malloc(1000)); }
		__attribute__((noipa)) void deeper(void) { plain_leak(); }
		__attribute__((noipa)) void scrub(void) { volatile char a[8192]; for (unsigned i = 0; i < sizeof(a); i++) a[i] = 0; }
		int main(void)
		{
			shop::Archive archive;

			archive.keep(100);
			plain_leak();
			deeper();
			scrub();
			free(malloc(1));
			return 0;
		}
	EOF
	g++ -g -O1 "$D/leaks.cc" -o "$D/leaks"
	g++ -g -O1 -fsanitize=leak "$D/leaks.cc" -o "$D/leaks.lsan"
}

record() {
	run_tool record -i 1h -o "$D/rec" -- "$D/leaks"
	[[ $STATUS -eq 0 ]] || fail "$ERR"
}

# left FILE: bytes that a report of the recording shows with these suppressions.
left() {
	run_tool report "$D/rec" --no-default-suppressions --suppressions "$1" -f json -T 1000
	[[ $STATUS -eq 0 ]] || fail "$ERR"
	jq -c '[.stacks[] | select(any(.frames[]; .function == "main")) | .live.bytes] | add // 0' <<<"$OUT"
}

@test "LeakSanitizer's patterns: the same as its own run time" {
	build_leaks
	record
	while read -r pattern; do
		printf 'leak:%s\n' "$pattern" >"$D/supp"
		theirs=$(LSAN_OPTIONS="suppressions=$D/supp:print_suppressions=0:fast_unwind_on_malloc=0" "$D/leaks.lsan" 2>&1 | sed -nE 's/^SUMMARY: LeakSanitizer: ([0-9]+) byte.*/\1/p')
		ours=$(left "$D/supp")
		[[ $ours == "${theirs:-0}" ]] || fail "leak:$pattern: LeakSanitizer leaves ${theirs:-0} bytes, we $ours"
	done <<-'EOF'
		nothing
		plain_leak
		^plain_leak$
		^plain$
		deeper
		Archive::keep
		shop*keep
		^shop::*keep(long)$
		keep$
		leaks.cc
		k$
		e*r()
		^main$
		*
	EOF
}

@test "LeakSanitizer takes the patterns that we generate" {
	local theirs

	build_leaks
	record
	run_tool report "$D/rec" --gen-suppressions=lsan -f json -T 1000
	jq -r '.stacks[] | select(any(.frames[]; .function == "main")).suppression' <<<"$OUT" >"$D/supp"
	[[ $(grep -c '^leak:' "$D/supp") -eq 3 ]] || fail "$(<"$D/supp")"
	[[ $(left "$D/supp") -eq 0 ]] || fail "we leave $(left "$D/supp") bytes: $(<"$D/supp")"
	LSAN_OPTIONS="suppressions=$D/supp:print_suppressions=1:fast_unwind_on_malloc=0" "$D/leaks.lsan" 2>"$D/lsan" || fail "it leaves $(<"$D/lsan")"
	theirs=$(awk '/^ *[0-9]+ +[0-9]+ +/ { sum += $2 } END { print sum }' "$D/lsan")
	[[ $theirs -eq 2100 ]] || fail "it suppresses $theirs bytes: $(<"$D/lsan")"
}

@test "Valgrind's suppressions: the same as its own, and those that it generates, and ours in its hands" {
	command -v valgrind >/dev/null || skip 'no valgrind'
	build_leaks
	record
	while read -r locations; do
		printf '{\n  test\n  Memcheck:Leak\n' >"$D/supp"
		tr ' ' '\n' <<<"$locations" >>"$D/supp"
		printf '}\n' >>"$D/supp"
		theirs=$(valgrind --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all --suppressions="$D/supp" "$D/leaks" 2>&1 |
			sed -nE 's/.*suppressed: ([0-9,]+) bytes.*/\1/p' | tr -d ,)
		ours=$((2100 - $(left "$D/supp")))
		[[ $ours == "$theirs" ]] || fail "$locations: Valgrind suppresses $theirs bytes, we $ours"
	done <<-'EOF'
		fun:malloc fun:plain_leak
		fun:malloc fun:plain_leak fun:main
		fun:_Znam
		fun:_Zna? fun:_ZN4shop7Archive4keepEl
		... fun:main
		fun:malloc ... fun:_Z6deeper*
		fun:malloc obj:*/leaks
		fun:plain_leak
		fun:malloc fun:*leak fun:_Z6deeperv fun:main
	EOF
	valgrind --leak-check=full --show-leak-kinds=all --gen-suppressions=all "$D/leaks" 2>&1 | sed -n '/^{/,/^}/p' >"$D/supp"
	[[ $(left "$D/supp") -eq 0 ]] || fail "Valgrind's own suppressions leave $(left "$D/supp")"
	run_tool report "$D/rec" --gen-suppressions -f json -T 1000
	jq -r '.stacks[].suppression' <<<"$OUT" | sed '/fun:__libc_start_call_main/,/fun:_start/d' >"$D/supp"
	[[ $(left "$D/supp") -eq 0 ]] || fail "our own suppressions leave $(left "$D/supp")"
	theirs=$(valgrind --leak-check=full --show-leak-kinds=all --errors-for-leak-kinds=all --suppressions="$D/supp" "$D/leaks" 2>&1 |
		sed -nE 's/.*suppressed: ([0-9,]+) bytes.*/\1/p')
	[[ $theirs == 2,100 ]] || fail "with ours Valgrind suppresses $theirs bytes"
}

@test "nothing is dropped from the totals, unused ones are told, errors name file and line" {
	build_leaks
	record
	printf 'leak:deeper\nleak:never\n' >"$D/supp"
	run_tool report "$D/rec" --suppressions "$D/supp" -v
	[[ $OUT == *'1000 B in 1 block of 1 stack: deeper  ('"$D/supp:1)"* ]] || fail "$OUT"
	[[ $ERR == *"$D/supp:2: suppression 'never' was not used"* ]] || fail "$ERR"
	run_tool report "$D/rec" --suppressions "$D/supp" -f json
	holds '.live.bytes >= 2100 and .suppressed.bytes >= 1000' "$OUT"
	run_tool diff "$D/rec" "$D/rec" --suppressions "$D/supp" -f json
	holds '.new.suppressed.bytes >= 1000' "$OUT"
	printf 'leak:deeper\nrace:x\n' >"$D/supp"
	run_tool report "$D/rec" --suppressions "$D/supp"
	refused 1 "$D/supp:2: expected leak:PATTERN"
	run_tool report "$D/rec" --suppressions "$D/none"
	refused 1 'cannot open the suppressions'
}

@test "what glibc and libstdc++ hold by design is no leak; with --no-default-suppressions it is" {
	printf '#include <cstdio>\n#include <iostream>\nint main() { puts("a"); std::cout << "b" << std::endl; }\n' >"$D/clean.cc"
	g++ -O1 "$D/clean.cc" -o "$D/clean"
	run_tool --error-exitcode 77 -o "$D/result" -- "$D/clean"
	[[ $STATUS -eq 0 ]] || fail "status $STATUS; $(<"$D/result")"
	run_tool --error-exitcode 77 --no-default-suppressions -o "$D/result" -- "$D/clean"
	[[ $STATUS -eq 77 ]] || fail "status $STATUS"
}
