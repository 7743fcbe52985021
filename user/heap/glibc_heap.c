// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Free chunks of glibc's heap, as malloc/malloc.c and malloc/arena.c of glibc 2.26 to 2.41 lay it
 * out (64 bits; see also https://sourceware.org/glibc/wiki/MallocInternals). An arena's heap is a
 * row of chunks from its beginning to the top chunk. Nothing is believed before the whole row has
 * been walked, from the first chunk to a top that ends where the memory ends and that the arena
 * itself names.
 *
 * A chunk is free when the next one says so (PREV_INUSE). Small ones are not told that way: those
 * in a thread's cache have the cache's key as their second word, those in fastbins hang on the
 * arena's lists.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/heap/walker.h"

#define PREV_INUSE  1ull
#define IS_MMAPPED  2ull
#define OTHER_ARENA 4ull
#define FLAGS	    7ull
#define MIN_CHUNK   32
#define PAGE	    4096
#define HEADER	    16 /* from a chunk to its memory */
#define ALIGN	    16

#define HEAP_ALIGN \
	(64ull << 20)	     /* HEAP_MAX_SIZE: arenas but the main one begin at multiples of it */
#define ARENA_MAX	4096 /* struct heap_info and struct malloc_state end before that */
#define FASTBINS	10
#define ARENA_FASTBINS	16 /* offsets in struct malloc_state */
#define ARENA_TOP	96
#define ARENA_BINS_END	2144 /* fastbins, top, last remainder, 127 bins of two links */
#define TCACHE_BINS	64
#define BEFORE_HEAP_MAX (64 << 10)
#define FAST_CHUNKS_MAX 1000000 /* a list that is longer is a circle */

struct glibc_books {
	struct heap_image *image;
	uint64_t first, end, top; /* chunks */
	uint64_t arena;		  /* struct malloc_state; 0: unknown */
	bool main;
	uint64_t key; /* of the thread caches; 0: not learnt */
	size_t block; /* first block that is not behind the walk */
};

static bool glibc_chunk_at(const struct glibc_books *books, uint64_t chunk, uint64_t *size,
			   bool *prev_in_use)
{
	uint64_t word;

	if (!memory_image_word(books->image->memory, chunk + 8, &word))
		return false;
	*size = word & ~FLAGS;
	*prev_in_use = word & PREV_INUSE;
	if (word & IS_MMAPPED || (books->main && word & OTHER_ARENA))
		return false;
	return *size >= MIN_CHUNK && !(*size % ALIGN) && *size <= books->end - chunk;
}

/* Walks the whole row; true when it leads exactly to the end. */
static bool glibc_find_top(struct glibc_books *books)
{
	uint64_t at = books->first, size;
	bool prev_in_use;

	for (;;) {
		if (!glibc_chunk_at(books, at, &size, &prev_in_use))
			return false;
		books->top = at;
		if (size == books->end - at)
			return at != books->first;
		at += size;
	}
}

/*
 * The cache's struct is an arena's first chunk: counts, then the heads of its lists. Its key is in
 * every chunk of them.
 */
static uint64_t glibc_learn_key(const struct glibc_books *books)
{
	/* 2.30; 2.29, whose key is the struct's address (those before it have none). */
	static const uint64_t count_bytes[] = {2 * TCACHE_BINS, TCACHE_BINS};
	uint64_t size, head, word, key;
	bool prev_in_use;

	if (!glibc_chunk_at(books, books->first, &size, &prev_in_use))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(count_bytes); i++) {
		uint64_t entries = books->first + HEADER + count_bytes[i];

		if (size != ((HEADER - 8 + count_bytes[i] + 8 * TCACHE_BINS + 15) & ~15ull))
			continue;
		for (uint64_t bin = 0; bin < TCACHE_BINS; bin++) {
			if (memory_image_word(books->image->memory, entries + 8 * bin, &head) &&
			    head && memory_image_word(books->image->memory, head + 8, &key) &&
			    key && memory_image_word(books->image->memory, head - 8, &word) &&
			    (word & ~FLAGS) == MIN_CHUNK + ALIGN * bin &&
			    (i == 0 || key == books->first + HEADER))
				return key;
		}
	}
	return 0;
}

