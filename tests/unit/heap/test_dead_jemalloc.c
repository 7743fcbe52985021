// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which memory of jemalloc's is dead and what is in use, on a tree, extents and a thread's cache made by
 * hand, as 5.3 and as 5.2 have them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/heap/fake_jemalloc.h"

static void whole_of(bool known)
{
	struct jemalloc_parts p;
	struct heap_image *image = fake_jemalloc(&p);

	image->all_known = known;
	fake_find_dead(image);
	assert_true(fake_dead(image, JE_SLAB + 40)); /* what a known block has no use for */
	assert_int_equal(heap_block_room_end(image, 0), JE_SLAB + 48);
	assert_int_equal(fake_dead(image, JE_SLAB + 48), known);
	assert_true(fake_dead(image, JE_SLAB + 2 * 48)); /* by its bitmap */
	assert_true(fake_dead(image, JE_SLAB + 3 * 48)); /* by the cache */
	assert_true(fake_dead(image, JE_SLAB + 255 * 48));
	assert_int_equal(fake_dead(image, JE_LARGE + 0x240), known);
	assert_true(fake_dead(image, JE_DIRTY));
	assert_true(fake_dead(image, JE_DIRTY + 0x3ff8));
	assert_true(fake_dead(image, JE_CACHE + 8));
	assert_true(fake_dead(image, JE_CACHE + 8 + 36 * 128 - 8));
	assert_true(fake_dead(image, p.slab + 8));
	assert_true(fake_dead(image, p.large + 8));
	assert_true(fake_dead(image, p.old + 8));
	assert_true(fake_dead(image, JE_HINTS));
	assert_false(fake_dead(image, JE_HOOKS));
	/* What nothing of jemalloc's leads to is somebody else's. */
	assert_false(fake_dead(image, JE_SINGLE));
	assert_false(fake_dead(image, JE_DIRTY + 0x4000));
	assert_false(fake_dead(image, JE_ROOT + 8 * (JE_SLAB >> 30)));
	heap_image_free(image);
}

static void whole(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		jemalloc_old = i & 1;
		whole_of(i & 2);
	}
	jemalloc_old = false;
}

/* Where no block is known: all of it, each piece once. */
static void books(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct inventory inventory = {0};
		const struct inspected_allocator *shown = &inventory.allocators[0].shown;
		struct jemalloc_parts p;
		struct heap_image *image;

		jemalloc_old = i;
		image = fake_jemalloc(&p);
		image->block_count = 0;
		image->inventory = &inventory;
		fake_find_dead(image);
		assert_int_equal(inventory.count, 1);
		assert_string_equal(shown->name, "jemalloc");
		assert_string_equal(shown->version, i ? "5.2" : "5.3");
		assert_string_equal(shown->why, "");
		assert_int_equal(shown->arenas, 1);
		assert_int_equal(image->old.count, 3);
		assert_int_equal(block_list_at(&image->old, 0).address, JE_SLAB);
		assert_int_equal(fake_old_end(image, 0), JE_SLAB + 48);
		assert_int_equal(block_list_at(&image->old, 1).address, JE_SLAB + 48);
		assert_int_equal(block_list_at(&image->old, 2).address, JE_LARGE + 0x240);
		assert_int_equal(fake_old_end(image, 2), JE_LARGE + 0x240 + 0x4000);
		assert_int_equal(shown->in_use.count, 3);
		assert_int_equal(shown->in_use.bytes, 96 + 0x4000);
		assert_int_equal(shown->cached_bytes, 48);
		assert_int_equal(shown->free_bytes, 254 * 48 + 0x4000);
		assert_int_equal(shown->dirty_resident, 0x4000);
		assert_int_equal(shown->muzzy_resident, 0);
		/* What is around the large block, the cache's arrays, the base block. */
		assert_int_equal(shown->books_bytes, 0x1000 + 0x8000 + 0x600000);
		assert_int_equal(shown->unbelieved_bytes, 0);
		heap_image_free(image);
	}
	jemalloc_old = false;
}

