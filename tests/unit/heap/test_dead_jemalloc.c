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

#include "tests/unit/heap/fake_image.h"
#include "user/heap/dead_memory.h"

#define BSS    0x7ffff7a01000ull
#define ROOT   (BSS + 0x440)
#define BASE   0x7fffe0000000ull /* jemalloc's own memory */
#define EDATAS (BASE + 0x1000)
#define HINTS  (BASE + 0x3008) /* where an arena repeats addresses of extents */
#define HOOKS  (BASE + 200)    /* what the program may have given */
#define LEAF   (BASE + 0x200000)
#define TLS    0x7ffff7000000ull
#define BINS   (TLS - 0x1000)
#define CACHE2 (TLS - 0x2000) /* of 5.2 */

/* The extents. */
#define SLAB   0x7ffff0000000ull /* of 48 bytes */
#define LARGE  0x7ffff0003000ull
#define DIRTY  0x7ffff0008000ull
#define CACHE  0x7ffff0010000ull /* a thread's arrays */
#define SINGLE 0x7ffff0020000ull /* no extent: the program's own mapping, merged with them */

#define LARGE_CLASS 36
#define FREE_CLASS  232

static const char maps[] = "7fffe0000000-7fffe0600000 rw-p 00000000 00:00 0 \n"
			   "7ffff0000000-7ffff0040000 rw-p 00000000 00:00 0 \n"
			   "7ffff6ff0000-7ffff7001000 rw-p 00000000 00:00 0 \n"
			   "7ffff7a00000-7ffff7a01000 rw-p 000cc000 08:01 9 /lib/libjemalloc.so.2\n"
			   "7ffff7a01000-7ffff7c20000 rw-p 00000000 00:00 0 \n";

static bool old_layout;	  /* 5.2 */
static uint64_t edata_at; /* where the next edata_t comes */

/* The first word of a description. */
static uint64_t bits(uint64_t state, uint64_t size_class, uint64_t slab, uint64_t free)
{
	return old_layout ? 1ull << 43 | slab << 12 | state << 16 | size_class << 18 | free << 26
			  : slab << 12 | state << 17 | size_class << 20 | free << 28;
}

static uint64_t entry_of(uint64_t edata, uint64_t state, uint64_t size_class, uint64_t slab)
{
	return size_class << 48 | edata | (old_layout ? 0 : state << 2) | slab;
}

static void entry(struct heap_image *image, uint64_t page, uint64_t word)
{
	fake_word(image, LEAF + 8 * (page / 4096 % (1 << 18)), word);
}

/* An extent, in its edata_t and in the tree. Returns the edata_t. */
static uint64_t extent(struct heap_image *image, uint64_t address, uint64_t size, uint64_t state,
		       uint64_t size_class, uint64_t slab, uint64_t free)
{
	uint64_t edata = edata_at, page = address & ~4095ull;

	edata_at += 128;
	fake_word(image, edata, bits(state, size_class, slab, free));
	fake_word(image, edata + 8, address);
	fake_word(image, edata + 16, size);
	entry(image, page, entry_of(edata, state, size_class, slab));
	entry(image, page + size - 4096, entry_of(edata, state, size_class, slab));
	return edata;
}

struct parts {
	uint64_t slab, large, dirty, old;
};

/*
 * Rows of arrays, 16 words each: of the class of 48 bytes the last three hold a free block, and
 * before it addresses of blocks that were handed out.
 */
static void cache(struct heap_image *image)
{
	uint64_t at = CACHE + 8;

	fake_word(image, CACHE, 0x7a7a7a7a7a7a7a7aull);
	for (uint64_t bin = 0; bin < 36; bin++, at += 128) {
		uint64_t head = at + 128 - (bin == 3 ? 8 : 0);

		fake_word(image, BINS + 24 * bin, head);
		fake_word(image, BINS + 24 * bin + 16,
			  ((at + 128) & 0xffff) << 32 | (at & 0xffff) << 16 | (head & 0xffff));
		if (bin == 3)
			fake_word(image, head, SLAB + 3 * 48ull);
	}
	fake_word(image, at, 0xa7a7a7a7a7a7a7a7ull);
}

/* The same of 5.2, which marks no beginning and no end. */
static void old_cache(struct heap_image *image)
{
	fake_word(image, CACHE2 + 936, CACHE2 + 16);
	fake_word(image, CACHE2 + 944, CACHE2 + 1000);
	for (uint64_t bin = 0; bin < 41; bin++) {
		uint64_t at = CACHE2 + 16 + 24 * bin + (bin < 36 ? 0 : 120);

		fake_word(image, at, bin == 3 ? 1ull << 32 : 0);
		fake_word(image, at + 16, CACHE + 128 * (bin + 1));
		if (bin == 3)
			fake_word(image, CACHE + 128 * (bin + 1) - 8, SLAB + 3 * 48ull);
	}
}

