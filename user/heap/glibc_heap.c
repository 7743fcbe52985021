// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The chunks of glibc's malloc, as malloc/malloc.c and malloc/arena.c of glibc 2.26 to 2.41 lay them
 * out (64 bits; see also https://sourceware.org/glibc/wiki/MallocInternals). An arena's memory is
 * rows of chunks; nothing is believed before the whole row has been walked.
 *
 * A chunk is free when the next one says so (PREV_INUSE), and then its size stands at its end, too. Small
 * ones are not told that way: they hang on lists, a thread's or their arena's (glibc_caches.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"
#include "user/heap/glibc_trim.h"

/* ---- reporting ---------------------------------------------------------------------------- */

/* A pass over the rows, in the order of addresses. */
struct glibc_report {
	struct glibc_books *books;
	size_t aside, block; /* the first ones that do not lie before */
	struct glibc_trim trim;
};

static int glibc_tell(struct glibc_report *r, enum inventory_part part, uint64_t start,
		      uint64_t end)
{
	return walker_report(r->books->image, r->books->allocator, part, start, end, UINT64_MAX);
}

/* Is a tracked block in the chunk's memory, and where does it end? *alone: there is no other one. */
static bool glibc_has_block(struct glibc_report *r, uint64_t start, uint64_t end,
			    uint64_t *block_end, bool *alone)
{
	const struct heap_image *image = r->books->image;

	while (r->block < image->block_count && heap_block_address(image, r->block) < start)
		r->block++;
	if (r->block == image->block_count || heap_block_address(image, r->block) >= end)
		return false;
	*block_end = heap_block_end(image, r->block);
	*alone = r->block + 1 == image->block_count ||
		 heap_block_address(image, r->block + 1) >= end;
	return true;
}

/* A chunk's memory in use, [start, end). */
static int glibc_tell_block(struct glibc_report *r, uint64_t start, uint64_t end)
{
	struct heap_image *image = r->books->image;
	uint64_t block_end, asked = UINT64_MAX;
	bool alone, ours = glibc_has_block(r, start, end, &block_end, &alone);
	int err;

	/* Its call has not returned yet, or its free has begun. */
	if (!ours && image->all_known)
		return glibc_tell(r, INVENTORY_CACHED, start, end);
	/*
	 * What is left of it behind the block nobody has asked for. A block with others inside (a pool's)
	 * is let be.
	 */
	if (ours && alone && block_end <= end) {
		asked = block_end - start;
		err = heap_image_add_dead(image, (block_end + 7) & ~7ull, end);
		if (err)
			return err;
	}
	return walker_report(image, r->books->allocator, INVENTORY_IN_USE, start, end, asked);
}

/* The one that has been put aside at that chunk; NULL: it has not. */
static const struct glibc_aside *glibc_aside_at(struct glibc_report *r, uint64_t chunk)
{
	const struct glibc_books *books = r->books;

	while (r->aside < books->aside_count && books->asides[r->aside].chunk < chunk)
		r->aside++;
	return r->aside < books->aside_count && books->asides[r->aside].chunk == chunk
		       ? &books->asides[r->aside]
		       : NULL;
}

static bool glibc_has_key(struct glibc_books *books, uint64_t chunk)
{
	uint64_t word;

	return books->key && glibc_word(books, chunk + GLIBC_HEADER + 8, &word) &&
	       word == books->key;
}

/* A chunk whose memory is [chunk + HEADER, end): that reaches over the next one's first word. */
static int glibc_tell_chunk(struct glibc_report *r, const struct glibc_row *row, uint64_t chunk,
			    uint64_t head, uint64_t next_head)
{
	struct glibc_books *books = r->books;
	uint64_t size = head & ~GLIBC_FLAGS, end = chunk + size + 8, foot, unused;
	const struct glibc_aside *aside = glibc_aside_at(r, chunk);
	bool alone;

	if (books->allocator)
		glibc_trim_chunk(&r->trim, chunk, chunk + size,
				 !(next_head & GLIBC_PREV_INUSE) || (aside && aside->fast));
	if (glibc_has_block(r, chunk + GLIBC_HEADER, end, &unused, &alone)) {
		/* What we know goes before what the books say: it is on its way from or to the caller. */
	} else if (!(next_head & GLIBC_PREV_INUSE)) {
		if (glibc_word(books, chunk + size, &foot) && foot == size)
			return glibc_tell(r, INVENTORY_FREE, chunk + 8, end);
		walker_doubt(books->allocator, "a free chunk does not end with its size");
		return glibc_tell(r, INVENTORY_UNBELIEVED, chunk + 8, end);
	} else if (aside || glibc_has_key(books, chunk)) {
		return glibc_tell(r, aside && aside->own ? INVENTORY_BOOKS : INVENTORY_CACHED,
				  chunk + 8, end);
	} else if (!books->arenas[row->arena].main && !(head & GLIBC_OTHER_ARENA)) {
		/* Of what was given out all have the flag: it is a fence where there was no room for one. */
		return glibc_tell(r, INVENTORY_BOOKS, chunk + 8, end);
	}
	return glibc_tell(r, INVENTORY_BOOKS, chunk + 8, chunk + GLIBC_HEADER)
		       ?: glibc_tell_block(r, chunk + GLIBC_HEADER, end);
}

/* The chunks before the top or the fence; *all: none of them was in the way. */
static int glibc_tell_chunks(struct glibc_report *r, const struct glibc_row *row, bool *all)
{
	struct glibc_books *books = r->books;
	uint64_t head = 0, next_head = 0, at = row->first;
	int err = 0;

	*all = false;
	/* All of it has been walked over. */
	if (!glibc_word(books, at + 8, &head))
		return 0;
	for (; !err && at < row->last; head = next_head) {
		uint64_t next = at + (head & ~GLIBC_FLAGS);

		if (next <= at || next > row->last || !glibc_word(books, next + 8, &next_head))
			return 0;
		err = glibc_tell_chunk(r, row, at, head, next_head);
		at = next;
	}
	*all = true;
	return err
		       ?: glibc_tell(r, row->has_top ? INVENTORY_FREE : INVENTORY_BOOKS,
				     row->last + 8, row->end);
}

static int glibc_tell_row(struct glibc_report *r, const struct glibc_row *row, bool *all)
{
	struct glibc_books *books = r->books;
	uint64_t unused;
	bool alone;
	int err;

	*all = false;
	if (row->doubted)
		return glibc_tell(r, INVENTORY_UNBELIEVED, row->begin, row->end);
	/* Where all are known it is none, if it looks like one. */
	if (row->mapped && books->image->all_known &&
	    !glibc_has_block(r, row->first + GLIBC_HEADER, row->end, &unused, &alone))
		return 0;
	err = glibc_tell(r, INVENTORY_BOOKS, row->begin,
			 row->first + (row->mapped ? GLIBC_HEADER : 8));
	if (row->mapped)
		return err ?: glibc_tell_block(r, row->first + GLIBC_HEADER, row->end);
	return err ?: glibc_tell_chunks(r, row, all);
}

/* With what malloc_trim() would make of it. */
static int glibc_tell_counted(struct glibc_report *r, const struct glibc_row *row)
{
	const bool counted = r->books->allocator && !row->mapped;
	bool all;
	int err;

	if (counted)
		glibc_trim_row(&r->trim, row);
	err = glibc_tell_row(r, row, &all);
	if (counted)
		glibc_trim_row_end(&r->trim, all);
	return err;
}

/*
 * The arena's pointers are to chunks. A chunk begins before its memory, in the last 8 bytes of the block before it,
 * which they do not hold. The main arena lies in the library's data, and is counted there.
 */
static int glibc_mark_arenas(struct glibc_books *books)
{
	int err = 0;

	for (size_t i = 0; !err && i < books->arena_count; i++) {
		const struct glibc_arena *a = &books->arenas[i];

		if (a->locked)
			walker_doubt(books->allocator,
				     "a thread was changing an arena at that moment: some blocks "
				     "of it may be on their way");
		if (a->main && a->found)
			err = heap_image_add_dead(books->image, a->bins - GLIBC_FAST,
						  a->bins + GLIBC_STATE_END);
	}
	return err;
}

static int glibc_tell_all(struct glibc_books *books)
{
	struct glibc_report report = {.books = books};
	int err = glibc_mark_arenas(books);

	if (books->allocator)
		books->allocator->shown.arenas = books->arena_count;
	if (books->allocator)
		glibc_trim_begin(&report.trim, books);
	for (size_t i = 0; !err && i < books->row_count; i++)
		err = glibc_tell_counted(&report, &books->rows[i]);
	if (books->allocator)
		glibc_trim_end(&report.trim);
	return err;
}

int glibc_heap_mark(struct heap_image *image)
{
	struct glibc_books books = {.image = image, .left = 64 + image->memory->bytes};
	int err = glibc_find_arenas(&books);

	if (!err && books.arena_count) {
		books.allocator = walker_allocator(image, "glibc");
		err = glibc_find_rows(&books);
		err = err ?: glibc_find_asides(&books);
		err = err ?: glibc_tell_all(&books);
	}
	free(books.arenas);
	free(books.rows);
	free(books.asides);
	return err;
}
