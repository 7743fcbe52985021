// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tables are __code__.co_linetable of functions that CPython 3.11.2 has compiled, and lines those of its
 * co_positions().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/symbol/python_line.h"

/* def f(a, b): with a comprehension, and a call whose arguments are on lines of their own */
static const uint8_t call_table[] = {128, 0,   224, 8,	 22,  136, 14, 144, 65,	 136, 14, 137, 14,
				     140, 14,  128, 65,	 216, 12,  13, 143, 70,	 138, 70, 216, 8,
				     9,	  136, 49,  241, 3,   1,   13, 14,  244, 0,   1,  13,  14,
				     224, 10,  11,  241, 5,   2,   13, 12,  240, 0,   2,  5,   13};
static const uint32_t call_lines[] = {10, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12,
				      13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 13, 14,
				      14, 13, 13, 13, 13, 13, 13, 13, 15, 13, 13, 13};

/* A loop of small statements, 300 empty lines, try and finally; 0: it has no line. */
static const uint8_t far_table[] = {
	128, 0,	  216, 6,   7,	 128, 65, 216, 6, 7,   136, 1,	 129, 99,  128, 65,  216, 6,
	7,   136, 1,   129, 99,	 128, 65, 216, 6, 7,   136, 1,	 129, 99,  128, 65,  240, 90,
	9,   3,	  5,   14,  216, 8,   9,  136, 1, 137, 3,   140, 3,   136, 3,	224, 12,  13,
	136, 65,  136, 65,  248, 136, 65, 136, 5, 136, 5,   136, 5,   136, 5};
static const uint32_t far_lines[] = {1,	  2,   2,   3,	 3,   3,   3,	3,   4,	  4,
				     4,	  4,   4,   5,	 5,   5,   5,	5,   306, 307,
				     307, 307, 307, 307, 307, 307, 307, 307, 307, 309,
				     309, 309, 0,   309, 309, 309, 309, 309};

static void like_co_positions(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(call_lines); i++)
		assert_int_equal(python_line(call_table, sizeof(call_table), 10, (int64_t)i),
				 call_lines[i]);
	for (size_t i = 0; i < ARRAY_SIZE(far_lines); i++)
		assert_int_equal(python_line(far_table, sizeof(far_table), 1, (int64_t)i),
				 far_lines[i]);
}

static void before_and_behind_the_code(void **state)
{
	(void)state;
	assert_int_equal(python_line(call_table, sizeof(call_table), 10, -1), 10);
	assert_int_equal(python_line(call_table, sizeof(call_table), -10, -1), 0);
	assert_int_equal(python_line(call_table, sizeof(call_table), 10, ARRAY_SIZE(call_lines)),
			 0);
	assert_int_equal(python_line(NULL, 0, 10, 0), 0);
}

/* What is there of it tells the right lines or none, and is not read beyond its end. */
static void cut_short(void **state)
{
	(void)state;
	for (size_t size = 0; size < sizeof(far_table); size++) {
		uint8_t *part = malloc(size ?: 1);

		assert_non_null(part);
		memcpy(part, far_table, size);
		for (size_t i = 0; i < ARRAY_SIZE(far_lines); i++) {
			uint32_t line = python_line(part, size, 1, (int64_t)i);

			assert_true(!line || line == far_lines[i]);
		}
		free(part);
	}
}

static void no_table_at_all(void **state)
{
	static const uint8_t in_an_entry[] = {0x40, 0x41};
	static const uint8_t endless[] = {0xe8, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	static const uint8_t below_zero[] = {0xe8, 0x3f};

	(void)state;
	assert_int_equal(python_line(in_an_entry, sizeof(in_an_entry), 1, 0), 0);
	assert_int_equal(python_line(endless, sizeof(endless), 1, 0), 0);
	assert_int_equal(python_line(below_zero, sizeof(below_zero), 1, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_co_positions),
		cmocka_unit_test(before_and_behind_the_code),
		cmocka_unit_test(cut_short),
		cmocka_unit_test(no_table_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
