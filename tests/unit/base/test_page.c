// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Beginnings and ends of pages, of all sizes that kernels are built with. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#include <cmocka.h>

#include "user/base/page.h"

static const uint64_t sizes[] = {4096, 16384, 65536};

static void beginnings_and_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		const uint64_t page = sizes[i], base = 0x7f0000000000;

		assert_int_equal(page_down(base, page), base);
		assert_int_equal(page_up(base, page), base);
		assert_int_equal(page_down(base + 1, page), base);
		assert_int_equal(page_up(base + 1, page), base + page);
		assert_int_equal(page_down(base + page - 1, page), base);
		assert_int_equal(page_up(base + page - 1, page), base + page);
		assert_int_equal(page_down(base + page, page), base + page);
		assert_int_equal(page_up(base + page, page), base + page);
	}
	/* A segment that begins in the second page of 4 KiB lies in the first of 64. */
	assert_int_equal(page_down(0x1f20, 4096), 0x1000);
	assert_int_equal(page_down(0x1f20, 65536), 0);
	assert_int_equal(page_up(0x1f20, 16384), 0x4000);
}

static void this_kernels(void **state)
{
	bool known = false;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		known |= page_size() == sizes[i];
	assert_true(known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(beginnings_and_ends),
		cmocka_unit_test(this_kernels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
