#!/usr/bin/env bats
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Memory that comes through no traced function: where nothing was seen there is no all-clear. What an allocator keeps of freed blocks is seen.

load lib.bash

# "pool N": N MiB of mappings of its own, which it cuts up itself. "kept N": N MiB of small blocks, all freed but the last, so that malloc keeps them. "arena N": the
# same by another thread. "blocks N": N MiB of live blocks.
build_grower() {
	cat >"$D/grower.c" <<-'EOF'
		#include <pthread.h>
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		#include <sys/mman.h>
		#include <unistd.h>
		static void *volatile last;
		static void *keep(void *mib)
		{
			size_t n = (size_t)mib * 1024;
			char **v = malloc(n * sizeof(*v));

			for (size_t i = 0; i < n; i++)
				v[i] = memset(malloc(1000), 1, 1000);
			last = malloc(1000);
			for (size_t i = 0; i < n; i++)
				free(v[i]);
			free(v);
			return NULL;
		}
		static void obey(const char *what, size_t mib)
		{
			pthread_t thread;

			if (!strcmp(what, "pool"))
				memset(mmap(NULL, mib << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, mib << 20);
			else if (!strcmp(what, "kept"))
				keep((void *)mib);
			else if (!strcmp(what, "arena") && !pthread_create(&thread, NULL, keep, (void *)mib))
				pthread_join(thread, NULL);
			else if (!strcmp(what, "blocks"))
				for (size_t i = 0; i < mib * 16; i++)
					last = memset(malloc(65536), 1, 65536);
		}
		int main(int argc, char **argv)
		{
			char line[64], what[16];
			size_t mib;

			setvbuf(stdout, NULL, _IOLBF, 0);
			if (argc > 2) {
				obey(argv[1], atoi(argv[2]));
				_exit(0);
			}
			printf("ready %d\n", (int)getpid());
			while (fgets(line, sizeof(line), stdin) && sscanf(line, "%15s %zu", what, &mib) == 2) {
				obey(what, mib);
				printf("{\"phase\":\"%s %zu\",\n", what, mib);
			}
			return 0;
		}
	EOF
	gcc -g -O1 -pthread "$D/grower.c" -o "$D/grower"
}

# grown LEAST MOST: what the snapshot says of it, in MiB; 0 0: nothing.
grown() {
	local mib

	mib=$(jq '(.untraced_growth_bytes // 0) / 1048576 | floor' <<<"$SNAP")
	[[ $mib -ge $1 && $mib -le $2 ]] || fail "untraced growth of $mib MiB, not $1 to $2: $(jq -c 'del(.stacks)' <<<"$SNAP")"
}

@test "mappings of its own are growth beside the live blocks" {
	build_grower
	start_target "$D/grower"
	attach
	snap
	grown 0 0
	tell 'pool 32'
	snap
	grown 32 33
	[[ $(field '.grown_mappings[0]' "$SNAP") == '32.'*' MiB in new anonymous memory'* ]] || fail "$(field '.grown_mappings' "$SNAP")"
	tell 'blocks 8'
	snap
	grown 32 33
}

@test "what malloc keeps of freed blocks, and live ones, are no growth beside them" {
	build_grower
	start_target "$D/grower"
	attach
	tell 'blocks 40'
	tell 'kept 40'
	tell 'arena 40'
	snap
	[[ $(field '.live.bytes > 40 * 1048576' "$SNAP") == true ]] || fail 'blocks are missing'
	# It is there, and would be called untraced if only live blocks were looked at.
	[[ $(awk '/^RssAnon/ { print int($2 / 1024) }' "/proc/$T_PID/status") -ge 110 ]] || fail 'malloc has kept nothing'
	grown 0 0
	# All that was ever allocated is more than that by now: what tells is that malloc leaves nothing there.
	tell 'pool 96'
	snap
	grown 170 190
	[[ $(field '.grown_mappings | map(select(test("new anonymous memory|\\[heap\\]|arenas"))) | length' "$SNAP") == 3 ]] ||
		fail "$(field '.grown_mappings' "$SNAP")"
}

@test "with --mmap the mappings are blocks" {
	build_grower
	start_target "$D/grower"
	attach --mmap
	tell 'pool 32'
	snap
	grown 0 0
	[[ $(field '.live.bytes' "$SNAP") == 33554432 ]] || fail "live: $(field .live "$SNAP")"
}

@test "in the report of a recording, too" {
	build_grower
	"$TOOL" record -i 1h -o "$D/grown.mlb" --verdict --max-pause 1m -- "$D/grower" pool 24 2>"$D/tool.err"
	"$TOOL" report "$D/grown.mlb" >"$D/report"
	grep -q '^no live allocations since attach$' "$D/report" || fail "$(<"$D/report")"
	grep -Eq '^grew   24\.[0-9] MiB since attach, 24\.[0-9] MiB of it no live blocks' "$D/report" || fail "$(<"$D/report")"
	grep -Eq '^       24\.[0-9] MiB in new anonymous memory' "$D/report" || fail "$(<"$D/report")"
	SNAP=$("$TOOL" report -f json "$D/grown.mlb" | tail -n 1)
	grown 24 25
}

@test "--error-exitcode: no leak was found, and it is said of what" {
	build_grower
	"$TOOL" -i 1h --verdict --max-pause 1m --error-exitcode 7 -- "$D/grower" pool 24 >"$D/report" 2>"$D/tool.err" || fail "status $?"
	grep -q 'no leak was found in what is traced, but more memory' "$D/tool.err" || fail 'nothing is said of the rest'
	"$TOOL" -i 1h --verdict --max-pause 1m --error-exitcode 7 -- "$D/grower" pool 1 >"$D/report" 2>"$D/tool.err" || fail "status $?"
	! grep -q 'no leak was found' "$D/tool.err" || fail 'a few pages are made much of'
}

@test "of a process that has ended, where the kernel tells" {
	build_grower
	[[ $(uname -r | awk -F. '{ print $1 * 1000 + $2 }') -ge 6016 ]] || skip 'the kernel has given its memory back by then'
	"$TOOL" -i 1h -f json -- "$D/grower" pool 24 >"$D/report" 2>"$D/tool.err"
	SNAP=$(tail -n 1 "$D/report")
	grown 24 25
}
