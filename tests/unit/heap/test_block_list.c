// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Blocks in few bytes: each is what was added, in order, whatever it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/seed.h"
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

/* Bytes that the list has for them, without what it has room for. */
static size_t bytes_of(const struct block_list *list)
{
	return (list->count + BLOCK_CHUNK - 1) / BLOCK_CHUNK * sizeof(*list->chunks) +
	       list->near_count * sizeof(*list->near) + list->wide_count * sizeof(*list->wide);
}

static void takes(double bytes, uint64_t step, uint64_t size, uint64_t other_size)
{
	struct block_list list = {0};

	for (uint64_t i = 0; i < MANY; i++)
		assert_int_equal(block_list_add(&list, HEAP + step * i, i % 2 ? other_size : size),
				 0);
	assert_true((double)bytes_of(&list) <= MANY * bytes);
	assert_false(list.unordered);
	for (uint64_t i = 0; i < MANY; i++) {
		assert_int_equal(block_list_address(&list, i), HEAP + step * i);
		assert_int_equal(block_list_at(&list, i).size, i % 2 ? other_size : size);
	}
	block_list_free(&list);
}

static void bytes_of_a_block(void **state)
{
	(void)state;
	takes(.5, 16, 16, 16);
	takes(.5, 32, 24, 24);
	takes(.5, 1 << 30, 1 << 29, 1 << 29);
	takes(4.5, 48, 24, 40);
	takes(16.5, 1 << 20, 24, 40);
	takes(16.5, 12, 12, 12);
}

/*
 * One that does not fit, in each place of a chunk: too far, too large, crooked, before the chunk's first, of another
 * size, in another's place. In chunks of all alike, and of small ones that differ.
 */
static void odd_ones(void **state)
{
	static const struct block_place odd[] = {
		{HEAP + (1 << 20), 24},
		{HEAP + (1ull << 40), 24},
		{HEAP + 4096, UINT16_MAX + 1},
		{HEAP + 4096, UINT32_MAX + 1ull},
		{HEAP + 4096 + 3, 1},
		{HEAP - 8, 24},
		{UINT64_MAX, 0},
		{0, UINT64_MAX},
		{HEAP, 24},
		{HEAP, 0},
		{HEAP + 8, 24},
	};
	struct block_place places[3 * BLOCK_CHUNK];

	(void)state;
	for (size_t i = 0; i < 3 * BLOCK_CHUNK * sizeof(odd) / sizeof(*odd) * 2; i++) {
		const size_t at = i % (3 * BLOCK_CHUNK), kind = i / (3 * BLOCK_CHUNK) / 2;
		const bool alike = i / (3 * BLOCK_CHUNK) % 2;

		for (uint64_t k = 0; k < 3 * BLOCK_CHUNK; k++)
			places[k] = k == at ? odd[kind]
					    : (struct block_place){HEAP + 32 * k,
								   24 - (alike ? 0 : 8 * (k % 2))};
		check(places, 3 * BLOCK_CHUNK);
	}
}

static void any_order(void **state)
{
	struct block_place *places = calloc(MANY, sizeof(*places));

	(void)state;
	assert_non_null(places);
	srandom(test_seed());
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
		cmocka_unit_test(bytes_of_a_block),
		cmocka_unit_test(odd_ones),
		cmocka_unit_test(any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