/* Is a tracked block in the chunk's memory? */
static bool glibc_has_block(struct glibc_books *books, uint64_t chunk, uint64_t end,
			    uint64_t *block_end)
{
	const struct heap_image *image = books->image;

	while (books->block < image->block_count &&
	       image->blocks[books->block].address < chunk + HEADER)
		books->block++;
	if (books->block == image->block_count || image->blocks[books->block].address >= end + 8)
		return false;
	*block_end = heap_block_end(image, books->block);
	return true;
}

static bool glibc_in_cache(const struct glibc_books *books, uint64_t chunk)
{
	uint64_t word;

	return books->key && memory_image_word(books->image->memory, chunk + HEADER + 8, &word) &&
	       word == books->key;
}

/* A chunk's memory reaches over the next chunk's first word. */
static int glibc_mark_chunks(struct glibc_books *books)
{
	uint64_t size, next_size, block_end;
	bool prev_in_use, in_use;
	int err = 0;

	for (uint64_t at = books->first; !err && at < books->top; at += size) {
		/* glibc_find_top() has been over all of them. */
		if (!glibc_chunk_at(books, at, &size, &prev_in_use) ||
		    !glibc_chunk_at(books, at + size, &next_size, &in_use))
			return -EINVAL;
		if (glibc_has_block(books, at, at + size, &block_end)) {
			/*
			 * What is left of it behind the block nobody has asked for. A block with
			 * others inside (a pool's) is let be.
			 */
			if (books->block + 1 == books->image->block_count ||
			    books->image->blocks[books->block + 1].address >= at + size)
				err = heap_image_add_dead(books->image, (block_end + 7) & ~7ull,
							  at + size + 8);
		} else if (books->image->all_known || !in_use || glibc_in_cache(books, at)) {
			err = heap_image_add_dead(books->image, at + HEADER, at + size + 8);
		} else {
			err = walker_report(books->image, NULL, INVENTORY_IN_USE, at + HEADER,
					    at + size + 8, UINT64_MAX);
		}
	}
	return err ?: heap_image_add_dead(books->image, books->top + HEADER, books->end);
}

/* From 2.32 on a list's links are hidden by where they lie (safe linking). */
static uint64_t glibc_next_fast(const struct glibc_books *books, uint64_t chunk)
{
	uint64_t link, size, shown;
	bool prev_in_use;

	if (!memory_image_word(books->image->memory, chunk + HEADER, &link))
		return 0;
	shown = link ^ (chunk + HEADER) >> 12;
	if (!shown || (!(shown % ALIGN) && shown >= books->first && shown < books->top &&
		       glibc_chunk_at(books, shown, &size, &prev_in_use)))
		return shown;
	return !(link % ALIGN) && link >= books->first && link < books->top ? link : 0;
}

static int glibc_mark_fastbins(struct glibc_books *books)
{
	size_t left = FAST_CHUNKS_MAX;
	int err = 0;

	for (uint64_t bin = 0; books->arena && !err && bin < FASTBINS; bin++) {
		uint64_t chunk, size;
		bool prev_in_use;

		if (!memory_image_word(books->image->memory,
				       books->arena + ARENA_FASTBINS + 8 * bin, &chunk))
			continue;
		while (!err && chunk >= books->first && chunk < books->top && !(chunk % ALIGN) &&
		       left-- && glibc_chunk_at(books, chunk, &size, &prev_in_use) &&
		       size == MIN_CHUNK + ALIGN * bin) {
			err = heap_image_add_dead(books->image, chunk + HEADER, chunk + size + 8);
			chunk = glibc_next_fast(books, chunk);
		}
	}
	return err;
}

/* ---- where the arenas are ----------------------------------------------------------------- */

/*
 * The main arena is a variable of libc: where a file's writable memory names the top chunk,
 * followed by what can be the bins.
 */
static uint64_t glibc_find_main_arena(const struct glibc_books *books)
{
	for (size_t i = 0; i < books->image->memory->region_count; i++) {
		const struct memory_region *r = &books->image->memory->regions[i];
		const struct mapping *m = r->mapping;

		/* Data of a file, or what follows it: .bss. */
		if (!m || !m->write || m->shared || m->end - m->start > HEAP_ALIGN ||
		    !strcmp(m->path, "[heap]") || !strcmp(m->path, "[stack]"))
			continue;
		for (size_t word = ARENA_TOP / 8; word + 4 < r->size / 8; word++) {
			uint64_t arena = r->start + 8 * word - ARENA_TOP;
			uint64_t bin = arena + ARENA_TOP; /* the unsorted bin seen as a chunk */

			/* Its two links lead to itself or to chunks. */
			if (r->words[word] != books->top ||
			    (r->words[word + 2] != bin && r->words[word + 2] < books->first) ||
			    (r->words[word + 2] == bin) != (r->words[word + 3] == bin))
				continue;
			return arena;
		}
	}
	return 0;
}