static struct heap_image *heap(struct parts *p)
{
	struct heap_image *image = fake_image(maps);

	fake_region(image, BASE, 0x600000);
	fake_region(image, SLAB, 0x40000);
	fake_region(image, TLS - 0x10000, 0x11000);
	fake_region(image, BSS, 0x21f000);
	fake_word(image, ROOT + 8 * (SLAB >> 30), LEAF);
	fake_word(image, BASE, 0x600000);
	fake_word(image, BASE + 24, BASE + 0x500000); /* what is left of it */
	fake_word(image, BASE + 32, 0x100000);
	edata_at = old_layout ? EDATAS + 64 : EDATAS;
	/* Regions 0, 1 and 3 of 256 are allocated: tracked, from before, in the cache. */
	p->slab = extent(image, SLAB, 0x3000, 0, 3, 1, 253);
	fake_word(image, p->slab + 64, ~0xbull);
	for (uint64_t i = 1; i < 4; i++)
		fake_word(image, p->slab + 64 + 8 * i, ~0ull);
	fake_word(image, p->slab + 96, 0x4141414141414141ull); /* not of its bitmap */
	fake_block(image, SLAB, 40);
	p->large = extent(image, LARGE + 0x240, 0x5000, 0, LARGE_CLASS, 0, 0);
	p->dirty = extent(image, DIRTY, 0x4000, 1, FREE_CLASS, 0, 0);
	extent(image, CACHE, 0x8000, 0, 39, 0, 0);
	/* Describes nothing any more. */
	p->old = edata_at + 128;
	fake_word(image, p->old + 8, LARGE + 0x240);
	fake_word(image, p->old + 16, 0x1000);
	fake_word(image, HINTS, SLAB);
	fake_word(image, HOOKS, SLAB + 48);
	if (old_layout)
		old_cache(image);
	else
		cache(image);
	fake_thread(image, 0x7ffffffff000, TLS, 0);
	return image;
}

static void whole_of(bool known)
{
	struct parts p;
	struct heap_image *image = heap(&p);

	image->all_known = known;
	fake_find_dead(image);
	assert_true(fake_dead(image, SLAB + 40)); /* what a known block has no use for */
	assert_int_equal(heap_block_room_end(image, 0), SLAB + 48);
	assert_int_equal(fake_dead(image, SLAB + 48), known);
	assert_true(fake_dead(image, SLAB + 2 * 48)); /* by its bitmap */
	assert_true(fake_dead(image, SLAB + 3 * 48)); /* by the cache */
	assert_true(fake_dead(image, SLAB + 255 * 48));
	assert_int_equal(fake_dead(image, LARGE + 0x240), known);
	assert_true(fake_dead(image, DIRTY));
	assert_true(fake_dead(image, DIRTY + 0x3ff8));
	assert_true(fake_dead(image, CACHE + 8));
	assert_true(fake_dead(image, CACHE + 8 + 36 * 128 - 8));
	assert_true(fake_dead(image, p.slab + 8));
	assert_true(fake_dead(image, p.large + 8));
	assert_true(fake_dead(image, p.old + 8));
	assert_true(fake_dead(image, HINTS));
	assert_false(fake_dead(image, HOOKS));
	/* What nothing of jemalloc's leads to is somebody else's. */
	assert_false(fake_dead(image, SINGLE));
	assert_false(fake_dead(image, DIRTY + 0x4000));
	assert_false(fake_dead(image, ROOT + 8 * (SLAB >> 30)));
	heap_image_free(image);
}

static void whole(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		old_layout = i & 1;
		whole_of(i & 2);
	}
	old_layout = false;
}

/* Where no block is known: all of it, each piece once. */
static void books(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct inventory inventory = {0};
		const struct inspected_allocator *shown = &inventory.allocators[0].shown;
		struct parts p;
		struct heap_image *image;

		old_layout = i;
		image = heap(&p);
		image->block_count = 0;
		image->inventory = &inventory;
		fake_find_dead(image);
		assert_int_equal(inventory.count, 1);
		assert_string_equal(shown->name, "jemalloc");
		assert_string_equal(shown->version, i ? "5.2" : "5.3");
		assert_string_equal(shown->why, "");
		assert_int_equal(shown->arenas, 1);
		assert_int_equal(image->old_count, 3);
		assert_int_equal(image->old[0].address, SLAB);
		assert_int_equal(image->old[0].address + image->old[0].size, SLAB + 48);
		assert_int_equal(image->old[1].address, SLAB + 48);
		assert_int_equal(image->old[2].address, LARGE + 0x240);
		assert_int_equal(image->old[2].address + image->old[2].size,
				 LARGE + 0x240 + 0x4000);
		assert_int_equal(shown->in_use.count, 3);
		assert_int_equal(shown->in_use.bytes, 96 + 0x4000);
		assert_int_equal(shown->cached_bytes, 48);
		assert_int_equal(shown->free_bytes, 254 * 48 + 0x4000);
		/* What is around the large block, the cache's arrays, the base block. */
		assert_int_equal(shown->books_bytes, 0x1000 + 0x8000 + 0x600000);
		assert_int_equal(shown->unbelieved_bytes, 0);
		heap_image_free(image);
	}
	old_layout = false;
}

