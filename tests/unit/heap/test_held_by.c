// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What holds a block, in words, on an image made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/heap/fake_image.h"
#include "user/heap/held_by.h"

#define HEAP  0x555555600000ull
#define OTHER (HEAP + 0x8000) /* of [heap], and no block's */
#define ANON  0x7fffe0000000ull
#define DATA  0x7ffff7a00000ull
#define BSS   0x7ffff7a01000ull
#define STACK 0x7ffffff00000ull

static const char some_maps[] = "555555600000-555555610000 rw-p 00000000 00:00 0 [heap]\n"
				"7fffe0000000-7fffe0010000 rw-p 00000000 00:00 0 [anon:a\x1b"
				"b]\n"
				"7ffff7a00000-7ffff7a01000 rw-p 000cc000 08:01 9 /lib/libx.so\n"
				"7ffff7a01000-7ffff7a03000 rw-p 00000000 00:00 0 \n"
				"7ffffff00000-7ffffff10000 rw-p 00000000 00:00 0 [stack]\n";

/* The first 256 bytes of the data are a static variable of a function, all else has no symbol. */
static int name_data(void *ctx, const struct mapping *file, uint64_t address, const char **name,
		     uint64_t *offset, uint64_t *vaddr)
{
	(void)ctx;
	*offset = address - file->start;
	*name = *offset < 256 ? "cache.12" : NULL;
	*vaddr = 0x4000 + *offset;
	return 0;
}

static void put_nothing(void *ctx, FILE *out, uint32_t block)
{
	(void)ctx;
	(void)out;
	(void)block;
}

/* What holds the block, by its index, in a finished image; frees the image. */
static char *held_in(struct heap_image *image, uint32_t block)
{
	const struct reach_options options = {.heuristics = 0};
	struct held_by held = {
		.image = image,
		.names = {.data = name_data, .block = put_nothing, .heap = "the heap"}};
	struct reach *reach;
	char *text = NULL;
	size_t len;
	FILE *out;

	fake_finish(image);
	assert_int_equal(reach_new(image, &options, &reach), 0);
	held.reach = reach;
	out = open_memstream(&text, &len);
	assert_non_null(out);
	assert_int_equal(reach_class(reach, block), VERDICT_REACHABLE);
	assert_int_equal(held_by_put(&held, out, block), 0);
	assert_int_equal(fclose(out), 0);
	reach_free(reach);
	heap_image_free(image);
	return text;
}

/* A block of 48 bytes whose address is in that word, or in a register (at 0), or in nothing but somebody's hand (1). */
static char *held_at(uint64_t at, size_t chain)
{
	struct heap_image *image = fake_image(some_maps);

	fake_region(image, HEAP, 0x10000);
	fake_region(image, ANON, 0x1000);
	fake_region(image, DATA, 0x1000);
	fake_region(image, BSS, 0x2000);
	fake_region(image, STACK, 0x10000);
	fake_thread(image, STACK + 0x8000, 0, at ? 0 : HEAP);
	for (size_t i = 0; i <= chain; i++) {
		fake_block(image, HEAP + 64 * i, 48);
		if (i)
			fake_word(image, HEAP + 64 * (i - 1), HEAP + 64 * i);
	}
	if (at == 1)
		assert_int_equal(heap_image_hold(image, HEAP), 0);
	else if (at)
		fake_word(image, at, HEAP);
	return held_in(image, (uint32_t)chain);
}

static void says(uint64_t at, size_t chain, const char *expected)
{
	char *text = held_at(at, chain);

	assert_string_equal(text, expected);
	free(text);
}

static void roots(void **state)
{
	(void)state;
	says(DATA, 0, "cache (libx.so)"); /* gcc's number says nothing */
	says(DATA + 16, 0, "cache+0x10 (libx.so)");
	says(DATA + 512, 0, "data of libx.so+0x4200");
	says(BSS + 8, 0, "data of libx.so+0x5008");
	says(OTHER, 0, "the heap, at 0x555555608000");
	says(ANON + 8, 0, "memory at 0x7fffe0000008 of [anon:a?b]"); /* a line is a line */
	says(STACK + 0x8010, 0, "the stack of thread 1, 0x10 above its stack pointer");
	says(STACK + 0x8000 - 64, 0, "the stack of thread 1, 0x40 below its stack pointer");
	says(0, 0, "a register of thread 1");
	says(1, 0, "a thread that may have been allocating or freeing it at that moment");
}

/* From the root to the block, that one not; of a long way the first ones, how many more, and the last. */
static void ways(void **state)
{
	(void)state;
	says(DATA, 1, "cache (libx.so)\na block of 48 B");
	says(DATA, 2, "cache (libx.so)\na block of 48 B\na block of 48 B");
	says(DATA, 20,
	     "cache (libx.so)\na block of 48 B\na block of 48 B\na block of 48 B\n"
	     "a block of 48 B\na block of 48 B\n… 14 more blocks …\na block of 48 B");
	says(1, 1,
	     "a thread that may have been allocating or freeing it at that moment\na block of 48 "
	     "B");
}

/*
 * A thread's stack that lies in a block, and the only pointer to that block: on the stack itself, or in a
 * block that only a word of the stack leads to. Of the block `asked`, by index.
 */
static char *held_by_own_stack(bool direct, uint32_t asked)
{
	struct heap_image *image = fake_image(some_maps);

	fake_region(image, HEAP, 0x10000);
	fake_thread(image, HEAP + 0x2000, 0, 0);
	fake_block(image, HEAP, 0x4000);
	fake_block(image, OTHER, 48);
	fake_word(image, HEAP + 0x3000, direct ? HEAP : OTHER);
	fake_word(image, OTHER, HEAP);
	return held_in(image, asked);
}

static void own_stack(void **state)
{
	static const char on_stack[] = "the stack of thread 1, 0x1000 above its stack pointer";
	char *text = held_by_own_stack(true, 0);

	(void)state;
	assert_string_equal(text, on_stack);
	free(text);
	text = held_by_own_stack(false, 1);
	assert_string_equal(text, on_stack);
	free(text);
	text = held_by_own_stack(false, 0);
	assert_memory_equal(text, on_stack, strlen(on_stack));
	assert_string_equal(text + strlen(on_stack), "\na block of 48 B");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roots),
		cmocka_unit_test(ways),
		cmocka_unit_test(own_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
