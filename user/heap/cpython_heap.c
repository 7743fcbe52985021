// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The memory of CPython's allocator of small objects, as Objects/obmalloc.c of CPython 3.8 to 3.14
 * lays it out on 64 bits (from 3.12 on Include/internal/pycore_obmalloc.h of its sources). It has
 * arenas, which are mappings or memory of malloc(), and cuts them into pools of the same size. A pool
 * begins with a header and has blocks of one size; its free ones are on a list. A vector describes the
 * arenas; a variable of the interpreter has its address.
 *
 * The vector is believed if the first pool of each arena says at which place of it the arena is, an
 * arena if it has as many free pools as it says, and a pool only if the length of its list and its
 * count of used blocks make up what of it has been cut into blocks. Interpreters below the main one
 * that have an allocator of their own (3.12, with a lock of their own) keep its address in memory
 * of malloc(): theirs are not found.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/heap/walker.h"

#define PAGE	      4096ull
#define ENTRY_WORDS   6 /* of the vector */
#define ENTRY_BYTES   48ull
#define ENTRIES_FIRST 16 /* the vector has so many at first */
#define POOL_HEADER   48ull
#define UNIT	      16ull
#define CLASSES	      32
#define BLOCKS_MAX    1024 /* in a pool: 16 KiB of 16 bytes each */
#define VECTORS_MAX   16

struct cpython_layout {
	uint64_t arena, pool;
};

/* From 3.10 on; until 3.9; the first without the tree that finds arenas by address. */
static const struct cpython_layout cpython_layouts[] = {
	{1 << 20, 16 << 10},
	{256 << 10, 4 << 10},
	{1 << 20, 4 << 10},
};

struct cpython_arena {
	uint64_t start, end;
	uint64_t pools, cut; /* the first pool; behind the last that there has ever been */
	uint64_t pool;	     /* bytes */
	uint32_t free_pools;
	uint32_t index; /* in the vector */
};

struct cpython_pool {
	uint32_t used, arena, size_class, next, last; /* as its header has them */
	uint64_t start, list, bytes, blocks;	      /* blocks that there have ever been */
};

struct cpython_books {
	struct heap_image *image;
	struct inventory_allocator *allocator;
	uint64_t vectors[VECTORS_MAX];
	size_t vector_count;
	struct cpython_arena *arenas;
	size_t arena_count, arena_room;
	uint64_t free[BLOCKS_MAX / 64]; /* blocks of the pool at hand, by bit */
};

/* ---- where the arenas are ----------------------------------------------------------------- */

/* The pool's header; false when its members do not fit each other. */
static bool cpython_read_pool(const struct heap_image *image, uint64_t start, uint64_t bytes,
			      struct cpython_pool *p)
{
	const uint64_t *words = memory_image_words(image->memory, start, POOL_HEADER / 8);

	if (!words)
		return false;
	*p = (struct cpython_pool){
		.used = (uint32_t)words[0],
		.arena = (uint32_t)words[4],
		.size_class = (uint32_t)(words[4] >> 32),
		.next = (uint32_t)words[5],
		.last = (uint32_t)(words[5] >> 32),
		.start = start,
		.list = words[1],
	};
	if (p->size_class >= CLASSES)
		return false;
	p->bytes = UNIT * (p->size_class + 1);
	p->blocks = (p->next - POOL_HEADER) / p->bytes;
	return p->last == bytes - p->bytes && p->next >= POOL_HEADER + p->bytes &&
	       p->next <= bytes && !((p->next - POOL_HEADER) % p->bytes) && p->used <= p->blocks;
}

/*
 * The arena that is the vector's entry, in the layout; false: it is none. Its first pool is in use
 * from when it is made, and says where in the vector the arena stands.
 */
static bool cpython_read_arena(const struct heap_image *image, const uint64_t *entry,
			       uint32_t index, const struct cpython_layout *layout,
			       struct cpython_arena *a)
{
	uint32_t pools = (uint32_t)(entry[2] >> 32);
	struct cpython_pool first;

	*a = (struct cpython_arena){
		.start = entry[0],
		.end = entry[0] + layout->arena,
		.pools = (entry[0] + layout->pool - 1) & ~(layout->pool - 1),
		.cut = entry[1],
		.pool = layout->pool,
		.free_pools = (uint32_t)entry[2],
		.index = index,
	};
	return a->start >= PAGE && a->start < 1ull << 47 && !(a->start % UNIT) &&
	       pools == (a->end - a->pools) / layout->pool && a->free_pools <= pools &&
	       a->cut > a->pools && a->cut <= a->pools + pools * layout->pool &&
	       !(a->cut % layout->pool) &&
	       cpython_read_pool(image, a->pools, layout->pool, &first) && first.arena == index;
}

