// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Text that others wrote, on the screen. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/live/scene.h"

static void hostile_names(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 24, 80);
	free(s.view->rows[0].site);
	s.view->rows[0].site = strdup("\033[2Jevil\n\r\t\xff\xe2\x80\xae"
				      "end");
	strcpy(s.view->comm, "\033]0;x\a");
	assert_row_has(&s, 4, "?[2Jevil?????end");
	assert_row_has(&s, 0, "(?]0;x?)");
	end(&s);
}

/* What it is about is at both ends of a long name. */
static void long_names(void **state)
{
	struct scene s;

	(void)state;
	begin(&s, 24, 80);
	free(s.view->rows[0].site);
	s.view->rows[0].site = strdup("shop::wire::detail::Channel::dispatch(..)");
	assert_row_has(&s, 4, " shop::wire::d..::dispatch(..)");
	end(&s);
}

/* Wide characters take two cells, combining ones none: no row is wider than the screen. */
static void wide_names(void **state)
{
	static const char wide[] = "\xe6\xbc\xa2\xe5\xad\x97"; /* two of two columns */
	struct canvas canvas = {.utf8 = true};
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_int_equal(canvas_resize(&canvas, 1, 8), 0);
	assert_int_equal(canvas_width(&canvas, wide), 4);
	assert_int_equal(canvas_width(&canvas, "e\xcc\x81x"), 2);
	assert_int_equal(canvas_put(&canvas, 0, 0, 3, CANVAS_PLAIN, wide), 3);
	assert_int_equal(canvas.cells[0].point, 0x6f22);
	assert_int_equal(canvas.cells[1].point, 0);
	assert_int_equal(canvas.cells[2].point, 0x2026);
	canvas_put_right(&canvas, 0, 3, 5, CANVAS_PLAIN, wide);
	canvas_print_row(&canvas, 0, out);
	assert_int_equal(close_memstream(out), 0);
	assert_string_equal(text, "\xe6\xbc\xa2\xe2\x80\xa6 \xe6\xbc\xa2\xe5\xad\x97");
	canvas.utf8 = false;
	assert_int_equal(canvas_width(&canvas, wide), 2);
	canvas_release(&canvas);
	free(text);
}

static void long_lines_go_on(void **state)
{
	struct live_text text = {0};

	(void)state;
	assert_int_equal(live_text_set(&text, "short\n\n0123456789 0123456789 012345\nend", 20), 0);
	assert_int_equal(text.count, 5);
	assert_string_equal(text.lines[0], "short");
	assert_string_equal(text.lines[1], "");
	assert_string_equal(text.lines[2], "0123456789 012345678");
	assert_string_equal(text.lines[3], "        9 012345");
	assert_string_equal(text.lines[4], "end");
	live_text_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostile_names),
		cmocka_unit_test(long_names),
		cmocka_unit_test(wide_names),
		cmocka_unit_test(long_lines_go_on),
	};

	if (!setlocale(LC_CTYPE, "C.UTF-8"))
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
