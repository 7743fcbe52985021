// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which memory of tcmalloc's is dead, on spans, lists and caches made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/heap/fake_tcmalloc.h"

static void whole(void **state)
{
	struct heap_image *image = fake_tcmalloc();

	(void)state;
	fake_find_dead(image);
	assert_true(fake_dead(image, tcmalloc_object(0) + 24));
	assert_int_equal(heap_block_room_end(image, 0), tcmalloc_object(1));
	assert_false(fake_dead(image, tcmalloc_object(1)));
	for (unsigned i = 2; i < 256; i++)
		assert_true(fake_dead(image, tcmalloc_object(i) + 24));
	assert_int_equal(heap_block_room_end(image, 1), TC_LARGE + 0x4000);
	assert_true(fake_dead(image, TC_FREE));
	assert_true(fake_dead(image, TC_FREE + 0x3ff8));
	assert_true(fake_dead(image, TC_CENTRAL + 144));
	assert_false(fake_dead(image, TC_CENTRAL + 1152));
	assert_false(fake_dead(image, TC_OTHER));
	heap_image_free(image);
}

/* Where no block is known: all of it, each piece once. */
static void books(void **state)
{
	struct heap_image *image = fake_tcmalloc();
	struct inventory inventory = {0};
	const struct inspected_allocator *shown = &inventory.allocators[0].shown;

	(void)state;
	image->block_count = 0;
	image->inventory = &inventory;
	fake_find_dead(image);
	assert_int_equal(inventory.count, 1);
	assert_string_equal(shown->name, "tcmalloc (gperftools)");
	assert_string_equal(shown->why, "");
	assert_int_equal(image->old.count, 4);
	assert_int_equal(block_list_at(&image->old, 0).address, tcmalloc_object(0));
	assert_int_equal(fake_old_end(image, 0), tcmalloc_object(1));
	assert_int_equal(block_list_at(&image->old, 1).address, tcmalloc_object(1));
	assert_int_equal(block_list_at(&image->old, 2).address, TC_LARGE);
	assert_int_equal(fake_old_end(image, 2), TC_LARGE + 0x4000);
	assert_int_equal(block_list_at(&image->old, 3).address, TC_KEPT);
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
	for (int i = 1; i < 9; i++) {
		struct heap_image *image = fake_tcmalloc();
		struct inventory inventory = {0};

		image->inventory = &inventory;
		switch (i) {
		case 1: /* the thread's is longer than it says, and by more than is moved at once */
			fake_word(image, TC_CACHE + 32 * TC_CLASS, tcmalloc_object(255));
			break;
		case 2: /* a circle */
			fake_word(image, tcmalloc_object(9), tcmalloc_object(4));
			break;
		case 3: /* into the middle of an object */
			fake_word(image, tcmalloc_object(4), tcmalloc_object(9) + 8);
			break;
		case 4: /* the span has other numbers */
			fake_word(image, TC_SPANS + 40, 7 | TC_CLASS << 16);
			break;
		case 5:
			fake_word(image, tcmalloc_object(20), TC_LARGE);
			break;
		case 6: /* the transfer cache is another class's */
			fake_word(image, TC_CENTRAL + 8, TC_CLASS + 1);
			break;
		case 7: /* and a circle */
			fake_word(image, tcmalloc_object(3), tcmalloc_object(2));
			break;
		default: /* it has more than it has room for */
			fake_word(image, TC_CENTRAL + 1152, 65);
			break;
		}
		fake_find_dead(image);
		assert_int_equal(fake_dead(image, tcmalloc_object(4) + 24), i >= 4);
		assert_int_equal(fake_dead(image, tcmalloc_object(20) + 24), i != 4 && i != 5);
		assert_int_equal(fake_dead(image, tcmalloc_object(2) + 24), i < 6);
		assert_int_equal(fake_dead(image, TC_CENTRAL + 144), i < 6 || i == 7);
		assert_true(fake_dead(image, TC_FREE));
		assert_false(fake_dead(image, tcmalloc_object(1)));
		/* What of its class is on no list may be in use, or on that one. */
		assert_int_equal(image->old.count, 1); /* TC_KEPT */
		assert_true(inventory.allocators[0].shown.unbelieved_bytes >= 32);
		assert_string_not_equal(inventory.allocators[0].shown.why, "");
		heap_image_free(image);
	}
}