/* What is free is told apart by what has become of its pages; of one that was a slab the tree says so still. */
static void decayed(void **state)
{
	(void)state;
	for (int i = 0; i < 12; i++) {
		struct inventory inventory = {0};
		const struct inspected_allocator *shown = &inventory.allocators[0].shown;
		struct jemalloc_parts p;
		struct heap_image *image;
		uint64_t what = (uint64_t)i / 4 + 1, edata; /* dirty, muzzy, retained */

		jemalloc_old = i & 1;
		image = fake_jemalloc(&p);
		image->inventory = &inventory;
		edata = jemalloc_extent(image, JE_DIRTY, 0x4000, what, JE_FREE_CLASS, 0, 0);
		if (i & 2)
			jemalloc_entry(image, JE_DIRTY, jemalloc_entry_of(edata, what, 2, 1));
		fake_find_dead(image);
		assert_string_equal(shown->why, "");
		assert_int_equal(shown->free_bytes, 254 * 48 + 0x4000);
		assert_int_equal(shown->dirty_resident, what == 1 ? 0x4000 : 0);
		assert_int_equal(shown->muzzy_resident, what == 2 ? 0x4000 : 0);
		heap_image_free(image);
	}
	jemalloc_old = false;
}

/* Without a cache it is not known whether a block is in one. */
static void no_cache(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct inventory inventory = {0};
		struct jemalloc_parts p;
		struct heap_image *image;

		jemalloc_old = i;
		image = fake_jemalloc(&p);
		image->inventory = &inventory;
		fake_word(image, jemalloc_old ? JE_CACHE2 + 936 : JE_BINS + 24 * 20, 0x1234);
		fake_find_dead(image);
		assert_int_equal(image->old.count, 0);
		assert_int_equal(inventory.allocators[0].shown.in_use.count, 1); /* ours */
		assert_true(inventory.allocators[0].shown.unbelieved_bytes >= 2 * 48 + 0x4000);
		assert_non_null(strstr(inventory.allocators[0].shown.why, "cache"));
		assert_false(fake_dead(image, JE_SLAB + 48));
		assert_true(fake_dead(image, JE_SLAB + 2 * 48));
		heap_image_free(image);
	}
	jemalloc_old = false;
}

/* What does not agree with the rest is not believed, and the rest is. */
static void broken(void **state)
{
	struct jemalloc_parts p;

	(void)state;
	for (int i = 0; i < 7; i++) {
		struct heap_image *image = fake_jemalloc(&p);
		struct inventory inventory = {0};

		image->inventory = &inventory;
		image->all_known = i != 0;
		switch (i) {
		case 0: /* another number of free regions than the bitmap has */
			fake_word(image, p.slab, 1ull << 12 | 3 << 20 | 252ull << 28);
			break;
		case 1: /* the last page is another's */
			jemalloc_entry(image, JE_DIRTY + 0x3000, p.slab | 1);
			break;
		case 2: /* the tree says that it is in use */
			jemalloc_entry(image, JE_DIRTY, (uint64_t)JE_FREE_CLASS << 48 | p.dirty);
			break;
		case 3: /* a size that wraps around */
			fake_word(image, p.dirty + 16, ~4095ull);
			break;
		case 4: /* an edata_t that is not there */
			jemalloc_entry(image, JE_DIRTY, 0x7fffd0000000 | 1 << 2);
			break;
		case 5: /* the page of another */
			fake_word(image, p.dirty + 8, JE_DIRTY + 0x1000);
			break;
		default: /* a state that there is none of */
			fake_word(image, p.dirty, 7 << 17 | (uint64_t)JE_FREE_CLASS << 20);
			jemalloc_entry(image, JE_DIRTY,
				       (uint64_t)JE_FREE_CLASS << 48 | p.dirty | 7 << 2);
			break;
		}
		fake_find_dead(image);
		assert_int_equal(fake_dead(image, JE_SLAB + 2 * 48), i != 0);
		assert_int_equal(fake_dead(image, JE_DIRTY), i == 0);
		assert_int_equal(inventory.allocators[0].shown.unbelieved_bytes,
				 i == 0 ? 0x3000 : 0);
		assert_true(fake_dead(image, JE_CACHE + 8));
		heap_image_free(image);
	}
}

