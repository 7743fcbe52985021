// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which free memory lies in a unit with something else: by hand, and against a map of each byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/heap/keeping.h"

#define PAGE  4096ull
#define START 0x100000ull
#define PAGES 16

/* All of it is in memory. */
static uint64_t look(void *ctx, uint64_t start, uint64_t end)
{
	(void)ctx;
	return end - start;
}

enum what { FREE, IN_USE, CACHED, UNKNOWN };

static void note(struct keeping *k, uint64_t start, uint64_t end, enum what what)
{
	const struct keeping_piece piece = {
		.start = start,
		.end = end,
		.in_use = what == IN_USE,
		.cached = what == CACHED,
		.unknown = what == UNKNOWN,
		.page = PAGE,
	};

	assert_int_equal(keeping_note(k, &piece, look, NULL), 0);
}

static void check(const struct keeping *k, size_t i, uint64_t start, uint64_t free_bytes)
{
	assert_true(i < k->count);
	assert_int_equal(k->units[i].start, start);
	assert_int_equal(k->units[i].free, free_bytes);
}

/* Pages that one free piece has all of are nobody's, and a block that only ends in a page is in it. */
static void pages(void **state)
{
	struct keeping k = {0};

	(void)state;
	note(&k, START, START + 100, IN_USE);
	note(&k, START + 100, START + 3 * PAGE + 8, FREE);
	note(&k, START + 3 * PAGE + 8, START + 5 * PAGE + 16, IN_USE);
	note(&k, START + 5 * PAGE + 16, START + 5 * PAGE + 32, CACHED);
	note(&k, START + 5 * PAGE + 32, START + 6 * PAGE, IN_USE);
	note(&k, START + 6 * PAGE, START + 8 * PAGE, FREE);
	keeping_finish(&k);
	assert_int_equal(k.count, 3);
	check(&k, 0, START, PAGE - 100);
	check(&k, 1, START + 3 * PAGE, 8);
	check(&k, 2, START + 5 * PAGE, 16);
	assert_false(k.units[1].reached);
	assert_true(k.units[2].reached);
	assert_true(k.units[2].cached);
	assert_false(k.units[0].cached);
	keeping_release(&k);
}

/* A slab is one, whatever pages it has; what lies behind it is told by pages again. */
static void slabs(void **state)
{
	struct keeping k = {0};

	(void)state;
	keeping_open(&k, START, START + 2 * PAGE);
	note(&k, START, START + 64, FREE);
	note(&k, START + 64, START + PAGE + 64, IN_USE);
	note(&k, START + PAGE + 64, START + 2 * PAGE, FREE);
	note(&k, START + 2 * PAGE, START + 2 * PAGE + 8, FREE);
	/* One without anything free is none. */
	keeping_open(&k, START + 4 * PAGE, START + 5 * PAGE);
	note(&k, START + 4 * PAGE, START + 5 * PAGE, IN_USE);
	keeping_finish(&k);
	assert_int_equal(k.count, 2);
	check(&k, 0, START, PAGE);
	assert_int_equal(k.units[0].bytes, 2 * PAGE);
	check(&k, 1, START + 2 * PAGE, 8);
	assert_false(k.units[1].reached);
	keeping_release(&k);
}

/* Out of order a page comes twice, and is one in the end; what is not believed is said of it. */
static void disorder(void **state)
{
	struct keeping k = {0};

	(void)state;
	note(&k, START + PAGE + 8, START + PAGE + 16, FREE);
	note(&k, START + 8, START + 24, FREE);
	note(&k, START + PAGE + 32, START + PAGE + 64, FREE);
	note(&k, START + 100, START + 200, UNKNOWN);
	keeping_finish(&k);
	assert_int_equal(k.count, 2);
	check(&k, 0, START, 16);
	assert_true(k.units[0].unknown);
	check(&k, 1, START + PAGE, 40);
	assert_false(k.units[1].unknown);
	keeping_release(&k);
}

/* What a page has that is free, if something else is in it: free and whose piece, byte by byte. */
static uint64_t naive(const uint8_t *what, const uint32_t *piece, size_t page, bool *reached)
{
	uint64_t bytes = 0;
	bool whole = true;
	const size_t first = page * PAGE;

	for (size_t i = first; i < first + PAGE; i++) {
		bytes += what[i] != IN_USE;
		whole = whole && piece[i] == piece[first];
	}
	*reached = first && piece[first] == piece[first - 1] && what[first] == IN_USE;
	return whole ? 0 : bytes;
}

static void random_pieces(void **state)
{
	static uint8_t what[PAGES * PAGE];
	static uint32_t piece[PAGES * PAGE];

	(void)state;
	for (unsigned seed = 1; seed <= 200; seed++) {
		struct keeping k = {0};
		size_t at = 0, unit = 0;

		srand(seed);
		for (uint32_t number = 1; at < sizeof(what); number++) {
			size_t len = 8 * (1 + (size_t)rand() % (rand() % 4 ? 100 : 2000));
			const enum what kind = (enum what)(rand() % 3);

			len = len < sizeof(what) - at ? len : sizeof(what) - at;
			memset(what + at, kind, len);
			for (size_t i = at; i < at + len; i++)
				piece[i] = number;
			note(&k, START + at, START + at + len, kind);
			at += len;
		}
		keeping_finish(&k);
		for (size_t page = 0; page < PAGES; page++) {
			bool reached;
			const uint64_t bytes = naive(what, piece, page, &reached);

			if (!bytes)
				continue;
			check(&k, unit, START + page * PAGE, bytes);
			assert_int_equal(k.units[unit].reached, reached);
			unit++;
		}
		assert_int_equal(unit, k.count);
		keeping_release(&k);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pages),
		cmocka_unit_test(slabs),
		cmocka_unit_test(disorder),
		cmocka_unit_test(random_pieces),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
