// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Chunks of glibc's that are free and look used: those in the caches of threads and those in fast bins. A thread's
 * cache (struct tcache_perthread_struct) is a chunk of its own: counts, then heads of lists. It is known by its lists:
 * they are as long as their counts, of chunks of their size. From 2.32 on links are hidden by where they lie (safe
 * linking), which all lists of a process agree about.
 */
#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"
#include "user/heap/glibc_books.h"

#define TCACHE_BINS 64

/* What the frames of malloc's own functions take of a stack, and more. */
#define FRAMES_MAX 2048

/* Of the two layouts: how long a count is, and with it the chunk. From 2.30 on; before. */
static const uint64_t glibc_count_bytes[] = {2, 1};

struct glibc_caches {
	struct glibc_books *books;
	bool hidden;  /* links are */
	bool known;   /* whether they are */
	uint64_t key; /* in each cached chunk behind its link; 0: not seen */
	/* Memory of caches, and of what looks like one of which all lists are empty; by address. */
	uint64_t *found, *empty;
	size_t found_count, found_room, empty_count, empty_room;
};

/* What each costs of what may be looked at: as many as there can be chunks. */
static int glibc_put_aside(struct glibc_books *books, const struct glibc_aside *aside)
{
	books->left -= books->left < GLIBC_MIN_CHUNK ? books->left : GLIBC_MIN_CHUNK;
	if (!RESERVE_ITEM(books->asides, books->aside_count, books->aside_room, 256))
		return books->err = -ENOMEM;
	books->asides[books->aside_count++] = *aside;
	return 0;
}

/* The memory of a thread's cache. */
static int glibc_put_own(struct glibc_books *books, uint64_t memory)
{
	return glibc_put_aside(books,
			       &(struct glibc_aside){.chunk = memory - GLIBC_HEADER, .own = true});
}

static bool glibc_follow(struct glibc_books *books, uint64_t link, bool hidden, uint64_t *next)
{
	if (!glibc_word(books, link, next))
		return false;
	*next ^= hidden ? link >> 12 : 0;
	return !(*next % GLIBC_ALIGN);
}

/* A chunk of that size, in a row. */
static bool glibc_is_chunk(struct glibc_books *books, uint64_t chunk, uint64_t size)
{
	const struct glibc_row *row = glibc_row_at(books, chunk);
	uint64_t head;

	return row && !row->mapped && !row->doubted && chunk >= row->first && chunk < row->last &&
	       glibc_word(books, chunk + 8, &head) && (head & ~GLIBC_FLAGS) == size;
}

/* What the chunks on a cache's lists have in common. */
struct glibc_marks {
	uint64_t key; /* behind their links; 0: they differ */
	bool any;
};

/* A list of a cache: puts its chunks aside. How many there are; -1: it leads astray. */
static int64_t glibc_cached_list(struct glibc_books *books, uint64_t block, uint64_t size,
				 bool hidden, struct glibc_marks *marks)
{
	int64_t count = 0;
	uint64_t key;

	while (block) {
		if (count > UINT16_MAX || !books->left || block % GLIBC_ALIGN ||
		    !glibc_is_chunk(books, block - GLIBC_HEADER, size) ||
		    !glibc_word(books, block + 8, &key) ||
		    glibc_put_aside(books, &(struct glibc_aside){.chunk = block - GLIBC_HEADER}) ||
		    !glibc_follow(books, block, hidden, &block))
			return -1;
		marks->key = marks->any && marks->key != key ? 0 : key;
		marks->any = true;
		count++;
	}
	return count;
}

/*
 * All lists of the cache in that memory. One chunk may be about to be put there or taken; while a thread ends, its
 * lists become shorter and the counts stay, which nobody is believed whose chunks have no mark in common.
 */
static bool glibc_cached_lists(struct glibc_books *books, uint64_t memory, uint64_t count_bytes,
			       bool hidden, struct glibc_marks *marks)
{
	unsigned amiss = 0;
	bool shorter = true;

	*marks = (struct glibc_marks){0};
	for (uint64_t bin = 0; bin < TCACHE_BINS; bin++) {
		uint64_t at = memory + count_bytes * bin, counts, head;
		int64_t count, found;

		if (!glibc_word(books, at & ~7ull, &counts) ||
		    !glibc_word(books, memory + count_bytes * TCACHE_BINS + 8 * bin, &head))
			return false;
		count = (int64_t)(counts >> at % 8 * 8 &
				  (count_bytes == 2 ? UINT16_MAX : UINT8_MAX));
		found = glibc_cached_list(books, head, GLIBC_MIN_CHUNK + 16 * bin, hidden, marks);
		if (found < 0)
			return false;
		amiss += (unsigned)llabs(found - count);
		shorter = shorter && found <= count;
	}
	return marks->any && (amiss <= 1 || (shorter && marks->key));
}