/* A thread's list that is not yet counted as it is: what is on it is held, and all else is known. */
static void uncounted(void **state)
{
	(void)state;
	for (int i = 0; i < 3; i++) {
		struct heap_image *image = fake_tcmalloc();
		struct inventory inventory = {0};

		image->inventory = &inventory;
		fake_word(image, TC_CACHE + 32 * TC_CLASS + 8, i == 2 ? 0 : 1 + 2 * i);
		fake_find_dead(image);
		assert_int_equal(image->in_hand_count, 2);
		assert_int_equal(image->in_hand[0], tcmalloc_object(4));
		assert_int_equal(image->in_hand[1], tcmalloc_object(9));
		assert_false(fake_dead(image, tcmalloc_object(4) + 24));
		assert_true(fake_dead(image, tcmalloc_object(20) + 24));
		assert_int_equal(image->old.count, 4); /* 1, 4, 9 and TC_KEPT */
		assert_int_equal(inventory.allocators[0].shown.unbelieved_bytes, 0);
		assert_non_null(strstr(inventory.allocators[0].shown.why, "at that moment"));
		heap_image_free(image);
	}
}

/* While a thread has the central list's lock its last slot may be stale, and the one behind it still be wanted. */
static void locked(void **state)
{
	struct heap_image *image = fake_tcmalloc();
	struct inventory inventory = {0};

	(void)state;
	image->inventory = &inventory;
	fake_word(image, TC_CENTRAL, 1);
	fake_word(image, TC_SPANS + 40,
		  7 | TC_CLASS << 16); /* one more in use than the list says */
	fake_find_dead(image);
	assert_int_equal(image->in_hand[0], tcmalloc_object(2));
	assert_int_equal(image->in_hand[1], tcmalloc_object(3));
	assert_int_equal(image->in_hand[2], tcmalloc_object(0));
	assert_int_equal(image->in_hand[3], tcmalloc_object(255));
	assert_int_equal(image->in_hand_count, 3 + 250);
	assert_false(fake_dead(image, tcmalloc_object(2) + 24));
	assert_true(fake_dead(image, tcmalloc_object(4) + 24));
	assert_int_equal(inventory.allocators[0].shown.unbelieved_bytes, 0);
	assert_non_null(strstr(inventory.allocators[0].shown.why, "at that moment"));
	heap_image_free(image);
}

/* A thread has the description of a large object in hand, and perhaps not its address. */
static void in_hand(void **state)
{
	struct heap_image *image = fake_tcmalloc();

	(void)state;
	image->memory->threads[0].words[0] = TC_SPANS + 144 + 16;
	fake_find_dead(image);
	assert_int_equal(image->in_hand_count, 1);
	assert_int_equal(image->in_hand[0], TC_KEPT);
	heap_image_free(image);
}

/* Without sizes of classes, or without agreement on a span, what is there stays. */
static void broken_spans(void **state)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		struct heap_image *image = fake_tcmalloc();

		switch (i) {
		case 0: /* the last page is another's */
			tcmalloc_entry(image, TC_FREE + 0x2000, TC_SPANS);
			break;
		case 1: /* the first one */
			tcmalloc_entry(image, TC_FREE, TC_SPANS);
			break;
		case 2: /* no place that there is */
			fake_word(image, TC_SPANS + 96 + 40, 3 << 24);
			break;
		case 3: /* a size that wraps around */
			fake_word(image, TC_SPANS + 96 + 8, UINT64_MAX);
			break;
		default: /* classes that do not rise */
			fake_word(image, TC_CACHE + 32 * 20 + 24, 8);
			break;
		}
		fake_find_dead(image);
		assert_int_equal(fake_dead(image, TC_FREE), i == 4);
		assert_int_equal(fake_dead(image, tcmalloc_object(4) + 24), i != 4);
		assert_int_equal(fake_dead(image, tcmalloc_object(20) + 24), i != 4);
		heap_image_free(image);
	}
}

static void no_map(void **state)
{
	struct heap_image *image = fake_tcmalloc();

	(void)state;
	fake_word(image, TC_ROOT + 8 * (TC_SMALL >> 31), TC_LEAF + 64);
	fake_find_dead(image);
	assert_int_equal(image->dead_count, 0);
	heap_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),	cmocka_unit_test(books),
		cmocka_unit_test(uncounted),	cmocka_unit_test(locked),
		cmocka_unit_test(in_hand),	cmocka_unit_test(broken_lists),
		cmocka_unit_test(broken_spans), cmocka_unit_test(no_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
