// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Sets of blocks against an array of bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/seed.h"
#include "user/heap/block_set.h"

static uint32_t first_from(const char *plain, uint32_t count, uint32_t from)
{
	while (from < count && !plain[from])
		from++;
	return from < count ? from : UINT32_MAX;
}

static uint32_t last_of(const char *plain, uint32_t count)
{
	while (count && !plain[count - 1])
		count--;
	return count - 1;
}

static void check(uint32_t count, uint32_t density)
{
	struct block_set set;
	char *plain = calloc(count + 1, 1);

	assert_non_null(plain);
	assert_int_equal(block_set_init(&set, count), 0);
	assert_true(block_set_is_empty(&set));
	assert_int_equal(block_set_take(&set, 0), UINT32_MAX);
	assert_int_equal(block_set_take(&set, count), UINT32_MAX);
	assert_int_equal(block_set_take_last(&set), UINT32_MAX);
	for (int step = 0; step < 3000; step++) {
		uint32_t at = count ? (uint32_t)random() % count : 0, expected;

		if (count && (uint32_t)random() % 100 < density) {
			block_set_add(&set, at);
			plain[at] = 1;
			assert_false(block_set_is_empty(&set));
			continue;
		}
		if (step % 7) {
			at = step % 5 ? at : count;
			expected = first_from(plain, count, at);
			assert_int_equal(block_set_take(&set, at), expected);
		} else {
			expected = last_of(plain, count);
			assert_int_equal(block_set_take_last(&set), expected);
		}
		if (expected != UINT32_MAX)
			plain[expected] = 0;
	}
	while (block_set_take(&set, 0) != UINT32_MAX)
		;
	assert_true(block_set_is_empty(&set));
	block_set_free(&set);
	free(plain);
}

static void as_plain(void **state)
{
	static const uint32_t counts[] = {0,	1,    2,    63,	   64,	   65,	   4095,
					  4096, 4097, 8191, 40000, 262143, 262144, 262145};

	(void)state;
	srandom(test_seed());
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
		for (uint32_t density = 10; density <= 90; density += 40)
			check(counts[i], density);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(as_plain)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
