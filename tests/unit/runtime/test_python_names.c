// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the kernel side sends of Python's code objects, strings of all kinds and liars among them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "tests/unit/runtime/host.h"
#include "user/base/util.h"
#include "user/runtime/python/python_names.h"

/* Two targets, of one trace. */
struct names {
	struct runtimes runtimes;
	struct python_names of, others;
};

static void names_clear(struct names *names)
{
	python_names_clear(&names->runtimes, &names->of);
	python_names_clear(&names->runtimes, &names->others);
	assert_int_equal(names->runtimes.python_bytes, 0);
}

/* ---- strings -------------------------------------------------------------------------------- */

struct string_case {
	const char *what;
	uint32_t width, length;
	uint32_t points[8];   /* the last one that is not 0 goes on to the end */
	const char *expected; /* NULL: no name */
};

static const struct string_case string_cases[] = {
	{"ASCII", 1, 7, {'C', 'a', 'r', 't', '.', 'o', 'f'}, "Cart.of"},
	{"Latin-1", 1, 4, {0x7f, 0x80, 0xe9, 0xff}, "\x7f\xc2\x80éÿ"},
	{"two bytes", 2, 5, {'a', 0x7ff, 0x800, 0x4e2d, 0xffff}, "a\u07ff\u0800中\uffff"},
	{"four bytes", 4, 5, {'a', 0xe9, 0x4e2d, 0x10000, 0x10ffff}, "aé中\U00010000\U0010ffff"},
	/* As an escape of a file name's byte has it; who shows the name cleans it. */
	{"a surrogate",
	 2,
	 3,
	 {'a', 0xdc80, 'b'},
	 "a\xed\xb2\x80"
	 "b"},
	{"surrogates", 4, 2, {0xd83d, 0xde00}, "\xed\xa0\xbd\xed\xb8\x80"},
	{"no character", 4, 4, {'a', 0x110000, 0xffffffff, 'b'}, "a??b"},
	{"NUL", 1, 3, {'a', 0, 'b'}, "a?b"},
	{"NUL of two bytes", 2, 3, {'a', 0, 'b'}, "a?b"},
	{"NUL of four bytes", 4, 3, {'a', 0, 'b'}, "a?b"},
	{"empty", 1, 0, {'a'}, NULL},
	{"not a string", 0, 5, {'a'}, NULL},
	{"a width of 3", 3, 5, {'a'}, NULL},
	{"a width of 8", 8, 5, {'a'}, NULL},
	{"a width beyond all", UINT32_MAX, 5, {'a'}, NULL},
	{"the smallest beyond the table", RUNTIME_TEXT_BYTES + 1, 1, {'a'}, NULL},
};

static void text_put_point(struct runtime_text *text, size_t i, uint32_t point)
{
	size_t width = text->width == 2 || text->width == 4 ? text->width : 1;

	if ((i + 1) * width <= sizeof(text->bytes))
		memcpy(text->bytes + i * width, &point, width);
}

/* In memory of its own, so that nothing is read around it. */
static struct python_code_event *code_event(uint64_t code)
{
	struct python_code_event *event = test_calloc(1, sizeof(*event));

	event->code = code;
	event->first_line = 10;
	return event;
}

/* What becomes of the text, as function or as file; for free(). */
static char *name_of_text(const struct runtime_text *text, bool as_file)
{
	struct names names = {0};
	struct python_code_event *event = code_event(0x1000);
	struct runtime_call call = {.code = 0x1000};
	const struct python_code *code;
	char *name = NULL;

	*(as_file ? &event->file : &event->function) = *text;
	python_names_add_code(&names.runtimes, &names.of, event);
	code = python_names_code(&names.of, &call);
	assert_non_null(code);
	assert_null(as_file ? code->function : code->file);
	if (as_file ? code->file : code->function)
		name = strdup(as_file ? code->file : code->function);
	names_clear(&names);
	test_free(event);
	return name;
}

static void strings(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * ARRAY_SIZE(string_cases); i++) {
		const struct string_case *c = &string_cases[i / 2];
		struct runtime_text text = {.length = c->length, .width = c->width};
		_cleanup_free_ char *name = NULL;

		for (size_t k = 0; k < ARRAY_SIZE(c->points); k++)
			text_put_point(&text, k, c->points[k]);
		name = name_of_text(&text, i % 2);
		if (!name != !c->expected || (name && strcmp(name, c->expected) != 0))
			fail_msg("%s: \"%s\" in place of \"%s\"", c->what, name ?: "(none)",
				 c->expected ?: "(none)");
	}
}

struct long_case {
	uint32_t width, point;
	const char *utf8;
};

/* As many bytes as each width can become. */
static const struct long_case long_cases[] = {
	{1, 'x', "x"},
	{1, 0xff, "ÿ"},
	{2, 'x', "x"},
	{2, 0xffff, "\uffff"},
	{4, 0x10ffff, "\U0010ffff"},
	{4, 0x110000, "?"},
};

