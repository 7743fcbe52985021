// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is said of a process that was looked at. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "user/analysis/findings.h"
#include "user/base/util.h"

static struct inspected_group groups[] = {
	{.kind = GROUP_CLASS, .name = (char *)"shop::Session", .live = {6000, 100}},
	{.kind = GROUP_SIZE, .size = 64, .beginning = 7, .live = {4000, 60}},
};

static struct inspected_way ways[] = {
	{.up = SIZE_MAX, .name = (char *)"sessions (shop)", .retained = {7000, 80}},
	{.up = 0,
	 .name = (char *)"shop::Session",
	 .linked = true,
	 .own = {6000, 70},
	 .retained = {7000, 80}},
	{.up = SIZE_MAX, .name = (char *)"log (shop)", .retained = {900, 9}},
	{.up = 2, .name = (char *)"blocks of 64 B", .own = {900, 9}, .retained = {900, 9}},
};

static struct inspected_allocator allocators[] = {
	{.name = "glibc", .in_use = {10000, 160}, .free_resident = 40 << 20},
};

static struct inspection look(void)
{
	struct inspection i = {
		.pid = 12,
		.rss_anon = 50 << 20,
		.allocators = allocators,
		.allocator_count = 1,
		.groups = groups,
		.group_count = ARRAY_SIZE(groups),
		.ways = ways,
		.way_count = ARRAY_SIZE(ways),
	};

	i.parts[MEMORY_FREE] = 40 << 20;
	i.parts[MEMORY_ANONYMOUS] = 9 << 20;
	i.parts[MEMORY_IN_USE] = 10000;
	i.verdict.state = VERDICT_TAKEN;
	i.verdict.classes[VERDICT_REACHABLE] = (struct amount){10000, 160};
	return i;
}

static void expect(struct inspection *i, const char *expected)
{
	size_t len = 0;
	char *text = NULL;
	FILE *out = open_memstream(&text, &len);

	assert_non_null(out);
	assert_int_equal(findings_of_inspection(i), 0);
	for (size_t n = 0; n < i->findings->count; n++)
		fprintf(out, "%s: %s\n", finding_kind_name(i->findings->items[n].kind),
			i->findings->items[n].text);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
	findings_free(i->findings);
	i->findings = NULL;
}

#define HOLDS                                                                             \
	"holds: sessions (shop) holds 70.0 % of the heap, 6.8 KiB, most of it 70 linked " \
	"shop::Session\n"
#define FREE "free: 80.0 % of its memory, 40.0 MiB, is free, and kept by glibc: no leak\n"
#define MEMORY                                                                                \
	"memory: of its own memory, 50.0 MiB, 80.0 % is free, kept by the allocator, 18.0 % " \
	"mappings of no allocator that is known\n"

/* What is free has its own sentence. */
#define REST                                                                                      \
	"memory: of its own memory, 50.0 MiB, 18.0 % is mappings of no allocator that is known, " \
	"0.0 % in use"

static void nothing_lost(void **state)
{
	struct inspection i = look();

	(void)state;
	expect(&i, FREE HOLDS "clear: no block is lost of the 160 that are seen\n" REST "\n"
			      "next: next: memleakbpf inspect -p 12 -i 10 -n 2 tells what grows, "
			      "memleakbpf -p 12 which lines allocate it\n");
	i.core = (char *)"core";
	i.unknown_threads = 1;
	i.shmem = 2 << 20;
	expect(&i, FREE HOLDS
	       "clear: no block is lost of the 160 that are seen; but the registers of "
	       "some threads are not known\n" REST "; shared memory, 2.0 MiB, was not looked at\n");
	i.verdict.classes[VERDICT_POSSIBLE] = (struct amount){4096, 2};
	expect(&i, FREE
	       "holds: sessions (shop) holds 49.7 % of the heap, 6.8 KiB, most of it 70 linked "
	       "shop::Session\n"
	       "clear: no block is certainly lost of the 162 that are seen; only pointers into "
	       "their midst lead to 4.0 KiB; but the registers of some threads are not "
	       "known\n" REST "; shared memory, 2.0 MiB, was not looked at\n");
}

/* Who keeps it, and what gives it back, as far as that is known. */
static void free_memory(void **state)
{
	struct inspected_keeper keepers[] = {
		{.allocator = 0, .group = 1, .kept = 30 << 20, .blocks = 60},
		{.allocator = 0, .group = 0, .kept = 5 << 20, .blocks = 9}};
	struct inspected_help helps[] = {
		{.kind = HELP_ARENA_MAX, .bytes = 39 << 20},
		{.kind = HELP_MALLOC_TRIM, .bytes = 4 << 20, .exact = true},
	};
	struct inspection i = look();

	(void)state;
	i.traced = true;
	i.keepers = keepers;
	i.keeper_count = 2;
	i.helps = helps;
	i.help_count = 2;
	expect(&i, "free: 80.0 % of its memory, 40.0 MiB, is free, and kept by glibc: no leak; "
		   "malloc_trim(0) gives 4.0 MiB back\n" HOLDS REST "\n");
	allocators[0].kept_resident = 36 << 20;
	helps[1].exact = false;
	expect(&i, "free: 80.0 % of its memory, 40.0 MiB, is free, and kept by glibc: no leak; "
		   "60 blocks of 64 B keep most, 30.0 MiB; malloc_trim(0) gives at most 4.0 MiB "
		   "back\n" HOLDS REST "\n");
	allocators[0].kept_resident = 0;
}

static void what_is_lost(void **state)
{
	struct inspected_loss losses[] = {
		{.group = 1, .lost = {640, 10}},
		{.group = 0,
		 .lost = {60, 1},
		 .kept = {1280, 20},
		 .origin = {.function = (char *)"login"}},
	};
	struct inspection i = look();

	(void)state;
	i.core = (char *)"core";
	i.allocator_count = 0;
	i.losses = losses;
	i.loss_count = 1;
	expect(&i, "lost: nothing points to 10 blocks of 64 B any more, 640 B\n" HOLDS MEMORY);
	i.loss_count = 2;
	expect(&i,
	       "lost: nothing points to 1 shop::Session from login any more, 60 B, and 20 blocks "
	       "that hang on it, 1.2 KiB\n" HOLDS MEMORY);
	/* The report of the same moment says by line what is lost. */
	i.traced = true;
	expect(&i, HOLDS MEMORY);
}

static void what_grows(void **state)
{
	struct inspection i = look();

	(void)state;
	i.traced = true;
	i.allocator_count = 0;
	i.elapsed_ns = 10000000000;
	groups[1].growth_known = true;
	groups[1].growth_bytes_per_s = 100;
	expect(&i,
	       "growing: 60 blocks of 64 B, 3.9 KiB, grow by 100 B/s since the look before\n" HOLDS
		       MEMORY);
	/* A byte or two are no growth. */
	groups[1].growth_bytes_per_s = 1;
	expect(&i, HOLDS MEMORY);
	groups[1].growth_known = false;
}

/* Nothing is called clear of which nothing is seen. */
static void nothing_seen(void **state)
{
	struct inspection i = {.pid = 12, .core = (char *)"core"};

	(void)state;
	expect(&i,
	       "not_seen: none of its blocks are seen, for no allocator is known to it: of leaks "
	       "nothing can be said\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_lost), cmocka_unit_test(free_memory),
		cmocka_unit_test(what_is_lost), cmocka_unit_test(what_grows),
		cmocka_unit_test(nothing_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
