// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What is believed of glibc heaps made by hand, right and wrong ones; tests/unit/inspect/test_glibc_books.c has real ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/heap/fake_image.h"
#include "tests/unit/seed.h"
#include "user/heap/dead_memory.h"

#define HEAP   0x555555700000ull
#define SIZE   0x21000ull
#define OTHER  0x7fffe8000000ull /* a heap of another arena */
#define MAPPED 0x7ffff4000000ull
#define LIBC   0x7ffff7dd0000ull
#define ARENA  (LIBC + 0x1100)
#define PARAMS (LIBC + 0x800) /* mmapped_mem */
#define KEY    0xfeedfacecafef00dull

static const char maps[] = "555555700000-555555721000 rw-p 00000000 00:00 0 [heap]\n"
			   "7fffe8000000-7fffe8021000 rw-p 00000000 00:00 0 \n"
			   "7ffff4000000-7ffff4010000 rw-p 00000000 00:00 0 \n"
			   "7ffff7dd0000-7ffff7dd3000 rw-p 001d0000 08:01 9 /lib/libc.so.6\n"
			   "7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0 [stack]\n";

static uint64_t at; /* where the next chunk comes */

static uint64_t chunk(struct heap_image *image, uint64_t size, uint64_t flags)
{
	uint64_t here = at;

	fake_word(image, here + 8, size | flags);
	at += size;
	return here + 16;
}

/* The layouts that there have been. */
struct layout {
	uint64_t head;	      /* from an arena to its bins */
	uint64_t count_bytes; /* of a thread's cache */
	bool hidden;	      /* links of lists */
	bool key;
	bool later; /* struct malloc_par has one int more */
};

static const struct layout layouts[] = {
	{104, 1, false, false, false}, /* 2.26 */
	{112, 1, false, false, false}, /* 2.27 */
	{112, 1, false, true, false},  /* 2.29 */
	{112, 2, false, true, false},  /* 2.30 */
	{112, 2, true, true, false},   /* 2.32 */
	{112, 2, true, true, true},    /* 2.35 */
};

struct chunks {
	uint64_t tcache, known, unknown, free, cached, fast, top, other, other_cache, mapped;
};

static void arena(struct heap_image *image, const struct layout *l, uint64_t address, uint64_t top,
		  uint64_t next, uint64_t system_mem)
{
	uint64_t bins = address + l->head;

	for (uint64_t i = 0; i < 127; i++) {
		fake_word(image, bins + 16 * i, bins + 16 * i - 16);
		fake_word(image, bins + 16 * i + 8, bins + 16 * i - 16);
	}
	fake_word(image, bins - 16, top - 16);
	fake_word(image, bins + 2048, next);
	fake_word(image, bins + 2072, system_mem);
}

static void params(struct heap_image *image, const struct layout *l, uint64_t mapped)
{
	uint64_t count = mapped / 0x3000, first = PARAMS - (l->later ? 56 : 32);

	fake_word(image, first, 8); /* arena_test */
	if (l->later) {
		fake_word(image, PARAMS - 24, count << 32);
		fake_word(image, PARAMS - 16, 65536 | count << 32);
	} else {
		fake_word(image, PARAMS - 16, count | 65536ull << 32);
		fake_word(image, PARAMS - 8, count);
	}
	fake_word(image, PARAMS, mapped);
	fake_word(image, PARAMS + 8, mapped);
	fake_word(image, PARAMS + 16, HEAP);
	fake_word(image, PARAMS + 24, 64);
	fake_word(image, PARAMS + 32, 1032);
	fake_word(image, PARAMS + 40, 7);
}

/* A link in a list's chunk to the next one. */
static void link(struct heap_image *image, const struct layout *l, uint64_t from, uint64_t to)
{
	fake_word(image, from, to ^ (l->hidden ? from >> 12 : 0));
}

