// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Blocks whose only pointer is not to their beginning by design: of PHP and glibc, made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/heap/fake_image.h"
#include "user/heap/reach.h"

#define DATA 0x555555600000ull /* writable data of the program: roots */
#define RO   0x555555610000ull
#define HEAP 0x555555700000ull

static const char maps[] = "555555600000-555555610000 rw-p 00001000 08:01 77 /bin/prog\n"
			   "555555610000-555555611000 r--p 00011000 08:01 77 /bin/prog\n"
			   "555555700000-555555800000 rw-p 00000000 00:00 0 [heap]\n";

/* "RP": one letter for each block, in order of address. */
static void expect(struct heap_image *image, const char *classes)
{
	static const struct reach_options none = {0};
	static const char letters[] = "DIPR";
	struct reach *reach;
	char got[FAKE_MAX + 1] = "";

	fake_finish(image);
	assert_int_equal(image->block_count, strlen(classes));
	assert_int_equal(reach_new(image, &none, &reach), 0);
	for (size_t i = 0; i < image->block_count; i++)
		got[i] = letters[reach_class(reach, i)];
	assert_string_equal(got, classes);
	reach_free(reach);
	heap_image_free(image);
}

static struct heap_image *new_image(void)
{
	struct heap_image *image = fake_image(maps);

	fake_region(image, DATA, 0x1000);
	fake_region(image, RO, 0x1000);
	fake_region(image, HEAP, 0x10000);
	return image;
}

/* Of one from before the attach: the size is what can be used of it. */
static void fake_old_block(struct heap_image *image, uint64_t address, uint64_t usable)
{
	fake_block(image, address, usable);
	image->entered[image->block_count - 1].stack = HEAP_OLD;
}

/* Rows of what a function takes, pointed to behind the first. */
static void php_arguments(void **state)
{
	struct heap_image *image = new_image();

	(void)state;
	/* one argument at least, one named row alone, and a row that returns something */
	fake_old_block(image, HEAP, 72);
	fake_word(image, HEAP, 1);
	fake_word(image, HEAP + 16, 0x20000040);
	fake_word(image, HEAP + 32, RO);
	fake_word(image, DATA, HEAP + 32);
	fake_old_block(image, HEAP + 128, 40);
	fake_word(image, HEAP + 144, 0x10);
	fake_word(image, DATA + 8, HEAP + 160);
	/* a name that is none, a default, flags that are none, another place */
	fake_old_block(image, HEAP + 256, 72);
	fake_word(image, HEAP + 256 + 32, HEAP);
	fake_word(image, DATA + 16, HEAP + 256 + 32);
	fake_old_block(image, HEAP + 384, 40);
	fake_word(image, HEAP + 384 + 16, 0x10);
	fake_word(image, HEAP + 384 + 24, 1);
	fake_word(image, DATA + 24, HEAP + 384 + 32);
	fake_old_block(image, HEAP + 512, 40);
	fake_word(image, HEAP + 512 + 16, 0x100000010);
	fake_word(image, DATA + 32, HEAP + 512 + 32);
	fake_old_block(image, HEAP + 640, 72);
	fake_word(image, HEAP + 640 + 16, 0x10);
	fake_word(image, HEAP + 640 + 32, RO);
	fake_word(image, DATA + 40, HEAP + 640 + 40);
	expect(image, "RRPPPP");
}

/* A segment, one that keeps another block's beginning, and one that is not aligned. */
static void glibc_segments(void **state)
{
	struct heap_image *image = new_image();

	(void)state;
	fake_block(image, HEAP + 1024 + 16, 1000);
	fake_word(image, HEAP + 1152 + 8, HEAP + 1024 + 16);
	fake_word(image, DATA + 48, HEAP + 1152);
	fake_block(image, HEAP + 4096 + 16, 1000);
	fake_word(image, HEAP + 4224 + 8, HEAP + 4096);
	fake_word(image, DATA + 56, HEAP + 4224);
	fake_block(image, HEAP + 8192 + 16, 1000);
	fake_word(image, HEAP + 8256 + 8, HEAP + 8192 + 16);
	fake_word(image, DATA + 64, HEAP + 8256);
	expect(image, "RPP");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(php_arguments),
		cmocka_unit_test(glibc_segments),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
