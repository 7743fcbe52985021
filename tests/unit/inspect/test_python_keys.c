// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Under which name a dictionary has an object: entries and strings as CPython 3.11 and 3.12 lay them out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/heap/fake_image.h"
#include "user/inspect/python_keys.h"

#define HEAP   0x555555700000ull
#define KEYS   (HEAP + 0x100)
#define OBJECT (HEAP + 0x400)
#define STRING (HEAP + 0x800)
#define ASCII  0x64 /* kind 1, compact, ASCII */
#define SPREAD 0x44 /* not compact: its characters are elsewhere */

static const char maps[] = "555555700000-555555710000 rw-p 00000000 00:00 0 [heap]\n";

/* A string of so many words before its characters. */
static void put_string(struct heap_image *image, uint64_t at, const char *text, uint64_t state,
		       unsigned words)
{
	uint64_t characters[8] = {0};

	memcpy(characters, text, strlen(text));
	fake_word(image, at, 1);
	fake_word(image, at + 16, strlen(text));
	fake_word(image, at + 24, 12345);
	fake_word(image, at + 32, state);
	for (unsigned i = 0; i < 8; i++)
		fake_word(image, at + 8ull * (words + i), characters[i]);
}

static struct heap_image *new_image(void)
{
	struct heap_image *image = fake_image(maps);

	fake_region(image, HEAP, 0x1000);
	fake_block(image, KEYS, 128);
	fake_block(image, OBJECT, 64);
	return image;
}

static void strings(void **state)
{
	struct heap_image *image = new_image();
	char text[PYTHON_KEY_MAX];

	(void)state;
	put_string(image, STRING, "SESSIONS", ASCII | 0x80, 6);
	put_string(image, STRING + 0x80, "CACHE_OF_PAGES", ASCII, 5);
	put_string(image, STRING + 0x100, "a\"b", ASCII, 5);
	put_string(image, STRING + 0x180, "other", SPREAD, 5);
	put_string(image, STRING + 0x200, "unhashed", ASCII, 5);
	fake_word(image, STRING + 0x200 + 24, UINT64_MAX);
	fake_finish(image);
	assert_true(python_text(image->memory, STRING, text));
	assert_string_equal(text, "SESSIONS");
	assert_true(python_text(image->memory, STRING + 0x80, text));
	assert_string_equal(text, "CACHE_OF_PAGES");
	for (uint64_t at = STRING + 0x100; at <= STRING + 0x200; at += 0x80)
		assert_false(python_text(image->memory, at, text));
	assert_false(python_text(image->memory, STRING + 4, text));
	assert_false(python_text(image->memory, HEAP + 0x10000, text));
	heap_image_free(image);
}

/* A name that begins with an underscore gives way to another one; the module is that of the same entries. */
static void names(void **state)
{
	struct heap_image *image = new_image();
	struct python_name name = {.start = OBJECT, .end = OBJECT + 64, .block = 1};
	unsigned char bytes[16] = {0};
	struct packed group_of = {.bytes = bytes, .width = 8};

	(void)state;
	put_string(image, STRING, "_private", ASCII, 5);
	put_string(image, STRING + 0x80, "SESSIONS", ASCII, 5);
	put_string(image, STRING + 0x100, "__name__", ASCII, 5);
	put_string(image, STRING + 0x180, "shop", ASCII, 5);
	fake_word(image, KEYS + 32, STRING);
	fake_word(image, KEYS + 40, OBJECT + 16);
	fake_word(image, KEYS + 48, STRING + 0x100);
	fake_word(image, KEYS + 56, STRING + 0x180);
	fake_word(image, KEYS + 64, STRING + 0x80);
	fake_word(image, KEYS + 72, OBJECT + 16);
	fake_finish(image);
	packed_set(&group_of, 0, 3);
	packed_set(&group_of, 1, 4);
	python_names_find(image, &group_of, 5, &name, 1);
	assert_string_equal(name.key, "");
	python_names_find(image, &group_of, 3, &name, 1);
	assert_string_equal(name.key, "SESSIONS");
	assert_string_equal(name.module, "shop");
	heap_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