/* Is it a thread's cache? Its chunks are put aside. */
static int glibc_try_cache(struct glibc_caches *c, uint64_t memory, uint64_t count_bytes)
{
	struct glibc_books *books = c->books;
	size_t before = books->aside_count;
	struct glibc_marks marks;

	for (int hidden = 1; hidden >= 0; hidden--) {
		if (c->known && c->hidden != hidden)
			continue;
		books->aside_count = before;
		if (!glibc_cached_lists(books, memory, count_bytes, hidden, &marks))
			continue;
		c->known = true;
		c->hidden = hidden;
		c->key = marks.key ?: c->key;
		if (!RESERVE_ITEM(c->found, c->found_count, c->found_room, 64))
			return -ENOMEM;
		c->found[c->found_count++] = memory;
		return 0;
	}
	books->aside_count = before;
	return 0;
}

static bool glibc_is_empty(struct glibc_books *books, uint64_t memory, uint64_t bytes)
{
	uint64_t word = 0;

	for (uint64_t i = 0; !word && i < bytes; i += 8) {
		if (!glibc_word(books, memory + i, &word))
			return false;
	}
	return !word;
}

/* Looks at all chunks that have a cache's size. */
static int glibc_search_row(struct glibc_caches *c, const struct glibc_row *row)
{
	struct glibc_books *books = c->books;
	uint64_t head, size;
	int err = 0;

	for (uint64_t at = row->first; !err && at < row->last; at += size) {
		if (!glibc_word(books, at + 8, &head) || (head & ~GLIBC_FLAGS) < GLIBC_ALIGN)
			break;
		size = head & ~GLIBC_FLAGS;
		for (size_t i = 0; !err && i < ARRAY_SIZE(glibc_count_bytes); i++) {
			uint64_t bytes = TCACHE_BINS * (glibc_count_bytes[i] + 8);

			/* What is left of a chunk may be too small for one of its own. */
			if (size - GLIBC_HEADER != bytes && size - 2 * GLIBC_HEADER != bytes)
				continue;
			if (!glibc_is_empty(books, at + GLIBC_HEADER, bytes)) {
				err = glibc_try_cache(c, at + GLIBC_HEADER, glibc_count_bytes[i]);
			} else if (RESERVE_ITEM(c->empty, c->empty_count, c->empty_room, 64)) {
				c->empty[c->empty_count++] = at + GLIBC_HEADER;
			} else {
				err = -ENOMEM;
			}
		}
	}
	return err;
}

static bool glibc_among(const uint64_t *items, size_t count, uint64_t item)
{
	size_t i = BISECT(i, 0, count, items[i] < item);

	return i < count && items[i] == item;
}

/* Is it one? An empty one looks as any zeros do, but an arena's first chunk is that of the thread it was made for. */
static bool glibc_is_sure(const struct glibc_caches *c, uint64_t memory)
{
	const struct glibc_row *row;

	if (glibc_among(c->found, c->found_count, memory))
		return true;
	row = glibc_among(c->empty, c->empty_count, memory) ? glibc_row_at(c->books, memory) : NULL;
	return row && row->first == memory - GLIBC_HEADER;
}

/*
 * From the thread pointer to libc's thread-local variable that has the cache's address; 0: not found. What lies
 * nearer to the thread pointer is no stack.
 */
static int64_t glibc_cache_offset(const struct glibc_caches *c)
{
	const struct memory_image *memory = c->books->image->memory;

	for (size_t t = 0; t < memory->thread_count; t++) {
		uint64_t tls = memory->threads[t].tls & ~7ull;
		struct heap_range range = walker_tls(&memory->threads[t]);

		for (uint64_t i = 8; i < tls - range.start; i += 8) {
			for (int side = -1; side <= 1; side += 2) {
				int64_t offset = side * (int64_t)i;
				uint64_t word;

				if (memory_image_word(memory, tls + (uint64_t)offset, &word) &&
				    word && glibc_is_sure(c, word))
					return offset;
			}
		}
	}
	return 0;
}

/* Each thread's own variable says where its cache is: of those that are empty nothing else tells. */
static int glibc_ask_threads(struct glibc_caches *c)
{
	const struct memory_image *memory = c->books->image->memory;
	int64_t offset = glibc_cache_offset(c);
	int err = 0;

	for (size_t t = 0; !err && offset && t < memory->thread_count; t++) {
		uint64_t tls = memory->threads[t].tls & ~7ull, word;

		if (!memory_image_word(memory, tls + (uint64_t)offset, &word) || !word ||
		    glibc_among(c->found, c->found_count, word))
			continue;
		if (glibc_among(c->empty, c->empty_count, word))
			err = glibc_put_own(c->books, word);
		else if (glibc_row_at(c->books, word))
			c->books->key = c->key;
	}
	if (c->books->key)
		walker_doubt(c->books->allocator,
			     "a thread was changing its cache at that moment: what it has is "
			     "told by a mark that blocks in use may have, too");
	return err;
}