/*
 * A cache of which one bin is not as it should be: its blocks stay what they were; the arrays
 * between their marks are dead all the same.
 */
static void broken_cache(void **state)
{
	struct jemalloc_parts p;
	struct heap_image *image = fake_jemalloc(&p);

	(void)state;
	fake_word(image, JE_BINS + 24 * 20, 0x1234);
	fake_find_dead(image);
	assert_false(fake_dead(image, JE_SLAB + 3 * 48));
	assert_true(fake_dead(image, JE_CACHE + 8));
	heap_image_free(image);
	/* It lists what is no block. */
	image = fake_jemalloc(&p);
	fake_word(image, JE_CACHE + 8 + 3 * 128 + 120, JE_SLAB + 3 * 48 + 8);
	fake_find_dead(image);
	assert_false(fake_dead(image, JE_SLAB + 3 * 48));
	heap_image_free(image);
}

/*
 * A thread fills the array of an empty bin: what it has put there is in use by the slab's books, and no block of the
 * cache yet. It has the array's end in hand, of 5.2 the bin.
 */
static void filling(void **state)
{
	const uint64_t old_bin = JE_CACHE2 + 16 + 24 * 3, end = JE_CACHE + 8 + 4 * 128;

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct inventory inventory = {0};
		struct jemalloc_parts p;
		struct heap_image *image;

		jemalloc_old = i / 2;
		image = fake_jemalloc(&p);
		image->inventory = &inventory;
		fake_word(image, jemalloc_old ? old_bin : JE_BINS + 24 * 3, jemalloc_old ? 0 : end);
		if (i % 2)
			image->memory->threads[0].words[0] = jemalloc_old ? old_bin : end;
		fake_find_dead(image);
		assert_int_equal(image->in_hand_count, i % 2);
		if (i % 2)
			assert_int_equal(image->in_hand[0], JE_SLAB + 3 * 48);
		assert_int_equal(!*inventory.allocators[0].shown.why, !(i % 2));
		assert_false(fake_dead(image, JE_SLAB + 3 * 48));
		heap_image_free(image);
	}
	jemalloc_old = false;
}

/* A thread has the description of a large block in hand, and perhaps not its address. */
static void in_hand(void **state)
{
	struct jemalloc_parts p;
	struct heap_image *image = fake_jemalloc(&p);

	(void)state;
	image->memory->threads[0].words[0] = p.large + 40;
	fake_find_dead(image);
	assert_int_equal(image->in_hand_count, 1);
	assert_int_equal(image->in_hand[0], JE_LARGE + 0x240);
	heap_image_free(image);
}

/*
 * A large extent is about to become part of another, and what was inside has left more entries than there are
 * extents: the tree is one all the same.
 */
static void left_entries(void **state)
{
	struct jemalloc_parts p;
	struct heap_image *image = fake_jemalloc(&p);

	(void)state;
	for (uint64_t page = 0; page < 200; page++)
		jemalloc_entry(image, JE_SINGLE + 4096 * page, p.old | 5 << 2);
	/* Those that have been cleared have a class that is none. */
	for (uint64_t page = 0; page < 200; page++)
		jemalloc_entry(image, JE_SLAB - 4096 * (page + 1), 232ull << 48);
	fake_find_dead(image);
	assert_true(fake_dead(image, JE_DIRTY));
	assert_false(fake_dead(image, JE_SINGLE));
	heap_image_free(image);
}

/* No tree: nothing is jemalloc's. */
static void no_tree(void **state)
{
	struct jemalloc_parts p;
	struct heap_image *image = fake_jemalloc(&p);

	(void)state;
	fake_word(image, JE_ROOT + 8 * (JE_SLAB >> 30), JE_LEAF + 64);
	image->all_known = true;
	fake_find_dead(image);
	assert_int_equal(image->dead_count, 0);
	heap_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),	cmocka_unit_test(books),
		cmocka_unit_test(decayed),	cmocka_unit_test(no_cache),
		cmocka_unit_test(broken),	cmocka_unit_test(broken_cache),
		cmocka_unit_test(left_entries), cmocka_unit_test(filling),
		cmocka_unit_test(in_hand),	cmocka_unit_test(no_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