static bool cpython_read_any(const struct heap_image *image, const uint64_t *entry, uint32_t index,
			     struct cpython_arena *a)
{
	for (size_t i = 0; i < ARRAY_SIZE(cpython_layouts); i++) {
		if (cpython_read_arena(image, entry, index, &cpython_layouts[i], a))
			return true;
	}
	return false;
}

/* One without an arena is on a list of such, in the vector. */
static bool cpython_is_unused(const uint64_t *entry, uint64_t vector)
{
	return !entry[0] &&
	       (!entry[4] || (entry[4] > vector && !((entry[4] - vector) % ENTRY_BYTES)));
}

/* Each of the first entries is an arena or unused, and one is an arena. */
static bool cpython_is_vector(const struct heap_image *image, uint64_t vector)
{
	struct cpython_arena a;
	bool any = false;

	if (vector % UNIT || vector < PAGE || vector >> 47)
		return false;
	for (uint32_t i = 0; i < ENTRIES_FIRST; i++) {
		const uint64_t *entry =
			memory_image_words(image->memory, vector + i * ENTRY_BYTES, ENTRY_WORDS);

		if (!entry)
			return false;
		if (cpython_is_unused(entry, vector))
			continue;
		if (!cpython_read_any(image, entry, i, &a))
			return false;
		any = true;
	}
	return any;
}

/* How the object's file is called: "python3.11" or "libpython3.11.so.1.0". */
static void cpython_learn_version(struct cpython_books *books, const struct memory_region *region)
{
	const struct mapping *m = region->mapping;
	unsigned minor;

	if (!m->ino)
		m = maps_find(books->image->memory->maps, m->start - 1);
	for (const char *at = m ? strstr(m->path, "python3.") : NULL; at;
	     at = strstr(at + 1, "python3.")) {
		if (books->allocator && sscanf(at, "python3.%3u", &minor) == 1)
			snprintf(books->allocator->shown.version,
				 sizeof(books->allocator->shown.version), "3.%u", minor);
	}
}

static void cpython_look_at(struct cpython_books *books, const struct memory_region *region,
			    uint64_t word)
{
	for (size_t i = 0; i < books->vector_count; i++) {
		if (books->vectors[i] == word)
			return;
	}
	if (books->vector_count == VECTORS_MAX || !cpython_is_vector(books->image, word))
		return;
	if (!books->vector_count)
		books->allocator = walker_allocator(books->image, "cpython");
	books->vectors[books->vector_count++] = word;
	cpython_learn_version(books, region);
}

static void cpython_find_vectors(struct cpython_books *books)
{
	const struct memory_image *memory = books->image->memory;

	for (size_t i = 0; i < memory->region_count; i++) {
		const struct memory_region *r = &memory->regions[i];

		for (size_t w = 0; walker_is_data(books->image, r) && w < r->size / 8; w++)
			cpython_look_at(books, r, r->words[w]);
	}
}

/* Where it ends nothing says: behind it nothing looks like an arena with the next place. */
static int cpython_read_vector(struct cpython_books *books, uint64_t vector)
{
	size_t most = ENTRIES_FIRST + 2 * books->image->memory->bytes / PAGE;

	for (uint32_t i = 0; i < most; i++) {
		const uint64_t *entry = memory_image_words(books->image->memory,
							   vector + i * ENTRY_BYTES, ENTRY_WORDS);
		struct cpython_arena a;

		if (!entry)
			break;
		if (cpython_is_unused(entry, vector))
			continue;
		if (!cpython_read_any(books->image, entry, i, &a))
			break;
		if (!RESERVE_ITEM(books->arenas, books->arena_count, books->arena_room, 64))
			return -ENOMEM;
		books->arenas[books->arena_count++] = a;
	}
	return 0;
}

/* ---- pools -------------------------------------------------------------------------------- */

static int cpython_report(struct cpython_books *books, enum inventory_part part, uint64_t start,
			  uint64_t end)
{
	return walker_report(books->image, books->allocator, part, start, end, UINT64_MAX);
}

/* Fills in the set of the pool's free blocks; false when they and those in use are not all. */
static bool cpython_find_free(struct cpython_books *books, const struct cpython_pool *p)
{
	uint64_t first = p->start + POOL_HEADER, left = p->blocks - p->used;

	memset(books->free, 0, sizeof(books->free));
	for (uint64_t block = p->list; block; left--) {
		uint64_t index = (block - first) / p->bytes;

		if (!left || block < first || (block - first) % p->bytes || index >= p->blocks ||
		    books->free[index / 64] >> index % 64 & 1)
			return false;
		books->free[index / 64] |= 1ull << index % 64;
		if (!memory_image_word(books->image->memory, block, &block))
			return false;
	}
	return !left;
}

