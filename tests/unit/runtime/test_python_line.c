// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Tables are __code__.co_linetable (before 3.10 co_lnotab) of functions that CPython 3.11.2, 3.10.13, 3.9.18 and
 * 3.8.18 have compiled, and lines those of co_positions(), before 3.11 of PyCode_Addr2Line().
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/runtime/python/python_line.h"

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

/* Of the same functions by 3.10: ranges. 3.8's tables of the first are the same as 3.9's. */
static const uint8_t call_ranges[] = {6, 1, 6, 3, 6, 253, 2, 4, 2, 1, 2, 1, 4, 254, 8, 3};
static const uint8_t call_steps[] = {0, 1, 6, 3, 6, 253, 6, 4, 2, 1, 2, 1, 2, 254, 4, 3};
static const uint32_t old_call_lines[] = {2, 2, 2, 5, 5, 5, 2, 2, 2, 6, 7, 8, 6, 6, 9, 9, 9, 9};
static const uint8_t far_ranges[] = {4,	 1, 0, 127, 0, 127, 2, 47, 12, 1,
				     10, 1, 2, 255, 4, 3,   4, 1,  6,  255};
static const uint32_t far_range_lines[] = {13,	13,  314, 315, 315, 315, 315, 315, 315, 316, 316,
					   316, 316, 316, 315, 318, 318, 319, 319, 318, 318, 318};
static const uint8_t far_steps[] = {0, 1, 4, 127, 0, 127, 0, 47, 2, 1, 12, 1, 14, 2, 6, 1};
static const uint32_t far_step_lines[] = {13,  13,  314, 315, 315, 315, 315, 315, 315, 316, 316,
					  316, 316, 316, 316, 316, 318, 318, 318, 319, 319};

#define V3_8  0x03080000
#define V3_10 0x030a0000
#define V3_11 0x030b02f0

static uint32_t line_of(const uint8_t *bytes, size_t size, uint32_t version, int32_t first_line,
			int64_t unit)
{
	return python_line(&(struct python_table){bytes, size, .whole = true}, version, first_line,
			   unit);
}

static void must_be_lines(const uint8_t *bytes, size_t size, uint32_t version, int32_t first_line,
			  const uint32_t *lines, size_t count)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(line_of(bytes, size, version, first_line, (int64_t)i), lines[i]);
}

static void like_addr2line(void **state)
{
	(void)state;
	must_be_lines(call_ranges, sizeof(call_ranges), V3_10, 1, old_call_lines,
		      ARRAY_SIZE(old_call_lines));
	must_be_lines(far_ranges, sizeof(far_ranges), V3_10, 12, far_range_lines,
		      ARRAY_SIZE(far_range_lines));
	assert_int_equal(line_of(call_ranges, sizeof(call_ranges), V3_10, 1, 18), 0);
	must_be_lines(call_steps, sizeof(call_steps), V3_8, 1, old_call_lines,
		      ARRAY_SIZE(old_call_lines));
	must_be_lines(far_steps, sizeof(far_steps), V3_8, 12, far_step_lines,
		      ARRAY_SIZE(far_step_lines));
}

/* A range can have no line; a table that is empty says that all is on the first one. */
static void without_lines(void **state)
{
	static const uint8_t none[] = {2, 1, 4, 128, 2, 1};

	(void)state;
	assert_int_equal(line_of(none, sizeof(none), V3_10, 1, 0), 2);
	assert_int_equal(line_of(none, sizeof(none), V3_10, 1, 2), 0);
	assert_int_equal(line_of(none, sizeof(none), V3_10, 1, 3), 3);
	assert_int_equal(line_of(NULL, 0, V3_10, 1, 0), 0);
	assert_int_equal(line_of(NULL, 0, V3_8, 7, 1000), 7);
	assert_int_equal(python_line(&(struct python_table){NULL, 0, .whole = false}, V3_8, 7, 0),
			 0);
}

static void like_co_positions(void **state)
{
	(void)state;
	must_be_lines(call_table, sizeof(call_table), V3_11, 10, call_lines,
		      ARRAY_SIZE(call_lines));
	must_be_lines(far_table, sizeof(far_table), V3_11, 1, far_lines, ARRAY_SIZE(far_lines));
}

static void before_and_behind_the_code(void **state)
{
	(void)state;
	assert_int_equal(line_of(call_table, sizeof(call_table), V3_11, 10, -1), 10);
	assert_int_equal(line_of(call_table, sizeof(call_table), V3_11, -10, -1), 0);
	assert_int_equal(line_of(call_table, sizeof(call_table), V3_11, 10, ARRAY_SIZE(call_lines)),
			 0);
	assert_int_equal(line_of(NULL, 0, V3_11, 10, 0), 0);
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
			uint32_t line = line_of(part, size, V3_11, 1, (int64_t)i);

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
	assert_int_equal(line_of(in_an_entry, sizeof(in_an_entry), V3_11, 1, 0), 0);
	assert_int_equal(line_of(endless, sizeof(endless), V3_11, 1, 0), 0);
	assert_int_equal(line_of(below_zero, sizeof(below_zero), V3_11, 1, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(like_co_positions), cmocka_unit_test(like_addr2line),
		cmocka_unit_test(without_lines),     cmocka_unit_test(before_and_behind_the_code),
		cmocka_unit_test(cut_short),	     cmocka_unit_test(no_table_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
