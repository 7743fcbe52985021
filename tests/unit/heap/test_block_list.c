// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Blocks in few bytes: each is what was added, in order, whatever it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "user/heap/block_list.h"

#define MANY 100000
#define RUN  (MANY / 4)
#define HEAP 0x555555700000ull

static int by_place(const void *a, const void *b)
{
	return block_place_order(a, b);
}

static void expect(const struct block_list *list, const struct block_place *places, size_t count)
{
	assert_int_equal(list->count, count);
	for (size_t i = 0; i < count; i++) {
		const struct block_place place = block_list_at(list, i);

		assert_int_equal(place.address, places[i].address);
		assert_int_equal(place.size, places[i].size);
		assert_int_equal(block_list_address(list, i), places[i].address);
	}
}

/* As they were added, and then in order. */
static void check(struct block_place *places, size_t count)
{
	struct block_list list = {0};

	for (size_t i = 0; i < count; i++)
		assert_int_equal(block_list_add(&list, places[i].address, places[i].size), 0);
	expect(&list, places, count);
	assert_int_equal(block_list_sort(&list), 0);
	qsort(places, count, sizeof(*places), by_place);
	expect(&list, places, count);
	assert_int_equal(block_list_sort(&list), 0);
	expect(&list, places, count);
	block_list_free(&list);
}

/* What allocators have most of takes 4.5 bytes. */
static void small(void **state)
{
	struct block_list list = {0};

	(void)state;
	for (uint64_t i = 0; i < MANY; i++)
		assert_int_equal(block_list_add(&list, HEAP + 32 * i, 24), 0);
	assert_int_equal(list.wide_count, 0);
	assert_int_equal(sizeof(struct block_chunk), BLOCK_CHUNK * 9 / 2);
	assert_false(list.unordered);
	for (uint64_t i = 0; i < MANY; i++)
		assert_int_equal(block_list_address(&list, i), HEAP + 32 * i);
	block_list_free(&list);
}

/* One that does not fit, in each place of a chunk: too far, too large, crooked, before the chunk's first. */
static void odd_ones(void **state)
{
	static const struct block_place odd[] = {
		{HEAP + (1 << 20), 24},
		{HEAP + 4096, UINT16_MAX + 1},
		{HEAP + 4096 + 3, 1},
		{HEAP - 8, 24},
		{UINT64_MAX, 0},
		{0, UINT64_MAX},
		{HEAP, 24},
		{HEAP, 0},
	};
	struct block_place places[3 * BLOCK_CHUNK];

	(void)state;
	for (size_t kind = 0; kind < sizeof(odd) / sizeof(*odd); kind++) {
		for (size_t at = 0; at < 3 * BLOCK_CHUNK; at++) {
			for (uint64_t i = 0; i < 3 * BLOCK_CHUNK; i++)
				places[i] = i == at ? odd[kind]
						    : (struct block_place){HEAP + 32 * i, 24};
			check(places, 3 * BLOCK_CHUNK);
		}
	}
}

static void any_order(void **state)
{
	struct block_place *places = calloc(MANY, sizeof(*places));

	(void)state;
	assert_non_null(places);
	srandom(7);
	check(places, 0);
	check(places, 1);
	for (uint64_t i = 0; i < MANY; i++)
		places[i] = (struct block_place){HEAP + 16 * (MANY - i), 16};
	check(places, MANY);
	/* Runs in each other: an interpreter's arenas in the heap of the C library. */
	for (uint64_t i = 0; i < MANY; i++)
		places[i] = (struct block_place){HEAP + i % RUN * 1024 + i / RUN * 256, 48};
	check(places, MANY);
	for (uint64_t i = 0; i < MANY; i++)
		places[i] = (struct block_place){(uint64_t)random() << (random() % 30),
						 (uint64_t)random() >> (random() % 31)};
	check(places, MANY);
	free(places);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small),
		cmocka_unit_test(odd_ones),
		cmocka_unit_test(any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
