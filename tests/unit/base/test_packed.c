// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Numbers of any width beside each other: none disturbs another one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/seed.h"
#include "user/base/packed.h"

#define COUNT 1000

static void every_width(void **state)
{
	(void)state;
	srandom(test_seed());
	for (unsigned width = 1; width <= 57; width++) {
		const uint64_t largest = (1ull << width) - 1;
		struct packed array = {calloc(packed_bytes(COUNT, width), 1), width};
		uint64_t plain[COUNT] = {0};

		assert_non_null(array.bytes);
		assert_int_equal(packed_width(largest), width);
		for (size_t i = 0; i < 10 * COUNT; i++) {
			size_t at = i < COUNT ? COUNT - 1 - i : (size_t)random() % COUNT;

			plain[at] = i % 3 ? (uint64_t)random() << 31 & largest : largest;
			packed_set(&array, at, plain[at]);
		}
		for (size_t i = 0; i < COUNT; i++)
			assert_int_equal(packed_get(&array, i), plain[i]);
		free(array.bytes);
	}
	assert_int_equal(packed_width(0), 1);
	assert_int_equal(packed_width(1), 1);
	assert_int_equal(packed_width(2), 2);
	assert_int_equal(packed_width(1ull << 32), 33);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_width)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
