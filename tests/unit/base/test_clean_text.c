// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "user/base/text.h"
#include "user/base/util.h"

static void decoded(void **state)
{
	static const struct {
		const char *text;
		uint32_t point;
		size_t used;
	} cases[] = {
		{"", 0, 0},
		{"a", 'a', 1},
		{"\x7f", 0x7f, 1},
		{"\xc2\x80", 0x80, 2},
		{"\xdf\xbf", 0x7ff, 2},
		{"\xe0\xa0\x80", 0x800, 3},
		{"\xed\x9f\xbf", 0xd7ff, 3},
		{"\xee\x80\x80", 0xe000, 3},
		{"\xf0\x90\x80\x80", 0x10000, 4},
		{"\xf4\x8f\xbf\xbf", 0x10ffff, 4},
		/* continuation bytes without a beginning, and bytes that begin nothing */
		{"\x80", UTF8_INVALID, 1},
		{"\xbf", UTF8_INVALID, 1},
		{"\xfe", UTF8_INVALID, 1},
		{"\xff", UTF8_INVALID, 1},
		{"\xf5\x80\x80\x80", UTF8_INVALID, 1},
		/* overlong forms */
		{"\xc0\x80", UTF8_INVALID, 1},
		{"\xc1\xbf", UTF8_INVALID, 1},
		{"\xe0\x9f\xbf", UTF8_INVALID, 1},
		{"\xf0\x8f\xbf\xbf", UTF8_INVALID, 1},
		/* surrogates, and what is above the last code point */
		{"\xed\xa0\x80", UTF8_INVALID, 1},
		{"\xed\xbf\xbf", UTF8_INVALID, 1},
		{"\xf4\x90\x80\x80", UTF8_INVALID, 1},
		/* cut */
		{"\xc3", UTF8_INVALID, 1},
		{"\xe2\x82", UTF8_INVALID, 1},
		{"\xf0\x9f\x98", UTF8_INVALID, 1},
		{"\xe2\x82x", UTF8_INVALID, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *at = cases[i].text;

		assert_int_equal(utf8_next(&at), cases[i].point);
		assert_int_equal(at - cases[i].text, cases[i].used);
	}
}

/* What the rules make of a text; the caller frees it. */
static char *cleaned(const char *text, const struct text_rules *rules, size_t *width)
{
	char *out = NULL;
	size_t len = 0;
	FILE *stream = open_memstream(&out, &len);

	assert_non_null(stream);
	*width = text_put(stream, text, rules);
	assert_int_equal(close_memstream(stream), 0);
	assert_int_equal(text_put(NULL, text, rules), *width);
	return out;
}

static void for_terminals(void **state)
{
	static const struct {
		const char *text, *clean;
		size_t width;
	} cases[] = {
		{"", "", 0},
		{"plain", "plain", 5},
		{"gr\xc3\xbc\xc3\x9f\xe2\x82\xac", "gr\xc3\xbc\xc3\x9f\xe2\x82\xac", 5},
		{"\x1b[31m\t\r\n\x01\x7f", "?[31m?????", 10},
		/* C1: CSI as one character, and NEL; NO-BREAK SPACE is none */
		{"\xc2\x9b"
		 "2J\xc2\x85\xc2\xa0",
		 "?2J?\xc2\xa0", 5},
		/* bidirectional marks, embeddings and overrides, isolates */
		{"\xe2\x80\x8e\xe2\x80\x8f", "??", 2},
		{"\xe2\x80\xaa\xe2\x80\xab\xe2\x80\xac\xe2\x80\xad\xe2\x80\xae", "?????", 5},
		{"\xe2\x81\xa6\xe2\x81\xa7\xe2\x81\xa8\xe2\x81\xa9", "????", 4},
		/* line and paragraph separator; their neighbours stay */
		{"\xe2\x80\xa8\xe2\x80\xa9\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xaa",
		 "??\xe2\x80\xa7\xe2\x80\xaf\xe2\x81\xaa", 5},
		{"\xff\xc0\x80", "???", 3},
		{"\xed\xa0\x80", "???", 3},
		{"x\xe2\x82", "x??", 3},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char copy[64];
		size_t width, len;
		_cleanup_free_ char *text = cleaned(cases[i].text, &text_for_terminal, &width);

		assert_string_equal(text, cases[i].clean);
		assert_int_equal(width, cases[i].width);
		/* In place. */
		strcpy(copy, cases[i].text);
		len = text_copy(copy, sizeof(copy), copy, SIZE_MAX, &text_for_terminal);
		assert_string_equal(copy, cases[i].clean);
		assert_int_equal(len, strlen(cases[i].clean));
	}
}

static void by_other_rules(void **state)
{
	static const char *const instead[] = {":", "\\n"};
	static const struct text_rules none = {0};
	static const struct text_rules json = {.invalid = "\xef\xbf\xbd"};
	static const struct text_rules special = {
		.special = ";\n", .instead = instead, .harmful = "?", .invalid = "!"};
	static const char text[] = "a;\n\t\xc2\x9b\xff\xe2\x80\xae";
	size_t width;
	_cleanup_free_ char *as_it_is = cleaned(text, &none, &width);
	_cleanup_free_ char *valid = cleaned(text, &json, &width);
	_cleanup_free_ char *replaced = cleaned(text, &special, &width);

	(void)state;
	assert_string_equal(as_it_is, text);
	assert_string_equal(valid, "a;\n\t\xc2\x9b\xef\xbf\xbd\xe2\x80\xae");
	assert_string_equal(replaced, "a:\\n?\?!?");
	assert_int_equal(width, 7);
}

static void copied(void **state)
{
	static const struct text_rules json = {.invalid = "\xef\xbf\xbd"};
	char to[5];

	(void)state;
	/* Only so many bytes of the text, and what they cut is no character. */
	assert_int_equal(text_copy(to, sizeof(to), "abcdef", 2, &text_for_terminal), 2);
	assert_string_equal(to, "ab");
	assert_int_equal(text_copy(to, sizeof(to), "a\xc3\xbc", 2, &text_for_terminal), 2);
	assert_string_equal(to, "a?");
	assert_int_equal(text_copy(to, sizeof(to), "a\0b", 3, &text_for_terminal), 1);
	/* As much as there is room for, in whole characters. */
	assert_int_equal(text_copy(to, sizeof(to), "abcdef", SIZE_MAX, &text_for_terminal), 4);
	assert_string_equal(to, "abcd");
	assert_int_equal(text_copy(to, sizeof(to), "abc\xc3\xbc", SIZE_MAX, &text_for_terminal), 3);
	assert_string_equal(to, "abc");
	assert_int_equal(text_copy(to, sizeof(to), "ab\xff", SIZE_MAX, &json), 2);
	assert_string_equal(to, "ab");
	assert_int_equal(text_copy(to, 1, "a", SIZE_MAX, &json), 0);
	assert_string_equal(to, "");
}

static void lists(void **state)
{
	char one[] = "one", two[] = "";
	char *const list[] = {one, two, NULL}, *const empty[] = {NULL};
	char **copy = text_list_copy(list), **none = text_list_copy(empty);

	(void)state;
	assert_non_null(copy);
	assert_string_equal(copy[0], "one");
	assert_ptr_not_equal(copy[0], one);
	assert_string_equal(copy[1], "");
	assert_null(copy[2]);
	assert_non_null(none);
	assert_null(none[0]);
	text_list_free(copy);
	text_list_free(none);
	text_list_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(decoded),	  cmocka_unit_test(for_terminals),
		cmocka_unit_test(by_other_rules), cmocka_unit_test(copied),
		cmocka_unit_test(lists),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