/* Without a cache it is not known whether a block is in one. */
static void no_cache(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		struct inventory inventory = {0};
		struct parts p;
		struct heap_image *image;

		old_layout = i;
		image = heap(&p);
		image->inventory = &inventory;
		fake_word(image, old_layout ? CACHE2 + 936 : BINS + 24 * 20, 0x1234);
		fake_find_dead(image);
		assert_int_equal(image->old_count, 0);
		assert_int_equal(inventory.allocators[0].shown.in_use.count, 1); /* ours */
		assert_true(inventory.allocators[0].shown.unbelieved_bytes >= 2 * 48 + 0x4000);
		assert_non_null(strstr(inventory.allocators[0].shown.why, "cache"));
		assert_false(fake_dead(image, SLAB + 48));
		assert_true(fake_dead(image, SLAB + 2 * 48));
		heap_image_free(image);
	}
	old_layout = false;
}

/* What does not agree with the rest is not believed, and the rest is. */
static void broken(void **state)
{
	struct parts p;

	(void)state;
	for (int i = 0; i < 7; i++) {
		struct heap_image *image = heap(&p);
		struct inventory inventory = {0};

		image->inventory = &inventory;
		image->all_known = i != 0;
		switch (i) {
		case 0: /* another number of free regions than the bitmap has */
			fake_word(image, p.slab, 1ull << 12 | 3 << 20 | 252ull << 28);
			break;
		case 1: /* the last page is another's */
			entry(image, DIRTY + 0x3000, p.slab | 1);
			break;
		case 2: /* the tree says that it is in use */
			entry(image, DIRTY, (uint64_t)FREE_CLASS << 48 | p.dirty);
			break;
		case 3: /* a size that wraps around */
			fake_word(image, p.dirty + 16, ~4095ull);
			break;
		case 4: /* an edata_t that is not there */
			entry(image, DIRTY, 0x7fffd0000000 | 1 << 2);
			break;
		case 5: /* the page of another */
			fake_word(image, p.dirty + 8, DIRTY + 0x1000);
			break;
		default: /* a state that there is none of */
			fake_word(image, p.dirty, 7 << 17 | (uint64_t)FREE_CLASS << 20);
			entry(image, DIRTY, (uint64_t)FREE_CLASS << 48 | p.dirty | 7 << 2);
			break;
		}
		fake_find_dead(image);
		assert_int_equal(fake_dead(image, SLAB + 2 * 48), i != 0);
		assert_int_equal(fake_dead(image, DIRTY), i == 0);
		assert_int_equal(inventory.allocators[0].shown.unbelieved_bytes,
				 i == 0 ? 0x3000 : 0);
		assert_true(fake_dead(image, CACHE + 8));
		heap_image_free(image);
	}
}

/*
 * A cache of which one bin is not as it should be: its blocks stay what they were; the arrays
 * between their marks are dead all the same.
 */
static void broken_cache(void **state)
{
	struct parts p;
	struct heap_image *image = heap(&p);

	(void)state;
	fake_word(image, BINS + 24 * 20, 0x1234);
	fake_find_dead(image);
	assert_false(fake_dead(image, SLAB + 3 * 48));
	assert_true(fake_dead(image, CACHE + 8));
	heap_image_free(image);
	/* It lists what is no block. */
	image = heap(&p);
	fake_word(image, CACHE + 8 + 3 * 128 + 120, SLAB + 3 * 48 + 8);
	fake_find_dead(image);
	assert_false(fake_dead(image, SLAB + 3 * 48));
	heap_image_free(image);
}

/* No tree: nothing is jemalloc's. */
static void no_tree(void **state)
{
	struct parts p;
	struct heap_image *image = heap(&p);

	(void)state;
	fake_word(image, ROOT + 8 * (SLAB >> 30), LEAF + 64);
	image->all_known = true;
	fake_find_dead(image);
	assert_int_equal(image->dead_count, 0);
	heap_image_free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),	cmocka_unit_test(books),
		cmocka_unit_test(no_cache),	cmocka_unit_test(broken),
		cmocka_unit_test(broken_cache), cmocka_unit_test(no_tree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
