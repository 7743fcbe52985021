// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which memory of mimalloc's is dead, on segments made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/heap/fake_image.h"
#include "user/heap/dead_memory.h"

#define SEGMENT 0x20002000000ull
#define SECOND	0x20004000000ull /* without a block that we know */
#define KEY	0x1234567890abcdefull
#define SLICE	0x10000ull

#define PAGE  (SEGMENT + SLICE) /* of 64 bytes */
#define FIRST (PAGE + 384)
#define FREE  (SEGMENT + 2 * SLICE)
#define LARGE (SEGMENT + 4 * SLICE) /* of 2 KiB, some of them aligned */

static const char maps[] = "20002000000-20002060000 rw-p 00000000 00:00 0 \n"
			   "20004000000-20004060000 rw-p 00000000 00:00 0 \n";

static void slice(struct heap_image *image, uint64_t segment, uint64_t index, uint64_t count,
		  uint64_t bytes)
{
	fake_word(image, segment + 264 + 80 * index, count);
	fake_word(image, segment + 264 + 80 * index + 24, bytes << 32);
}

/* Its slices: what describes it, a page, two free ones, and another page of two. */
static void segment(struct heap_image *image, uint64_t at)
{
	fake_region(image, at, 6 * SLICE);
	fake_word(image, at + 216, at ^ KEY);
	fake_word(image, at + 224, 6);
	fake_word(image, at + 232, 1);
	fake_word(image, at + 248, 6);
	slice(image, at, 0, 1, SLICE);
	slice(image, at, 1, 1, 64);
	slice(image, at, 2, 2, 0);
	slice(image, at, 4, 2, 2048);
	fake_word(image, at + 264 + 80 + 8, 1ull << 16 | 1000ull << 32);
	fake_word(image, at + 264 + 80 + 24, 1 | 64ull << 32);
}

static void page(struct heap_image *image, uint64_t word, uint64_t value)
{
	fake_word(image, SEGMENT + 264 + 80 + 8 * word, value);
}

/*
 * Of the page's blocks 0 is tracked, 1 from before, 2 and 3 free, 4 freed by the thread, 5 by
 * another, and there have never been more.
 */
static struct heap_image *heap(void)
{
	struct heap_image *image = fake_image(maps);
	uint64_t large = SEGMENT + 264 + 80 * 4ull;

	segment(image, SEGMENT);
	segment(image, SECOND);
	page(image, 1, 6ull << 16 | 1000ull << 32);
	page(image, 2, FIRST + 3 * 64);
	page(image, 3, 3 | 64ull << 32);
	page(image, 4, FIRST + 4 * 64);
	page(image, 5, (FIRST + 5 * 64) | 2);
	fake_word(image, FIRST + 3 * 64, FIRST + 2 * 64);
	fake_block(image, FIRST, 40);
	fake_word(image, large + 8, 2ull << 16 | 64ull << 32 | 2ull << 48);
	fake_word(image, large + 24, 2 | 2048ull << 32);
	fake_block(image, LARGE + 256, 256);
	return image;
}

static void whole(void **state)
{
	struct heap_image *image = heap();

	(void)state;
	fake_find_dead(image);
	assert_true(fake_dead(image, SEGMENT + 264 + 80 + 16)); /* its books */
	assert_true(fake_dead(image, FIRST + 40));		/* of the known block */
	assert_int_equal(heap_block_room_end(image, 0), FIRST + 64);
	assert_false(fake_dead(image, FIRST + 64));
	for (uint64_t i = 2; i < 7; i++)
		assert_true(fake_dead(image, FIRST + 64 * i + 56));
	assert_true(fake_dead(image, FREE));
	assert_true(fake_dead(image, FREE + 2 * SLICE - 8));
	assert_true(fake_dead(image, LARGE + 8)); /* before the block, which was aligned */
	assert_int_equal(heap_block_room_end(image, 1), LARGE + 2048);
	assert_false(fake_dead(image, LARGE + 2048));
	assert_true(fake_dead(image, LARGE + 4096));
	/* The other one, by its cookie. */
	assert_true(fake_dead(image, SECOND));
	assert_true(fake_dead(image, SECOND + 2 * SLICE));
	assert_false(fake_dead(image, SECOND + SLICE + 384));
	heap_image_free(image);
}

/* Pages whose lists are not as they should be stay roots. */
static void broken_pages(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++) {
		struct heap_image *image = heap();

		switch (i) {
		case 0: /* out of the page */
			fake_word(image, FIRST + 2 * 64, LARGE);
			break;
		case 1: /* into a block */
			fake_word(image, FIRST + 2 * 64, FIRST + 72);
			break;
		case 2: /* a circle */
			fake_word(image, FIRST + 2 * 64, FIRST + 3 * 64);
			break;
		case 3: /* more used ones than there can be */
			page(image, 3, 4 | 64ull << 32);
			break;
		case 4: /* on two lists */
			page(image, 4, FIRST + 3 * 64);
			break;
		case 5: /* behind the capacity */
			page(image, 4, FIRST + 6 * 64);
			break;
		case 6: /* a capacity for which there is no room */
			page(image, 1, 6ull << 16 | 0xffffull << 32);
			break;
		default: /* more freed by others than used */
			page(image, 3, 0 | 64ull << 32);
			break;
		}
		fake_find_dead(image);
		assert_false(fake_dead(image, FIRST + 3 * 64 + 8));
		assert_false(fake_dead(image, FIRST + 7 * 64));
		/* In the sixth no block is left that shows whose memory it is. */
		assert_int_equal(fake_dead(image, FREE), i != 6);
		heap_image_free(image);
	}
}

/* Segments that are none. */
static void broken_segments(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		struct heap_image *image = heap();

		switch (i) {
		case 0: /* another cookie */
			fake_word(image, SECOND + 216, SECOND ^ (KEY + 1));
			break;
		case 1: /* slices that lead beyond the end */
			slice(image, SECOND, 4, 3, 2048);
			break;
		case 2: /* nowhere */
			slice(image, SECOND, 2, 0, 0);
			break;
		case 3: /* more than there are */
			fake_word(image, SECOND + 248, 513);
			break;
		default: /* into the middle of a span */
			slice(image, SECOND, 2, 2 | 80ull << 32, 0);
			break;
		}
		fake_find_dead(image);
		assert_true(fake_dead(image, FREE));
		assert_false(fake_dead(image, SECOND));
		assert_false(fake_dead(image, SECOND + 2 * SLICE));
		heap_image_free(image);
	}
}

/* No block lies where a page has one: nothing says that it is mimalloc's. */
static void no_block(void **state)
{
	struct heap_image *image = heap();

	(void)state;
	image->blocks[0].address += 8;
	image->block_count = 1;
	fake_find_dead(image);
	assert_int_equal(image->dead_count, 0);
	heap_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(broken_pages),
		cmocka_unit_test(broken_segments),
		cmocka_unit_test(no_block),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
