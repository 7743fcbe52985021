// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which memory of tcmalloc's is dead, on spans, lists and caches made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/heap/fake_image.h"
#include "user/heap/dead_memory.h"

#define BSS	0x7ffff7a01000ull
#define ROOT	(BSS + 0x4440)
#define CENTRAL (BSS + 0x2000) /* of the class of 32 bytes: its lock */
#define LEAF	0x7fffe0000000ull
#define SPANS	0x7fffe0300000ull
#define CACHE	0x7fffe0310000ull
#define TLS	0x7ffff7000000ull

#define SMALL 0x555555600000ull /* of 32 bytes */
#define LARGE 0x555555602000ull
#define FREE  0x555555606000ull
#define OTHER 0x55555560a000ull /* the program's, in the same mapping */
#define KEPT  0x555555610000ull /* of one page */

#define CLASS 2

static const char maps[] = "555555600000-555555620000 rw-p 00000000 00:00 0 [heap]\n"
			   "7fffe0000000-7fffe0320000 rw-p 00000000 00:00 0 \n"
			   "7ffff6ff0000-7ffff7001000 rw-p 00000000 00:00 0 \n"
			   "7ffff7a00000-7ffff7a01000 rw-p 000cc000 08:01 9 /lib/libtcmalloc.so.4\n"
			   "7ffff7a01000-7ffff7c20000 rw-p 00000000 00:00 0 \n";

static void entry(struct heap_image *image, uint64_t address, uint64_t span)
{
	fake_word(image, LEAF + 8 * ((address >> 13) % (1 << 18)), span);
}

static uint64_t span(struct heap_image *image, uint64_t at, uint64_t address, uint64_t pages,
		     uint64_t bits)
{
	fake_word(image, at, address >> 13);
	fake_word(image, at + 8, pages);
	fake_word(image, at + 40, bits);
	entry(image, address, at);
	entry(image, address + (pages - 1) * 8192, at);
	return at;
}

static uint64_t object(unsigned index)
{
	return SMALL + 32ull * index;
}

/*
 * Lists of 40 classes: 8, 32, 64 … and at last 256 KiB. Of the second one the thread has two
 * objects.
 */
static void cache(struct heap_image *image)
{
	for (uint64_t i = 1; i < 40; i++)
		fake_word(image, CACHE + 32 * i + 24,
			  i == 1    ? 8
			  : i == 39 ? 256 << 10
				    : 32 * (i - 1));
	fake_word(image, CACHE + 32 * CLASS, object(4));
	fake_word(image, object(4), object(9));
	fake_word(image, CACHE + 32 * CLASS + 8, 2);
	fake_word(image, TLS - 0x40, CACHE);
}

/*
 * Of the objects 0 is tracked, 1 from before, 2 on the way between threads with 3; 4 and 9 are in a
 * thread's cache, all others on the span's list.
 */
static struct heap_image *heap(void)
{
	struct heap_image *image = fake_image(maps);
	uint64_t small, last = 0;

	fake_region(image, SMALL, 0x20000);
	fake_region(image, LEAF, 0x320000);
	fake_region(image, TLS - 0x10000, 0x11000);
	fake_region(image, BSS, 0x21f000);
	fake_word(image, ROOT + 8 * (SMALL >> 31), LEAF);
	small = span(image, SPANS, SMALL, 1, 6 | CLASS << 16);
	span(image, SPANS + 48, LARGE, 2, 0);
	span(image, SPANS + 96, FREE, 2, 1 << 24);
	span(image, SPANS + 144, KEPT, 1, 0);
	for (unsigned i = 5; i < 256; i++) {
		if (i == 9)
			continue;
		fake_word(image, object(i), last);
		last = object(i);
	}
	fake_word(image, small + 32, last);
	/* The ring of its class's spans. */
	fake_word(image, small + 16, CENTRAL + 64);
	fake_word(image, CENTRAL + 8, CLASS);
	fake_word(image, CENTRAL + 64 + 16, small);
	fake_word(image, CENTRAL + 128, object(2));
	fake_word(image, object(2), object(3));
	fake_word(image, CENTRAL + 144, object(0)); /* a slot that is not used now */
	fake_word(image, CENTRAL + 1152, 1);
	cache(image);
	fake_block(image, object(0), 20);
	fake_block(image, LARGE, 9000);
	fake_thread(image, 0x7ffffffff000, TLS, 0);
	return image;
}

static void whole(void **state)
{
	struct heap_image *image = heap();

	(void)state;
	fake_find_dead(image);
	assert_true(fake_dead(image, object(0) + 24));
	assert_int_equal(heap_block_room_end(image, 0), object(1));
	assert_false(fake_dead(image, object(1)));
	for (unsigned i = 2; i < 256; i++)
		assert_true(fake_dead(image, object(i) + 24));
	assert_int_equal(heap_block_room_end(image, 1), LARGE + 0x4000);
	assert_true(fake_dead(image, FREE));
	assert_true(fake_dead(image, FREE + 0x3ff8));
	assert_true(fake_dead(image, CENTRAL + 144));
	assert_false(fake_dead(image, CENTRAL + 1152));
	assert_false(fake_dead(image, OTHER));
	heap_image_free(image);
}

