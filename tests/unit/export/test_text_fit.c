// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is made to fit a terminal: no word is broken, and nothing is wider than it may be. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "user/base/text.h"
#include "user/export/text_fit.h"

static void assert_short(size_t (*shorten)(char *, const char *, size_t), const char *text,
			 size_t width, const char *expected)
{
	char buf[TEXT_FIT_MAX];

	assert_int_equal(shorten(buf, text, width), text_put_name(NULL, expected));
	assert_string_equal(buf, expected);
}

static void names(void **state)
{
	(void)state;
	assert_short(text_shorten, "libc.so.6", 9, "libc.so.6");
	assert_short(text_shorten, "libfoundation.so.6", 14, "libfou..n.so.6");
	assert_short(text_shorten, "abcdef", 5, "a..ef");
	assert_short(text_shorten, "abcdef", 4, "abcd");
	assert_short(text_shorten, "abcdef", 0, "");
	assert_short(text_shorten, "\033[2Jx", 9, "?[2Jx");
	assert_short(text_shorten, "äöüäöüäöü", 6, "äö..öü");
}

static void paths(void **state)
{
	(void)state;
	assert_short(path_shorten, "/usr/include/c++/12/bits/stl_vector.h", 40,
		     "/usr/include/c++/12/bits/stl_vector.h");
	assert_short(path_shorten, "/usr/include/c++/12/bits/stl_vector.h", 30,
		     "/usr/../12/bits/stl_vector.h");
	assert_short(path_shorten, "src/deep/down/below/cart.cc", 20, "src/../below/cart.cc");
	/* Before any directory the file's name. */
	assert_short(path_shorten, "/usr/include/c++/12/bits/stl_vector.h", 15, "../stl_vector.h");
	assert_short(path_shorten, "/usr/include/c++/12/bits/stl_vector.h", 14, "stl_vector.h");
	assert_short(path_shorten, "a/very_long_name_of_a_file.c", 12, "very_..ile.c");
	assert_short(path_shorten, "", 12, "");
	assert_short(path_shorten, "/", 0, "");
	assert_short(path_shorten, "////////////", 8, "//..////");
}

static void assert_wrapped(const char *text, size_t width, const char *expected)
{
	char *buf = NULL;
	size_t len;
	FILE *out = open_memstream(&buf, &len);

	assert_non_null(out);
	text_wrap(out, text, width);
	fclose(out);
	assert_string_equal(buf, expected);
	free(buf);
}

static void lines(void **state)
{
	(void)state;
	assert_wrapped("short\n\nlines\n", 40, "short\n\nlines\n");
	assert_wrapped("live   1.3 MiB in 1,028 blocks; +12.0 KiB in 10 s\n", 40,
		       "live   1.3 MiB in 1,028 blocks;\n       +12.0 KiB in 10 s\n");
	assert_wrapped("#1  1.3 MiB in 1,028 blocks, and so on and on\n", 40,
		       "#1  1.3 MiB in 1,028 blocks, and so on\n    and on\n");
	assert_wrapped(
		"    held by something and something and something and something\n", 40,
		"    held by something and something and\n        something and something\n");
	/* Colours have no width, a word is not broken that is no name, and no suppression. */
	assert_wrapped("\033[1mexactly forty characters wide, not more.\033[0m\n", 41,
		       "\033[1mexactly forty characters wide, not more.\033[0m\n");
	assert_wrapped("    averyveryveryverylongwordwithoutanyblankinitatall behind\n", 40,
		       "    averyveryveryverylongwordwithoutanyblankinitatall\n        behind\n");
	assert_wrapped("    space::of::names::Heap::rememberThisOne(Chunk<..>*, int)\n", 40,
		       "    space::of::names::Heap::\n        rememberThisOne(Chunk<..>*, int)\n");
	assert_wrapped("    a +12.0 KiB with as many words as it has +4.0 MiB\n", 49,
		       "    a +12.0 KiB with as many words as it has\n        +4.0 MiB\n");
	assert_wrapped("   fun:std::vector<int, std::allocator<int> >::push_back\n", 40,
		       "   fun:std::vector<int, std::allocator<int> >::push_back\n");
	assert_wrapped("last line without an end that is longer than it may be", 40,
		       "last line without an end that is longer\n  than it may be");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(paths),
		cmocka_unit_test(lines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
