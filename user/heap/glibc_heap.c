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

#include "user/heap/dead_memory.h"
#include "user/base/util.h"

#define PREV_INUSE  1ull
#define IS_MMAPPED  2ull
#define OTHER_ARENA 4ull
#define FLAGS	    7ull
#define MIN_CHUNK   32
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

struct walk {
	struct heap_image *image;
	uint64_t first, end, top; /* chunks */
	uint64_t arena;		  /* struct malloc_state; 0: unknown */
	bool main;
	uint64_t key; /* of the thread caches; 0: not learnt */
	size_t block; /* first block that is not behind the walk */
};

static bool chunk_at(const struct walk *w, uint64_t chunk, uint64_t *size, bool *prev_in_use)
{
	uint64_t word;

	if (!memory_image_word(w->image->memory, chunk + 8, &word))
		return false;
	*size = word & ~FLAGS;
	*prev_in_use = word & PREV_INUSE;
	if (word & IS_MMAPPED || (w->main && word & OTHER_ARENA))
		return false;
	return *size >= MIN_CHUNK && !(*size % ALIGN) && *size <= w->end - chunk;
}

/* Walks the whole row; true when it leads exactly to the end. */
static bool find_top(struct walk *w)
{
	uint64_t at = w->first, size;
	bool prev_in_use;

	for (;;) {
		if (!chunk_at(w, at, &size, &prev_in_use))
			return false;
		w->top = at;
		if (size == w->end - at)
			return at != w->first;
		at += size;
	}
}

/*
 * The cache's struct is an arena's first chunk: counts, then the heads of its lists. Its key is in
 * every chunk of them.
 */
static uint64_t learn_key(const struct walk *w)
{
	/* 2.30; 2.29, whose key is the struct's address (those before it have none). */
	static const uint64_t count_bytes[] = {2 * TCACHE_BINS, TCACHE_BINS};
	uint64_t size, head, word, key;
	bool prev_in_use;

	if (!chunk_at(w, w->first, &size, &prev_in_use))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(count_bytes); i++) {
		uint64_t entries = w->first + HEADER + count_bytes[i];

		if (size != ((HEADER - 8 + count_bytes[i] + 8 * TCACHE_BINS + 15) & ~15ull))
			continue;
		for (uint64_t bin = 0; bin < TCACHE_BINS; bin++) {
			if (memory_image_word(w->image->memory, entries + 8 * bin, &head) && head &&
			    memory_image_word(w->image->memory, head + 8, &key) && key &&
			    memory_image_word(w->image->memory, head - 8, &word) &&
			    (word & ~FLAGS) == MIN_CHUNK + ALIGN * bin &&
			    (i == 0 || key == w->first + HEADER))
				return key;
		}
	}
	return 0;
}

/* Is a tracked block in the chunk's memory? */
static bool has_block(struct walk *w, uint64_t chunk, uint64_t end, uint64_t *block_end)
{
	const struct heap_image *image = w->image;

	while (w->block < image->block_count && image->blocks[w->block].address < chunk + HEADER)
		w->block++;
	if (w->block == image->block_count || image->blocks[w->block].address >= end + 8)
		return false;
	*block_end = image->blocks[w->block].end;
	return true;
}

static bool in_cache(const struct walk *w, uint64_t chunk)
{
	uint64_t word;

	return w->key && memory_image_word(w->image->memory, chunk + HEADER + 8, &word) &&
	       word == w->key;
}

/* A chunk's memory reaches over the next chunk's first word. */
static int mark_chunks(struct walk *w)
{
	uint64_t size, next_size, block_end;
	bool prev_in_use, in_use;
	int err = 0;

	for (uint64_t at = w->first; !err && at < w->top; at += size) {
		/* find_top() has been over all of them. */
		if (!chunk_at(w, at, &size, &prev_in_use) ||
		    !chunk_at(w, at + size, &next_size, &in_use))
			return -EINVAL;
		if (has_block(w, at, at + size, &block_end)) {
			/*
			 * What is left of it behind the block nobody has asked for. A block with
			 * others inside (a pool's) is let be.
			 */
			if (w->block + 1 == w->image->block_count ||
			    w->image->blocks[w->block + 1].address >= at + size)
				err = heap_image_add_dead(w->image, (block_end + 7) & ~7ull,
							  at + size + 8);
		} else if (w->image->all_known || !in_use || in_cache(w, at)) {
			err = heap_image_add_dead(w->image, at + HEADER, at + size + 8);
		}
	}
	return err ?: heap_image_add_dead(w->image, w->top + HEADER, w->end);
}

/* From 2.32 on a list's links are hidden by where they lie (safe linking). */
static uint64_t next_fast(const struct walk *w, uint64_t chunk)
{
	uint64_t link, size, shown;
	bool prev_in_use;

	if (!memory_image_word(w->image->memory, chunk + HEADER, &link))
		return 0;
	shown = link ^ (chunk + HEADER) >> 12;
	if (!shown || (!(shown % ALIGN) && shown >= w->first && shown < w->top &&
		       chunk_at(w, shown, &size, &prev_in_use)))
		return shown;
	return !(link % ALIGN) && link >= w->first && link < w->top ? link : 0;
}