/* A string of `length`, of whose characters there are what fits, and its name. */
static void must_be_cut(const struct long_case *c, uint32_t length)
{
	struct runtime_text text = {.length = length, .width = c->width};
	uint32_t there = RUNTIME_TEXT_BYTES / c->width, count = length < there ? length : there;
	char expected[4 * RUNTIME_TEXT_BYTES + 4], *to = expected;
	_cleanup_free_ char *name = NULL;

	for (uint32_t i = 0; i < count; i++) {
		text_put_point(&text, i, c->point);
		to = stpcpy(to, c->utf8);
	}
	stpcpy(to, length > there ? "…" : "");
	name = name_of_text(&text, false);
	assert_non_null(name);
	assert_string_equal(name, expected);
}

static void longer_than_what_was_sent(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(long_cases); i++) {
		uint32_t there = RUNTIME_TEXT_BYTES / long_cases[i].width;

		must_be_cut(&long_cases[i], there - 1);
		must_be_cut(&long_cases[i], there);
		must_be_cut(&long_cases[i], there + 1);
		must_be_cut(&long_cases[i], RUNTIME_TEXT_BYTES + 1);
		/* Multiplied by the width it is small again. */
		must_be_cut(&long_cases[i], 0x80000001);
		must_be_cut(&long_cases[i], UINT32_MAX);
	}
}

/* ---- tables of lines ------------------------------------------------------------------------ */

#define VERSION 0x030b02f0

/* An entry of one unit, without columns: the line behind that of the one before. */
static const uint8_t next_line[] = {0xe8, 0x02};

static const struct python_code *add_table(struct names *names, uint64_t at, uint32_t table_size)
{
	struct python_code_event *event = code_event(at);
	struct runtime_call call = {.code = at};
	const struct python_code *code;

	for (size_t i = 0; i < PYTHON_TABLE_BYTES; i++)
		event->table[i] = next_line[i % sizeof(next_line)];
	event->table_size = table_size;
	event->table_state = PYTHON_TABLE_WHOLE;
	python_names_add_code(&names->runtimes, &names->of, event);
	test_free(event);
	code = python_names_code(&names->of, &call);
	assert_non_null(code);
	return code;
}

static uint32_t line_at(const struct python_code *code, uint32_t place)
{
	struct runtime_call call = {.place = place};

	return python_code_line(code, VERSION, &call);
}

static void lines(void **state)
{
	struct names names = {0};
	const struct python_code *code = add_table(&names, 0x1000, 6);

	(void)state;
	/* It has not begun; its first three instructions, and what is no more in the table. */
	assert_int_equal(line_at(code, 0), 10);
	assert_int_equal(line_at(code, 1), 11);
	assert_int_equal(line_at(code, 2), 12);
	assert_int_equal(line_at(code, 3), 13);
	assert_int_equal(line_at(code, 4), 0);
	assert_int_equal(line_at(code, ~PYTHON_ENTRY), 0);
	/* Whether C has called it says nothing of where it is. */
	assert_int_equal(line_at(code, PYTHON_ENTRY), 10);
	assert_int_equal(line_at(code, PYTHON_ENTRY | 3), 13);
	assert_int_equal(line_at(code, UINT32_MAX), 0);
	names_clear(&names);
}

static void tables_of_any_size(void **state)
{
	static const uint32_t liars[] = {PYTHON_TABLE_BYTES + 1, PYTHON_TABLE_BYTES + 2, 0x80000000,
					 UINT32_MAX};
	struct names names = {0};
	const struct python_code *code = add_table(&names, 0x1000, PYTHON_TABLE_BYTES);

	(void)state;
	assert_int_equal(line_at(code, PYTHON_TABLE_BYTES / 2), 10 + PYTHON_TABLE_BYTES / 2);
	assert_int_equal(line_at(code, PYTHON_TABLE_BYTES / 2 + 1), 0);
	code = add_table(&names, 0x2000, 0);
	assert_int_equal(line_at(code, 0), 10);
	assert_int_equal(line_at(code, 1), 0);
	for (size_t i = 0; i < ARRAY_SIZE(liars); i++) {
		code = add_table(&names, 0x3000 + i, liars[i]);
		assert_int_equal(line_at(code, 0), 10);
		assert_int_equal(line_at(code, 1), 0);
	}
	names_clear(&names);
}

/* ---- whose they are ------------------------------------------------------------------------- */

static void add_named(struct names *names, struct python_names *to, uint64_t at, uint32_t cookie,
		      char name)
{
	struct python_code_event *event = code_event(at);

	event->cookie = cookie;
	event->function = (struct runtime_text){.length = 1, .width = 1, .bytes = {(uint8_t)name}};
	python_names_add_code(&names->runtimes, to, event);
	test_free(event);
}

