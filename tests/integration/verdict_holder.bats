#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What holds a block: variables by their names, from symbol tables and separate debug files; without symbols by the address that nm had shown.

load lib.bash

# A program and a library of which each block is held by one variable, known by the function that allocates it.
build_holders() {
	cat >"$D/held.c" <<-'EOF'
		#include <stdlib.h>
		static void *volatile shelf[8];
		void *volatile rack[4];
		void in_shelf(void) { shelf[2] = malloc(1000); }
		void in_rack(void) { rack[0] = malloc(1000); }
	EOF
	cat >"$D/holders.c" <<-'EOF'
		#include <stdio.h>
		#include <stdlib.h>
		#include <unistd.h>
		static struct { long fill[2]; void *volatile entry; } cache;
		static void *volatile table[16] = {(void *)1};
		void in_shelf(void), in_rack(void);
		static void in_cache(void) { cache.entry = malloc(1000); }
		static void in_table(void) { table[3] = malloc(1000); }
		static void in_local(void) { static void *volatile kept[2]; kept[1] = malloc(1000); }
		int main(void)
		{
			char line[64];

			printf("ready %d\n", (int)getpid());
			fflush(stdout);
			fgets(line, sizeof(line), stdin);
			in_cache(), in_table(), in_local(), in_shelf(), in_rack();
			printf("{\"phase\":\"go\",\n");
			fflush(stdout);
			return !fgets(line, sizeof(line), stdin);
		}
	EOF
	gcc -g -O1 -fno-inline -shared -fPIC "$D/held.c" -o "$D/libheld.so"
	gcc -g -O1 -fno-inline "$D/holders.c" -o "$D/holders" -L"$D" -lheld -Wl,-rpath,"$D"
}

# holders_are EXPECTED: "function holder", a line each, sorted.
holders_are() {
	local held

	start_target "$D/holders"
	attach --verdict --max-pause 1m
	tell go
	snap
	held=$(jq -r '.stacks[] | select(.live.bytes == 1000) | "\(.frames[1].function // .frames[1].module) \(.held_by[0])"' <<<"$SNAP" | sort)
	[[ $held == "$1" ]] || fail "held by
$held
expected
$1"
	echo >&"$T_IN"
	tool_ends
	clean
}

NAMED='in_cache cache+0x10 (holders)
in_local kept+0x8 (holders)
in_rack rack (libheld.so)
in_shelf shelf+0x10 (libheld.so)
in_table table+0x18 (holders)'

@test "variables, static ones too, by their names" {
	build_holders
	holders_are "$NAMED"
}

@test "names from separate debug files" {
	local file

	build_holders
	for file in holders libheld.so; do
		objcopy --only-keep-debug "$D/$file" "$D/$file.debug"
		strip --strip-all "$D/$file"
		objcopy --add-gnu-debuglink="$D/$file.debug" "$D/$file"
	done
	holders_are "$NAMED"
}

@test "no symbols: the object and the address in it" {
	local cache kept table

	build_holders
	address() {
		nm "$D/holders" | awk -v name="$1" '$3 == name || index($3, name ".") == 1 { print $1; exit }'
	}
	cache=$(printf '0x%x' $((0x$(address cache) + 16)))
	kept=$(printf '0x%x' $((0x$(address kept) + 8)))
	table=$(printf '0x%x' $((0x$(address table) + 24)))
	strip --strip-all "$D/holders"
	holders_are "$(sort <<<"holders data of holders+$cache
holders data of holders+$kept
holders data of holders+$table
in_rack rack (libheld.so)
in_shelf shelf+0x10 (libheld.so)")"
}