static int cpython_report_blocks(struct cpython_books *books, const struct cpython_pool *p)
{
	size_t known = heap_image_block(books->image, p->start);
	int err = 0;

	for (uint64_t i = 0; err >= 0 && i < p->blocks; i++) {
		uint64_t start = p->start + POOL_HEADER + i * p->bytes, end = start + p->bytes;
		bool is_free = books->free[i / 64] >> i % 64 & 1;

		err = walker_slot(books->image, &known, start, end, false);
		if (err >= 0)
			err = cpython_report(books, is_free ? INVENTORY_CACHED : INVENTORY_IN_USE,
					     start, end);
	}
	return err;
}

static int cpython_report_pool(struct cpython_books *books, const struct cpython_arena *a,
			       uint64_t start)
{
	uint64_t end = start + a->pool, cut, last;
	struct cpython_pool p;
	int err;

	if (!cpython_read_pool(books->image, start, a->pool, &p) || p.arena != a->index ||
	    !cpython_find_free(books, &p)) {
		walker_doubt(books->allocator,
			     "some pools' lists of free blocks do not fit their counts");
		return cpython_report(books, INVENTORY_UNBELIEVED, start, end);
	}
	if (!p.used)
		return cpython_report(books, INVENTORY_FREE, start, end);
	cut = start + p.next;
	last = end - (a->pool - POOL_HEADER) % p.bytes;
	err = cpython_report(books, INVENTORY_BOOKS, start, start + POOL_HEADER);
	err = err ?: cpython_report_blocks(books, &p);
	err = err ?: cpython_report(books, INVENTORY_FREE, cut, last);
	return err ?: cpython_report(books, INVENTORY_BOOKS, last, end);
}

/* Pools without a block in use, those that have never been cut among them, are as many as it says? */
static bool cpython_is_whole(const struct heap_image *image, const struct cpython_arena *a)
{
	uint64_t free_pools = (a->end - a->cut) / a->pool, word;

	for (uint64_t pool = a->pools; pool < a->cut; pool += a->pool)
		free_pools += memory_image_word(image->memory, pool, &word) && !(uint32_t)word;
	return free_pools == a->free_pools;
}

static int cpython_report_arena(struct cpython_books *books, const struct cpython_arena *a)
{
	int err;

	if (!cpython_is_whole(books->image, a)) {
		walker_doubt(books->allocator, "some arenas' pools do not fit their counts");
		return cpython_report(books, INVENTORY_UNBELIEVED, a->start, a->end);
	}
	walker_unit(books->image, books->allocator, "arena", a->start, a->end);
	err = cpython_report(books, INVENTORY_BOOKS, a->start, a->pools);
	for (uint64_t pool = a->pools; !err && pool < a->cut; pool += a->pool)
		err = cpython_report_pool(books, a, pool);
	return err ?: cpython_report(books, INVENTORY_FREE, a->cut, a->end);
}

static int cpython_arena_order(const void *a, const void *b)
{
	const struct cpython_arena *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* What has been reported is claimed: no block of the allocator below, whose books may have it as one. */
static int cpython_report_all(struct cpython_books *books)
{
	_cleanup_free_ struct heap_range *claimed = NULL;
	size_t count = 0;
	int err = 0;

	if (!books->arena_count)
		return 0;
	claimed = calloc(books->arena_count, sizeof(*claimed));
	if (!claimed)
		return -ENOMEM;
	qsort(books->arenas, books->arena_count, sizeof(*books->arenas), cpython_arena_order);
	for (size_t i = 0; !err && i < books->arena_count; i++) {
		const struct cpython_arena *a = &books->arenas[i];

		if (count && a->start < claimed[count - 1].end) {
			walker_doubt(books->allocator, "some arenas lie in each other");
			continue;
		}
		claimed[count++] = (struct heap_range){a->start, a->end};
		err = cpython_report_arena(books, a);
	}
	if (books->allocator)
		books->allocator->shown.arenas = count;
	return err ?: heap_image_claim(books->image, claimed, count);
}

int cpython_heap_mark(struct heap_image *image)
{
	struct cpython_books books = {.image = image};
	int err = 0;

	cpython_find_vectors(&books);
	for (size_t i = 0; !err && i < books.vector_count; i++)
		err = cpython_read_vector(&books, books.vectors[i]);
	err = err ?: cpython_report_all(&books);
	free(books.arenas);
	return err;
}