static int mark_fastbins(struct walk *w)
{
	size_t left = FAST_CHUNKS_MAX;
	int err = 0;

	for (uint64_t bin = 0; w->arena && !err && bin < FASTBINS; bin++) {
		uint64_t chunk, size;
		bool prev_in_use;

		if (!memory_image_word(w->image->memory, w->arena + ARENA_FASTBINS + 8 * bin,
				       &chunk))
			continue;
		while (!err && chunk >= w->first && chunk < w->top && !(chunk % ALIGN) && left-- &&
		       chunk_at(w, chunk, &size, &prev_in_use) && size == MIN_CHUNK + ALIGN * bin) {
			err = heap_image_add_dead(w->image, chunk + HEADER, chunk + size + 8);
			chunk = next_fast(w, chunk);
		}
	}
	return err;
}

/* ---- where the arenas are ----------------------------------------------------------------- */

/*
 * The main arena is a variable of libc: where a file's writable memory names the top chunk,
 * followed by what can be the bins.
 */
static uint64_t find_main_arena(const struct walk *w)
{
	for (size_t i = 0; i < w->image->memory->region_count; i++) {
		const struct memory_region *r = &w->image->memory->regions[i];
		const struct mapping *m = r->mapping;

		/* Data of a file, or what follows it: .bss. */
		if (!m || !m->write || m->shared || m->end - m->start > HEAP_ALIGN ||
		    !strcmp(m->path, "[heap]") || !strcmp(m->path, "[stack]"))
			continue;
		for (size_t word = ARENA_TOP / 8; word + 4 < r->size / 8; word++) {
			uint64_t arena = r->start + 8 * word - ARENA_TOP;
			uint64_t bin = arena + ARENA_TOP; /* the unsorted bin seen as a chunk */

			/* Its two links lead to itself or to chunks. */
			if (r->words[word] != w->top ||
			    (r->words[word + 2] != bin && r->words[word + 2] < w->first) ||
			    (r->words[word + 2] == bin) != (r->words[word + 3] == bin))
				continue;
			return arena;
		}
	}
	return 0;
}

static int mark_heap(struct walk *w, uint64_t *key)
{
	int err;

	w->key = learn_key(w);
	if (w->key)
		*key = w->key;
	else
		w->key = *key;
	err = mark_chunks(w);
	err = err ?: mark_fastbins(w);
	/*
	 * Its pointers are to chunks. A chunk begins before its memory, in the last 8 bytes of the
	 * block before it, which they do not hold.
	 */
	return err
		       ?: heap_image_add_dead(w->image, w->arena + ARENA_FASTBINS,
					      w->arena + ARENA_BINS_END);
}

static int main_heap(struct heap_image *image, const struct mapping *m, uint64_t *key)
{
	struct walk w = {.image = image, .end = m->end, .main = true};

	/* A static program's first thread has its TLS there, before the first chunk. */
	for (w.first = m->start; w.first < m->end && w.first - m->start < BEFORE_HEAP_MAX;
	     w.first += ALIGN) {
		if (!find_top(&w))
			continue;
		w.arena = find_main_arena(&w);
		if (w.arena)
			return mark_heap(&w, key);
	}
	return 0;
}

/*
 * struct heap_info: ar_ptr, prev, size … then, in an arena's first heap, the arena itself, then the
 * chunks.
 */
static int other_heap(struct heap_image *image, uint64_t heap, uint64_t *key)
{
	struct walk w = {.image = image};
	uint64_t size, top;

	if (!memory_image_word(image->memory, heap, &w.arena) || w.arena <= heap ||
	    w.arena - heap > 256 || w.arena % 8 ||
	    !memory_image_word(image->memory, heap + 16, &size) || size < ARENA_MAX ||
	    size > HEAP_ALIGN || !memory_image_word(image->memory, w.arena + ARENA_TOP, &top) ||
	    top <= heap || top >= heap + size)
		return 0;
	w.end = heap + size;
	for (w.first = (w.arena + ARENA_TOP) & ~15ull; w.first < heap + ARENA_MAX;
	     w.first += ALIGN) {
		if (find_top(&w) && w.top == top)
			return mark_heap(&w, key);
	}
	return 0;
}

int dead_memory_glibc(struct heap_image *image)
{
	uint64_t key = 0;
	int err = 0;

	for (size_t i = 0; !err && i < maps_count(image->memory->maps); i++) {
		const struct mapping *m = maps_at(image->memory->maps, i);

		if (!strcmp(m->path, "[heap]") && m->write)
			err = main_heap(image, m, &key);
	}
	for (size_t i = 0; !err && i < maps_count(image->memory->maps); i++) {
		const struct mapping *m = maps_at(image->memory->maps, i);
		uint64_t heap = (m->start + HEAP_ALIGN - 1) & ~(HEAP_ALIGN - 1);

		/* Neighbouring heaps may have become one mapping. */
		for (; !err && !m->ino && m->write && heap < m->end; heap += HEAP_ALIGN)
			err = other_heap(image, heap, &key);
	}
	return err;
}