/* What hangs on a fast bin, as far as it leads over chunks of its size. */
static int glibc_fast_list(struct glibc_caches *c, uint64_t chunk, uint64_t size)
{
	struct glibc_books *books = c->books;
	uint64_t mark = 0, steps = 0, turn = 1;
	int err = 0;

	while (!err && chunk && chunk != mark && !(chunk % GLIBC_ALIGN) && books->left &&
	       glibc_is_chunk(books, chunk, size)) {
		uint64_t link = chunk + GLIBC_HEADER, next, word;

		/* A circle comes back to where it was at the last power of two (Brent). */
		if (++steps == turn) {
			mark = chunk;
			turn *= 2;
		}
		err = glibc_put_aside(books, &(struct glibc_aside){.chunk = chunk, .fast = true});
		if (!glibc_word(books, link, &word))
			break;
		/* Without a cache nothing has told yet whether links are hidden: they lead to a chunk or end. */
		if (!c->known) {
			next = word ^ link >> 12;
			c->hidden = !next ||
				    (!(next % GLIBC_ALIGN) && glibc_is_chunk(books, next, size));
			c->known = true;
		}
		chunk = word ^ (c->hidden ? link >> 12 : 0);
	}
	if (!err && chunk)
		walker_doubt(books->allocator, "a fast bin leads to what is no chunk of its size");
	return err;
}

static int glibc_find_fast(struct glibc_caches *c)
{
	struct glibc_books *books = c->books;
	int err = 0;

	for (size_t i = 0; !err && i < books->arena_count; i++) {
		for (uint64_t bin = 0; !err && bin < GLIBC_FASTBINS; bin++) {
			uint64_t chunk;

			if (glibc_word(books, books->arenas[i].bins - GLIBC_FAST + 8 * bin, &chunk))
				err = glibc_fast_list(c, chunk, GLIBC_MIN_CHUNK + 16 * bin);
		}
	}
	return err;
}

/*
 * malloc_consolidate() takes a whole fast list off its bin, and has what is left of it in a variable: a word of a thread
 * that is in an arena may be a chunk from where such a list goes on. One whose link ends or leads on as only a list's
 * does, that is; where links are not hidden its end is no more than a zero.
 */
static int glibc_fast_in_hand(struct glibc_caches *c, uint64_t chunk)
{
	struct glibc_books *books = c->books;
	const struct glibc_row *row;
	uint64_t head, word, size, link = chunk + GLIBC_HEADER;

	if (!chunk || chunk % GLIBC_ALIGN || !(row = glibc_row_at(books, chunk)) || row->mapped ||
	    !books->arenas[row->arena].locked || !glibc_word(books, chunk + 8, &head) ||
	    !glibc_word(books, link, &word))
		return 0;
	size = head & ~GLIBC_FLAGS;
	if (size < GLIBC_MIN_CHUNK || size >= GLIBC_MIN_CHUNK + GLIBC_ALIGN * GLIBC_FASTBINS ||
	    !glibc_is_chunk(books, chunk, size) || (!c->hidden && !word))
		return 0;
	word ^= c->hidden ? link >> 12 : 0;
	if (word && !glibc_is_chunk(books, word, size))
		return 0;
	return glibc_fast_list(c, chunk, size);
}

static int glibc_find_in_hand(struct glibc_caches *c)
{
	const struct memory_image *memory = c->books->image->memory;
	bool locked = false;
	int err = 0;

	for (size_t i = 0; i < c->books->arena_count; i++)
		locked = locked || c->books->arenas[i].locked;
	for (size_t t = 0; !err && locked && t < memory->thread_count; t++) {
		const struct memory_thread *thread = &memory->threads[t];
		uint64_t at = thread->sp & ~7ull, word;

		for (size_t w = 0; !err && w < thread->word_count; w++)
			err = glibc_fast_in_hand(c, thread->words[w]);
		for (uint64_t i = 0; !err && i < FRAMES_MAX; i += 8) {
			if (memory_image_word(memory, at + i, &word))
				err = glibc_fast_in_hand(c, word);
		}
	}
	return err;
}

static int glibc_aside_order(const void *a, const void *b)
{
	const struct glibc_aside *x = a, *y = b;

	return x->chunk < y->chunk ? -1 : x->chunk > y->chunk;
}

int glibc_find_asides(struct glibc_books *books)
{
	struct glibc_caches caches = {.books = books};
	int err = 0;

	for (size_t i = 0; !err && i < books->row_count; i++) {
		if (!books->rows[i].mapped && !books->rows[i].doubted)
			err = glibc_search_row(&caches, &books->rows[i]);
	}
	for (size_t i = 0; !err && i < caches.found_count; i++)
		err = glibc_put_own(books, caches.found[i]);
	err = err ?: glibc_ask_threads(&caches);
	err = err ?: glibc_find_fast(&caches);
	err = err ?: glibc_find_in_hand(&caches);
	free(caches.found);
	free(caches.empty);
	if (books->aside_count)
		qsort(books->asides, books->aside_count, sizeof(*books->asides), glibc_aside_order);
	return err ?: books->err;
}