/* Where no block is known: all of it, each piece once. */
static void books(void **state)
{
	struct heap_image *image = heap();
	struct inventory inventory = {0};
	const struct inspected_allocator *shown = &inventory.allocators[0].shown;

	(void)state;
	image->block_count = 0;
	image->inventory = &inventory;
	fake_find_dead(image);
	assert_int_equal(inventory.count, 1);
	assert_string_equal(shown->name, "tcmalloc (gperftools)");
	assert_string_equal(shown->why, "");
	assert_int_equal(image->old_count, 4);
	assert_int_equal(image->old[0].address, object(0));
	assert_int_equal(image->old[0].address + image->old[0].size, object(1));
	assert_int_equal(image->old[1].address, object(1));
	assert_int_equal(image->old[2].address, LARGE);
	assert_int_equal(image->old[2].address + image->old[2].size, LARGE + 0x4000);
	assert_int_equal(image->old[3].address, KEPT);
	assert_int_equal(shown->in_use.count, 4);
	assert_int_equal(shown->in_use.bytes, 64 + 0x4000 + 0x2000);
	assert_int_equal(shown->cached_bytes, 4 * 32);
	assert_int_equal(shown->free_bytes, 254 * 32 + 0x4000);
	/* The leaf, the page of the descriptions, those of the cache. */
	assert_int_equal(shown->books_bytes, 0x200000 + 0x1000 + 0x1000);
	assert_int_equal(shown->unbelieved_bytes, 0);
	heap_image_free(image);
}

/* A list that is not as it should be is not believed; the others are. */
static void broken_lists(void **state)
{
	(void)state;
	for (int i = 0; i < 9; i++) {
		struct heap_image *image = heap();
		struct inventory inventory = {0};

		image->inventory = &inventory;
		switch (i) {
		case 0: /* the thread's is longer than it says */
			fake_word(image, CACHE + 32 * CLASS + 8, 1);
			break;
		case 1: /* shorter */
			fake_word(image, CACHE + 32 * CLASS + 8, 3);
			break;
		case 2: /* a circle */
			fake_word(image, object(9), object(4));
			break;
		case 3: /* into the middle of an object */
			fake_word(image, object(4), object(9) + 8);
			break;
		case 4: /* the span has other numbers */
			fake_word(image, SPANS + 40, 7 | CLASS << 16);
			break;
		case 5:
			fake_word(image, object(20), LARGE);
			break;
		case 6: /* the transfer cache is another class's */
			fake_word(image, CENTRAL + 8, CLASS + 1);
			break;
		case 7: /* and a circle */
			fake_word(image, object(3), object(2));
			break;
		default: /* it has more than it has room for */
			fake_word(image, CENTRAL + 1152, 65);
			break;
		}
		fake_find_dead(image);
		assert_int_equal(fake_dead(image, object(4) + 24), i >= 4);
		assert_int_equal(fake_dead(image, object(20) + 24), i != 4 && i != 5);
		assert_int_equal(fake_dead(image, object(2) + 24), i < 6);
		assert_int_equal(fake_dead(image, CENTRAL + 144), i < 6 || i == 7);
		assert_true(fake_dead(image, FREE));
		assert_false(fake_dead(image, object(1)));
		/* What of its class is on no list may be in use, or on that one. */
		assert_int_equal(image->old_count, 1); /* KEPT */
		assert_true(inventory.allocators[0].shown.unbelieved_bytes >= 32);
		assert_string_not_equal(inventory.allocators[0].shown.why, "");
		heap_image_free(image);
	}
}

/* Without sizes of classes, or without agreement on a span, what is there stays. */
static void broken_spans(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		struct heap_image *image = heap();

		switch (i) {
		case 0: /* the last page is another's */
			entry(image, FREE + 0x2000, SPANS);
			break;
		case 1: /* the first one */
			entry(image, FREE, SPANS);
			break;
		case 2: /* no place that there is */
			fake_word(image, SPANS + 96 + 40, 3 << 24);
			break;
		case 3: /* a size that wraps around */
			fake_word(image, SPANS + 96 + 8, UINT64_MAX);
			break;
		default: /* classes that do not rise */
			fake_word(image, CACHE + 32 * 20 + 24, 8);
			break;
		}
		fake_find_dead(image);
		assert_int_equal(fake_dead(image, FREE), i == 4);
		assert_int_equal(fake_dead(image, object(4) + 24), i != 4);
		assert_int_equal(fake_dead(image, object(20) + 24), i != 4);
		heap_image_free(image);
	}
}

static void no_map(void **state)
{
	struct heap_image *image = heap();

	(void)state;
	fake_word(image, ROOT + 8 * (SMALL >> 31), LEAF + 64);
	fake_find_dead(image);
	assert_int_equal(image->dead_count, 0);
	heap_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),	cmocka_unit_test(books),
		cmocka_unit_test(broken_lists), cmocka_unit_test(broken_spans),
		cmocka_unit_test(no_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