/* '-': it is not known. */
static char name_at(const struct python_names *names, uint64_t at, uint32_t cookie)
{
	struct runtime_call call = {.code = at, .cookie = cookie, .place = PYTHON_ENTRY | 5};
	const struct python_code *code = python_names_code(names, &call);

	return code ? *code->function : '-';
}

static void code_objects_that_follow_each_other(void **state)
{
	struct names names = {0};

	(void)state;
	assert_int_equal(name_at(&names.of, 0x1000, 7), '-');
	add_named(&names, &names.of, 0x1000, 7, 'f');
	/* At the same address, later. */
	add_named(&names, &names.of, 0x1000, 8, 'g');
	add_named(&names, &names.others, 0x1000, 7, 'h');
	assert_int_equal(name_at(&names.of, 0x1000, 7), 'f');
	assert_int_equal(name_at(&names.of, 0x1000, 8), 'g');
	assert_int_equal(name_at(&names.others, 0x1000, 7), 'h');
	assert_int_equal(name_at(&names.others, 0x1000, 8), '-');
	assert_int_equal(name_at(&names.of, 0x2000, 7), '-');
	python_names_clear(&names.runtimes, &names.of);
	assert_int_equal(name_at(&names.of, 0x1000, 7), '-');
	assert_int_equal(name_at(&names.of, 0x1000, 8), '-');
	assert_int_equal(name_at(&names.others, 0x1000, 7), 'h');
	add_named(&names, &names.of, 0x1000, 7, 'i');
	assert_int_equal(name_at(&names.of, 0x1000, 7), 'i');
	names_clear(&names);
}

/* What `part` of it could not be read at first is known when it has come again. */
static void sent_again(void **state)
{
	enum { FUNCTION, FILE_NAME, TABLE, PARTS };

	(void)state;
	for (int part = FUNCTION; part < PARTS; part++) {
		struct names names = {0};
		struct python_code_event *event = code_event(0x1000);
		struct runtime_call call = {.code = 0x1000, .place = 1};
		const struct python_code *code;

		event->function = (struct runtime_text){.length = 1, .width = part != FUNCTION};
		event->file = (struct runtime_text){.length = 1, .width = part != FILE_NAME};
		event->function.bytes[0] = 'f';
		event->file.bytes[0] = '/';
		memcpy(event->table, next_line, sizeof(next_line));
		event->table_size = part == TABLE ? 0 : sizeof(next_line);
		event->table_state = part == TABLE ? PYTHON_TABLE_UNREAD : PYTHON_TABLE_WHOLE;
		python_names_add_code(&names.runtimes, &names.of, event);
		event->function.width = event->file.width = 1;
		event->table_size = sizeof(next_line);
		event->table_state = PYTHON_TABLE_WHOLE;
		python_names_add_code(&names.runtimes, &names.of, event);
		/* And when the kernel has forgotten that it was sent: it is what it was. */
		event->function.bytes[0] = 'g';
		python_names_add_code(&names.runtimes, &names.of, event);
		code = python_names_code(&names.of, &call);
		assert_non_null(code);
		assert_string_equal(code->function, "f");
		assert_string_equal(code->file, "/");
		assert_int_equal(python_code_line(code, VERSION, &call), 11);
		names_clear(&names);
		test_free(event);
	}
}

/* One target that sends code objects without end takes no memory without end. */
static void more_than_there_is_room_for(void **state)
{
	enum { MOST = 40000, LEAST = 4000 }; /* 8 KiB each */
	struct names names = {0};
	struct python_code_event *event = code_event(0);
	uint64_t at = 0;

	(void)state;
	event->function = (struct runtime_text){.length = 1, .width = 1, .bytes = {'f'}};
	event->table_size = PYTHON_TABLE_BYTES;
	add_named(&names, &names.others, 0x1000, 7, 'g');
	do {
		event->code = ++at;
		python_names_add_code(&names.runtimes, &names.of, event);
	} while (at < MOST && name_at(&names.of, at, 0) == 'f');
	assert_true(at > LEAST);
	assert_true(at < MOST);
	python_names_add_code(&names.runtimes, &names.others, event);
	assert_int_equal(name_at(&names.others, at, 0), '-');
	/* What was known stays so, and a target that has gone leaves its room. */
	assert_int_equal(name_at(&names.of, 1, 0), 'f');
	assert_int_equal(name_at(&names.of, at - 1, 0), 'f');
	assert_int_equal(name_at(&names.others, 0x1000, 7), 'g');
	python_names_clear(&names.runtimes, &names.of);
	python_names_add_code(&names.runtimes, &names.others, event);
	assert_int_equal(name_at(&names.others, at, 0), 'f');
	names_clear(&names);
	test_free(event);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings),
		cmocka_unit_test(longer_than_what_was_sent),
		cmocka_unit_test(lines),
		cmocka_unit_test(tables_of_any_size),
		cmocka_unit_test(code_objects_that_follow_each_other),
		cmocka_unit_test(sent_again),
		cmocka_unit_test(more_than_there_is_room_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