static uint64_t cache(struct heap_image *image, const struct layout *l, uint64_t flags,
		      uint64_t cached)
{
	uint64_t memory = chunk(image, 16 + 64 * (l->count_bytes + 8), flags);

	/* The second list: chunks of 0x30. */
	fake_word(image, memory, 1ull << 8 * l->count_bytes);
	fake_word(image, memory + 64 * l->count_bytes + 8, cached);
	link(image, l, cached, 0);
	if (l->key)
		fake_word(image, cached + 8, KEY);
	return memory;
}

/*
 * A cache, a tracked block, one from before, a free chunk, one in the thread's cache, one in a
 * fastbin, the top; another arena's heap; a block that is a mapping.
 */
static struct heap_image *heap_of(const struct layout *l, struct chunks *c)
{
	struct heap_image *image = fake_image(maps);
	uint64_t tcache_bytes = 16 + 64 * (l->count_bytes + 8), other = OTHER + 32, bins;

	fake_region(image, HEAP, SIZE);
	fake_region(image, OTHER, SIZE);
	fake_region(image, MAPPED, 0x10000);
	fake_region(image, LIBC, 0x3000);
	at = HEAP;
	c->tcache = cache(image, l, 1, HEAP + tcache_bytes + 0x70 + 0x50 + 0x500 + 16);
	c->known = chunk(image, 0x70, 1);
	c->unknown = chunk(image, 0x50, 1);
	c->free = chunk(image, 0x500, 1);
	fake_word(image, at, 0x500); /* its size at its end */
	c->cached = chunk(image, 0x30, 0);
	c->fast = chunk(image, 0x20, 1);
	c->top = chunk(image, HEAP + SIZE - at, 1);
	fake_block(image, c->known, 0x40);
	arena(image, l, ARENA, c->top, other, SIZE);
	params(image, l, 0x3000);
	bins = ARENA + l->head;
	fake_word(image, bins - 96, c->fast - 16);
	link(image, l, c->fast, 0);
	/* The free one is the only one of the unsorted bin. */
	fake_word(image, bins, c->free - 16);
	fake_word(image, bins + 8, c->free - 16);
	fake_word(image, c->free, bins - 16);
	fake_word(image, c->free + 8, bins - 16);

	fake_word(image, OTHER, other);
	fake_word(image, OTHER + 16, SIZE);
	fake_word(image, OTHER + 24, SIZE);
	at = (other + l->head + 2088 + 15) & ~15ull;
	c->other_cache = cache(image, l, 5, at + tcache_bytes + 0x40 + 16);
	c->other = chunk(image, 0x40, 5);
	chunk(image, 0x30, 5); /* cached */
	arena(image, l, other, at + 16, ARENA, SIZE);
	chunk(image, OTHER + SIZE - at, 1);

	fake_word(image, MAPPED + 0x4000 + 8, 0x3000 | 2);
	c->mapped = MAPPED + 0x4010;
	return image;
}

static struct heap_image *heap(struct chunks *c)
{
	return heap_of(&layouts[5], c);
}

/* Is it, once, among what was found in use beside the known blocks? */
static bool in_use(const struct heap_image *image, uint64_t address, uint64_t size)
{
	size_t found = 0;

	for (size_t i = 0; i < image->old.count; i++)
		found += block_list_at(&image->old, i).address == address &&
			 block_list_at(&image->old, i).size == size;
	assert_true(found <= 1);
	return found;
}

/* Every layout: the blocks in use, nothing else, and all bytes of the heaps counted. */
static void layouts_all(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++) {
		struct inventory inventory = {0};
		struct chunks c;
		struct heap_image *image = heap_of(&layouts[i], &c);
		const struct inspected_allocator *a = &inventory.allocators[0].shown;

		image->inventory = &inventory;
		fake_find_dead(image);
		assert_int_equal(inventory.count, 1);
		assert_string_equal(a->why, "");
		assert_int_equal(a->arenas, 2);
		assert_int_equal(image->old.count, 3);
		assert_true(in_use(image, c.unknown, 0x48));
		assert_true(in_use(image, c.other, 0x38));
		assert_true(in_use(image, c.mapped, 0x2ff0));
		assert_int_equal(a->in_use.count, 4);
		assert_int_equal(a->cached_bytes, 0x30 + 0x20 + 0x30);
		assert_int_equal(a->unbelieved_bytes, 0);
		assert_int_equal(a->in_use.bytes + a->slack_bytes + a->free_bytes + a->books_bytes,
				 2 * SIZE + 0x3000);
		assert_true(fake_dead(image, c.tcache));
		assert_true(fake_dead(image, c.other_cache));
		assert_true(fake_dead(image, c.free));
		assert_false(fake_dead(image, c.unknown + 8));
		heap_image_free(image);
	}
}