static int glibc_mark_arena(struct glibc_books *books, uint64_t *key)
{
	int err;

	books->key = glibc_learn_key(books);
	if (books->key)
		*key = books->key;
	else
		books->key = *key;
	err = glibc_mark_chunks(books);
	err = err ?: glibc_mark_fastbins(books);
	/*
	 * Its pointers are to chunks. A chunk begins before its memory, in the last 8 bytes of the
	 * block before it, which they do not hold.
	 */
	return err
		       ?: heap_image_add_dead(books->image, books->arena + ARENA_FASTBINS,
					      books->arena + ARENA_BINS_END);
}

static int glibc_main_heap(struct heap_image *image, const struct mapping *m, uint64_t *key)
{
	struct glibc_books books = {.image = image, .end = m->end, .main = true};

	/* A static program's first thread has its TLS there, before the first chunk. */
	for (books.first = m->start;
	     books.first < m->end && books.first - m->start < BEFORE_HEAP_MAX;
	     books.first += ALIGN) {
		if (!glibc_find_top(&books))
			continue;
		books.arena = glibc_find_main_arena(&books);
		if (books.arena)
			return glibc_mark_arena(&books, key);
	}
	return 0;
}

/*
 * struct heap_info: ar_ptr, prev, size … then, in an arena's first heap, the arena itself, then the
 * chunks.
 */
static int glibc_other_heap(struct heap_image *image, uint64_t heap, uint64_t *key)
{
	struct glibc_books books = {.image = image};
	uint64_t size, top;

	if (!memory_image_word(image->memory, heap, &books.arena) || books.arena <= heap ||
	    books.arena - heap > 256 || books.arena % 8 ||
	    !memory_image_word(image->memory, heap + 16, &size) || size < ARENA_MAX ||
	    size > HEAP_ALIGN || !memory_image_word(image->memory, books.arena + ARENA_TOP, &top) ||
	    top <= heap || top >= heap + size)
		return 0;
	books.end = heap + size;
	for (books.first = (books.arena + ARENA_TOP) & ~15ull; books.first < heap + ARENA_MAX;
	     books.first += ALIGN) {
		if (glibc_find_top(&books) && books.top == top)
			return glibc_mark_arena(&books, key);
	}
	return 0;
}

/*
 * Blocks that are mappings of their own, from before the attach: neighbours may have become one mapping,
 * which begins with the lowest.
 */
static int glibc_old_mappings(struct heap_image *image, const struct mapping *m)
{
	uint64_t before, word, at = m->start, size = 0;
	int err = 0;

	while (!err && at < m->end && memory_image_word(image->memory, at, &before) && !before &&
	       memory_image_word(image->memory, at + 8, &word) && (word & FLAGS) == IS_MMAPPED) {
		size = word & ~FLAGS;
		if (size < PAGE || size % PAGE || size > m->end - at)
			break;
		err = walker_report(image, NULL, INVENTORY_IN_USE, at + HEADER, at + size,
				    UINT64_MAX);
		at += size;
	}
	return err;
}

int glibc_heap_mark(struct heap_image *image)
{
	uint64_t key = 0;
	int err = 0;

	for (size_t i = 0; !err && i < maps_count(image->memory->maps); i++) {
		const struct mapping *m = maps_at(image->memory->maps, i);

		if (!strcmp(m->path, "[heap]") && m->write)
			err = glibc_main_heap(image, m, &key);
	}
	for (size_t i = 0; !err && i < maps_count(image->memory->maps); i++) {
		const struct mapping *m = maps_at(image->memory->maps, i);
		uint64_t heap = (m->start + HEAP_ALIGN - 1) & ~(HEAP_ALIGN - 1);

		/* Neighbouring heaps may have become one mapping. */
		for (; !err && !m->ino && m->write && heap < m->end; heap += HEAP_ALIGN)
			err = glibc_other_heap(image, heap, &key);
		if (!err && !image->all_known && !m->ino && m->write && !*m->path && !m->shared)
			err = glibc_old_mappings(image, m);
	}
	return err;
}
