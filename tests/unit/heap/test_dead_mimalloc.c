// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which memory of mimalloc's is in use and which dead, on segments made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/heap/fake_mimalloc.h"
#include "user/heap/dead_memory.h"

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
		assert_true(fake_dead(image, FREE));
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

/* The key: a variable's, or what two segments agree on. One alone may be anything. */
static void keys(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct heap_image *image = heap();

		image->block_count = 0;
		if (i & 1)
			fake_word(image, DATA + 0x128, 0);
		if (i & 2)
			fake_word(image, SECOND + 216, 0);
		fake_find_dead(image);
		assert_int_equal(fake_dead(image, FREE), i != 3);
		assert_int_equal(fake_dead(image, SECOND), i < 2);
		heap_image_free(image);
	}
}

/* Without any block that is known: each of them, and each byte once. */
static void all_blocks(void **state)
{
	struct inventory inventory = {0};
	const struct inspected_allocator *shown = &inventory.allocators[0].shown;
	struct heap_image *image = heap();

	(void)state;
	image->block_count = 0;
	image->inventory = &inventory;
	fake_find_dead(image);
	assert_int_equal(inventory.count, 1);
	assert_string_equal(shown->name, "mimalloc");
	assert_string_equal(shown->why, "");
	assert_int_equal(shown->in_use.count, 2 + 2 + 1);
	assert_int_equal(shown->in_use.bytes, 2 * 64 + 2 * 2048 + 64);
	assert_int_equal(shown->cached_bytes, 4 * 64);
	assert_int_equal(shown->books_bytes, 2 * SLICE + 2 * 384);
	assert_int_equal(shown->in_use.bytes + shown->free_bytes + shown->books_bytes,
			 2 * 6 * SLICE);
	assert_int_equal(image->old.count, 5);
	heap_image_free(image);
}

/* What another thread has freed of a full page waits on a list of the page's heap. */
static void delayed(void **state)
{
	const uint64_t thread = SEGMENT + 5 * SLICE; /* any memory does */
	struct inventory inventory = {0};
	struct heap_image *image = heap();

	(void)state;
	image->block_count = 0;
	image->inventory = &inventory;
	page(image, 6, thread);
	fake_word(image, thread + 2840, FIRST + 64);
	fake_word(image, FIRST + 64, 0);
	fake_find_dead(image);
	assert_true(fake_dead(image, FIRST + 64));
	assert_int_equal(inventory.allocators[0].shown.in_use.count, 4);
	assert_int_equal(inventory.allocators[0].shown.arenas, 1);
	heap_image_free(image);
}

/* A segment that is one block; of one that was to be aligned a part; or kept, with none. */
static void huge(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct inventory inventory = {0};
		const struct inspected_allocator *shown = &inventory.allocators[0].shown;
		struct heap_image *image = heap();
		uint64_t description = SECOND + 264 + 80;

		image->block_count = 0;
		image->inventory = &inventory;
		fake_word(image, SECOND + 224, 1000); /* slices, of which the first are described */
		fake_word(image, SECOND + 240, 1);
		fake_word(image, SECOND + 248, 512);
		slice(image, SECOND, 1, 999, 999 * SLICE);
		fake_word(image, description + 8, 1ull << 16 | 1ull << 32);
		fake_word(image, description + 24, 1 | 999 * SLICE << 32);
		if (i == 1) {
			fake_word(image, SECOND + 16, 32ull << 20);
			fake_word(image, SECOND + 24, 32ull << 20);
		} else if (i == 2) {
			fake_word(image, SECOND + 208, 0);
		} else if (i == 3) { /* more in use than there are */
			fake_word(image, description + 24, 2 | 999 * SLICE << 32);
		}
		fake_find_dead(image);
		assert_int_equal(shown->in_use.count, i < 2 ? 5 : 4);
		assert_int_equal(shown->unbelieved_bytes, i == 3 ? 999 * SLICE : 0);
		if (i < 2)
			assert_int_equal(block_list_at(&image->old, 4).address,
					 i ? SECOND + (32ull << 20) : SECOND + SLICE);
		if (i < 2)
			assert_int_equal(fake_old_end(image, 4), SECOND + 1000 * SLICE);
		heap_image_free(image);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(broken_pages),
		cmocka_unit_test(broken_segments),
		cmocka_unit_test(keys),
		cmocka_unit_test(all_blocks),
		cmocka_unit_test(delayed),
		cmocka_unit_test(huge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