/* Blocks that are mappings: what the library does not count is none; one on its way is not counted yet. */
static void mappings(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		struct inventory inventory = {0};
		const struct inspected_allocator *a = &inventory.allocators[0].shown;
		struct chunks c;
		struct heap_image *image = heap(&c);

		image->inventory = &inventory;
		switch (i) {
		case 0: /* another one beside it, which was to be aligned */
			params(image, &layouts[5], 0x6000);
			fake_word(image, MAPPED + 0x7000 + 8, 0x3000 | 2);
			fake_word(image, MAPPED + 0x7000 + 0xff0, 0xff0);
			fake_word(image, MAPPED + 0x7000 + 0xff8, (0x3000 - 0xff0) | 2);
			break;
		case 1: /* none */
			params(image, &layouts[5], 0);
			break;
		case 2: /* one is on its way */
			params(image, &layouts[5], 0);
			fake_thread(image, 0x7fffffffe000, 0x7ffff7fc0740, 0);
			break;
		case 3: /* one that is not there */
			params(image, &layouts[5], 0x6000);
			break;
		case 4: /* what looks like one of 64 TiB must not keep us from all else */
			fake_word(image, MAPPED + 8, 1ull << 46 | 2);
			break;
		default: /* behind the mapping's end */
			fake_word(image, MAPPED + 0x4000 + 8, 0x10000 | 2);
			params(image, &layouts[5], 0);
		}
		fake_find_dead(image);
		assert_int_equal(in_use(image, c.mapped, 0x2ff0), i != 1 && i != 5);
		if (!i)
			assert_true(in_use(image, MAPPED + 0x8000, 0x2000));
		assert_int_equal(*a->why != '\0', i == 1 || i == 3);
		assert_int_equal(a->unbelieved_bytes, i == 1 ? 0x3000 : 0);
		assert_int_equal(a->cached_bytes, 0x30 + 0x20 + 0x30);
		heap_image_free(image);
	}
}

static void free_chunks(void **state)
{
	struct heap_image *image;
	struct chunks c;

	(void)state;
	for (int known = 0; known < 2; known++) {
		image = heap(&c);
		image->all_known = known;
		fake_find_dead(image);
		assert_false(fake_dead(image, c.known + 0x38));
		assert_true(fake_dead(image, c.known + 0x48)); /* behind what was asked for */
		assert_int_equal(fake_dead(image, c.unknown + 0x10), known);
		assert_true(fake_dead(image, c.free));
		assert_true(fake_dead(image, c.free + 0x4e8));
		assert_true(fake_dead(image, c.cached + 0x10));
		assert_true(fake_dead(image, c.fast + 8));
		assert_true(fake_dead(image, c.top + 0x1000));
		heap_image_free(image);
	}
}

/*
 * Where anything is not as it should be nothing is dead that the row of chunks does not lead over.
 */
