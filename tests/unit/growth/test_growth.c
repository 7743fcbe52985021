// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * When growth beside live blocks is worth a line: figures of real programs on one side, of what only
 * looks like it on the other. And which mappings it is found in, with our own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/growth/growth_maps.h"
#include "user/growth/growth_rule.h"
#include "user/model/snapshot.h"

#define MIB (1ull << 20)

struct growth_case {
	const char *what;
	uint64_t live, blocks, ever, calls, sample, anon, files, elsewhere;
	bool matters;
};

static const struct growth_case growth_cases[] = {
	{"php: 150,000 strings", .anon = 13 * MIB, .elsewhere = 12 * MIB, .matters = true},
	{"python3: 150,000 small dicts", 1294401, 3, 11535363, 66, 0, 39907328, 0, 37 * MIB, true},
	{"the same after a long run", 1294401, 3, 9999999999, 66666, 0, 39907328, 0, 37 * MIB,
	 true},
	{"a small one", 1294401, 3, 1781539, 1211, 0, 7 * MIB, 2 * MIB, 3 * MIB, false},
	{"freed, and kept by the allocator", 0, 0, 83376496, 800000, 0, 80 * MIB, 0, 0, false},
	{"blocks of one byte", 500000, 500000, 500000, 500000, 0, 16 * MIB, 0, 0, false},
	{"live, in mappings of their own", 90 * MIB, 9, 90 * MIB, 9, 0, 91 * MIB, 0, 91 * MIB,
	 false},
	{"the loader's relocations", 100000, 10, 100000, 10, 0, 20 * MIB, 17 * MIB, 0, false},
	{"nothing sampled yet", .sample = 512 << 10, .anon = 5 * MIB, .elsewhere = 0},
	{"sampled, far too low", 30 * MIB, 300, 30 * MIB, 300, 4 * MIB, 70 * MIB, 0, 0, false},
	{"sampled, not even so", 30 * MIB, 300, 30 * MIB, 300, 64 << 10, 90 * MIB, 0, 0, true},
};

static const struct space_case {
	const char *what;
	uint64_t grown, resident, threads;
	bool matters;
} space_cases[] = {
	{"20 threads that ended, not joined", 160 * MIB, 3 * MIB, 0, true},
	{"a mapping that nobody touches", 64 * MIB, 0, 0, true},
	{"less than that", 63 * MIB, 0, 0, false},
	{"memory in use", 160 * MIB, 21 * MIB, 0, false},
	{"memory that came and went", 160 * MIB, 0, 0, true},
	{"four new threads, each with an arena", 288 * MIB, 1 * MIB, 4, false},
	{"four new threads, and 64 MiB more", 352 * MIB, 1 * MIB, 4, true},
};

static void space(void **state)
{
	const struct space_seen before = {500 * MIB, 30 * MIB, 7};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(space_cases); i++) {
		const struct space_case *c = &space_cases[i];
		const struct space_seen now = {before.size + c->grown,
					       before.resident + c->resident,
					       before.threads + c->threads};
		struct growth growth = {0};

		growth_of_space(&growth, &before, &now);
		if (growth.space != (c->matters ? c->grown : 0) ||
		    growth.space_resident != (c->matters ? c->resident : 0))
			fail_msg("%s: %llu, %llu", c->what, (unsigned long long)growth.space,
				 (unsigned long long)growth.space_resident);
	}
}

/* Fewer of each than before. */
static void space_shrinks(void **state)
{
	const struct space_seen before = {500 * MIB, 30 * MIB, 7};
	struct growth growth = {0};

	(void)state;
	growth_of_space(&growth, &before, &(struct space_seen){400 * MIB, 20 * MIB, 2});
	assert_int_equal(growth.space, 0);
	growth_of_space(&growth, &before, &(struct space_seen){600 * MIB, 20 * MIB, 2});
	assert_int_equal(growth.space, 100 * MIB);
	assert_int_equal(growth.space_resident, 0);
}

static void rule(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(growth_cases); i++) {
		const struct growth_case *c = &growth_cases[i];
		const struct snapshot s = {.live = {c->live, c->blocks},
					   .alloc = {c->ever, c->calls},
					   .sample_bytes = c->sample};
		const struct growth_seen seen = {c->anon, c->files, c->elsewhere};
		uint64_t beyond = growth_beyond_live(&s, &seen);

		if ((beyond != 0) != c->matters)
			fail_msg("%s: %llu", c->what, (unsigned long long)beyond);
		if (c->matters) {
			assert_int_equal(beyond, c->anon - c->live);
			assert_true(growth_is_suspect(&s, c->anon));
		}
	}
}

/* Touches every page. */
static char *growth_map(size_t size, int protection)
{
	char *p = mmap(NULL, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(p != MAP_FAILED);
	if (protection & PROT_WRITE)
		memset(p, 1, size);
	return p;
}

static void mappings(void **state)
{
	char *before = growth_map(8 * MIB, PROT_READ | PROT_WRITE), *reserved, *after, *untouched;
	uint64_t files, elsewhere;
	struct growth_maps *then;
	char *where = NULL;

	(void)state;
	/* Apart from the rest, so that the kernel does not make one mapping of two. */
	reserved = growth_map(16 * MIB, PROT_NONE);
	then = growth_maps_read(getpid());
	assert_non_null(then);
	memset(before, 2, 8 * MIB);
	after = growth_map(12 * MIB, PROT_READ | PROT_WRITE);
	assert_int_equal(mprotect(reserved + MIB, 6 * MIB, PROT_READ | PROT_WRITE), 0);
	memset(reserved + MIB, 1, 6 * MIB);
	untouched =
		mmap(NULL, 64 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(untouched != MAP_FAILED);
	assert_int_equal(growth_maps_look(then, getpid(), 20 * MIB, &files, &elsewhere, &where), 0);
	/* What malloc has taken meanwhile is a few pages. */
	assert_true(elsewhere >= 18 * MIB && elsewhere < 18 * MIB + MIB / 2);
	assert_true(files < MIB);
	assert_non_null(strstr(where, "MiB in new anonymous memory"));
	assert_non_null(strstr(where, "in memory that was mapped before the attach"));
	free(where);
	growth_maps_free(then);
	munmap(before, 8 * MIB);
	munmap(reserved, 16 * MIB);
	munmap(after, 12 * MIB);
	munmap(untouched, 64 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(space),
		cmocka_unit_test(space_shrinks),
		cmocka_unit_test(rule),
		cmocka_unit_test(mappings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
