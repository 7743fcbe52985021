// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/util.h"
#include "user/runtime/v8/v8_line.h"

/* In which line is the only 'x'? However the text comes. */
static void x_is_in(const char *text, uint32_t line)
{
	size_t size = strlen(text);

	for (size_t part = 1; part <= size; part++) {
		struct v8_lines lines = {0};

		for (size_t at = 0; at < size; at += part) {
			size_t count = size - at < part ? size - at : part;

			assert_true(v8_lines_add(&lines, text + at, count, 1));
		}
		assert_int_equal(v8_lines_find(&lines, (uint32_t)strcspn(text, "x")), line);
		assert_int_equal(v8_lines_find(&lines, (uint32_t)size), 0);
		v8_lines_free(&lines);
	}
}

static void lines_end_as_in_javascript(void **state)
{
	(void)state;
	x_is_in("x", 1);
	x_is_in("a\nx", 2);
	x_is_in("\n\n\nx\n", 4);
	x_is_in("a\r\nx", 2);
	x_is_in("a\rx", 2);
	x_is_in("\r\n\r\rx", 4);
	x_is_in("\n\rx", 3);
	x_is_in("x\r", 1);
}

static void wide_characters(void **state)
{
	static const uint16_t text[] = {'a', 0x2028, 0x0a41, 0x2029, 0x000a, 0x0d0a, 'x'};
	static const uint32_t expected[] = {1, 1, 2, 2, 3, 4, 4};
	struct v8_lines lines = {0};

	(void)state;
	assert_true(v8_lines_add(&lines, text, ARRAY_SIZE(text), 2));
	for (uint32_t i = 0; i < ARRAY_SIZE(text); i++)
		assert_int_equal(v8_lines_find(&lines, i), expected[i]);
	assert_int_equal(v8_lines_find(&lines, ARRAY_SIZE(text)), 0);
	v8_lines_free(&lines);
}

static void many_lines(void **state)
{
	struct v8_lines lines = {0};

	(void)state;
	for (uint32_t i = 0; i < 100000; i++)
		assert_true(v8_lines_add(&lines, "ab\n", 3, 1));
	for (uint32_t i = 0; i < 300000; i += 7)
		assert_int_equal(v8_lines_find(&lines, i), i / 3 + 1);
	assert_int_equal(v8_lines_find(&lines, UINT32_MAX), 0);
	v8_lines_free(&lines);
}

static void nothing(void **state)
{
	struct v8_lines lines = {0};

	(void)state;
	assert_int_equal(v8_lines_find(&lines, 0), 0);
	v8_lines_free(&lines);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_end_as_in_javascript),
		cmocka_unit_test(wide_characters),
		cmocka_unit_test(many_lines),
		cmocka_unit_test(nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