static void broken_heaps(void **state)
{
	const uint64_t top = ARENA + 112 - 16;
	struct heap_image *image;
	struct chunks c;

	(void)state;
	for (int i = 0; i < 8; i++) {
		image = heap(&c);
		switch (i) {
		case 0: /* a size that leads nowhere */
			fake_word(image, c.free - 8, 0x510 | 1);
			break;
		case 1: /* a circle, or no way on */
			fake_word(image, c.free - 8, 1);
			break;
		case 2: /* a chunk of mmap's */
			fake_word(image, c.free - 8, 0x500 | 3);
			break;
		case 3: /* another arena's */
			fake_word(image, c.free - 8, 0x500 | 5);
			break;
		case 4: /* beyond the end */
			fake_word(image, c.top - 8, 0x40000 | 1);
			break;
		case 5: /* a size near the end of what there is */
			fake_word(image, c.top - 8, UINT64_MAX - 7);
			break;
		case 6: /* the arena names another top */
			fake_word(image, top, c.free - 16);
			break;
		default: /* bins that are none */
			for (uint64_t bin = 0; bin < 8; bin++)
				fake_word(image, ARENA + 112 + 48 * bin, 5);
			break;
		}
		fake_find_dead(image);
		assert_false(fake_dead(image, c.known));
		assert_false(fake_dead(image, c.unknown + 0x10));
		assert_false(fake_dead(image, c.free));
		heap_image_free(image);
	}
}

/* A fastbin that is a circle ends all the same, and one that leads out of the heap. */
static void broken_fastbins(void **state)
{
	struct heap_image *image;
	struct chunks c;

	(void)state;
	image = heap(&c);
	fake_word(image, c.fast, (c.fast >> 12) ^ (c.fast - 16));
	fake_find_dead(image);
	assert_true(fake_dead(image, c.fast + 8));
	heap_image_free(image);
	image = heap(&c);
	fake_word(image, c.fast, 0x4141414141414140ull);
	fake_find_dead(image);
	assert_false(fake_dead(image, c.unknown));
	heap_image_free(image);
}

/* A thread is changing the arena: said. The rest of a fast list may be in its hands. */
static void changing(void **state)
{
	struct inventory inventory = {0};
	struct heap_image *image;
	struct chunks c;

	(void)state;
	image = heap(&c);
	image->inventory = &inventory;
	fake_word(image, ARENA, 1);
	fake_word(image, ARENA + 112 - 96, 0);
	fake_thread(image, 0x7fffffffe000, 0x7ffff7fc0740, c.fast - 16);
	fake_find_dead(image);
	assert_string_not_equal(inventory.allocators[0].shown.why, "");
	assert_false(in_use(image, c.fast, 0x18));
	assert_true(fake_dead(image, c.fast));
	assert_true(in_use(image, c.unknown, 0x48));
	heap_image_free(image);
}

/* Whatever stands there: it ends, and what is in use does not overlap. */
static void forged(void **state)
{
	static const uint64_t starts[] = {HEAP, OTHER, MAPPED + 0x4000, LIBC + 0x700, ARENA};

	(void)state;
	srandom(test_seed());
	for (unsigned round = 0; round < 3000; round++) {
		struct inventory inventory = {0};
		struct chunks c;
		struct heap_image *image = heap_of(&layouts[random() % 6], &c);

		image->inventory = &inventory;
		for (long i = random() % 6 + 1; i > 0; i--) {
			uint64_t where = starts[random() % 5] + 8 * ((uint64_t)random() % 300);
			uint64_t to = starts[random() % 5] + 16 * ((uint64_t)random() % 200);
			uint64_t words[] = {to,
					    to >> 12 ^ to,
					    0,
					    1,
					    UINT64_MAX,
					    1ull << 63 | 1,
					    (uint64_t)random(),
					    32 | 1,
					    0x3000 | 2,
					    where - 16};

			fake_word(image, where, words[random() % 10]);
		}
		fake_find_dead(image);
		assert_int_equal(heap_image_take_old(image), 0);
		for (size_t i = 1; i < image->block_count; i++)
			assert_true(heap_block_at(image, i - 1).address +
					    heap_block_at(image, i - 1).size <=
				    heap_block_address(image, i));
		heap_image_free(image);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts_all),	   cmocka_unit_test(mappings),
		cmocka_unit_test(free_chunks),	   cmocka_unit_test(broken_heaps),
		cmocka_unit_test(broken_fastbins), cmocka_unit_test(changing),
		cmocka_unit_test(forged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
