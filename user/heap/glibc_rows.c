// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The memory of glibc's arenas: rows of chunks, each from its first chunk to the arena's top chunk, or to a fence where
 * the arena has gone on elsewhere. The main arena's are what sbrk() gave, with gaps where the program has called that
 * itself, and mappings where it gave nothing. The others' are heaps, mapped at multiples of their size, which name
 * their arena. Large blocks are chunks that are mappings of their own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/page.h"
#include "user/base/util.h"
#include "user/heap/glibc_books.h"

/* HEAP_MAX_SIZE is 64 MiB; four times the size of huge pages where these are asked for. */
#define HEAP_ALIGN (8ull << 20)
#define HEAP_MAX   (4ull << 30)

/* A static program's first thread has its TLS there, before the first chunk. */
#define BEFORE_HEAP_MAX (64 << 10)

/* What the main arena maps when sbrk() fails (MMAP_AS_MORECORE_SIZE). */
#define PIECE_MIN (1ull << 20)

static bool glibc_is_anonymous(const struct mapping *m)
{
	return m && m->write && !m->ino && !m->shared && strncmp(m->path, "[stack", 6) != 0 &&
	       (!*m->path || !strcmp(m->path, "[heap]") || !strncmp(m->path, "[anon", 5));
}

/* Where the anonymous memory ends that has the address: neighbours may be mappings of their own. */
static uint64_t glibc_memory_end(const struct glibc_books *books, uint64_t address)
{
	const struct maps *maps = books->image->memory->maps;
	const struct mapping *m = maps_find(maps, address);
	uint64_t end = address;

	while (glibc_is_anonymous(m)) {
		end = m->end;
		m = maps_find(maps, end);
	}
	return end;
}

static int glibc_add_row(struct glibc_books *books, const struct glibc_row *row)
{
	if (!RESERVE_ITEM(books->rows, books->row_count, books->row_room, 64))
		return -ENOMEM;
	books->rows[books->row_count++] = *row;
	return 0;
}

static int glibc_row_order(const void *a, const void *b)
{
	const struct glibc_row *x = a, *y = b;

	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* By address; of two that overlap the second goes. */
static void glibc_sort_rows(struct glibc_books *books)
{
	size_t kept = 0;

	if (books->row_count)
		qsort(books->rows, books->row_count, sizeof(*books->rows), glibc_row_order);
	for (size_t i = 0; i < books->row_count; i++) {
		if (!kept || books->rows[i].begin >= books->rows[kept - 1].end)
			books->rows[kept++] = books->rows[i];
	}
	books->row_count = kept;
}

/* ---- a row -------------------------------------------------------------------------------- */

/*
 * The fence: chunks of no more than a header, with or without one of size 0 behind them. False when it is none that ends
 * as it has to.
 */
static bool glibc_end_at_fence(struct glibc_books *books, struct glibc_row *row, uint64_t limit,
			       uint64_t at)
{
	bool main = books->arenas[row->arena].main;
	uint64_t head;

	row->last = at;
	row->has_top = false;
	for (unsigned i = 0; i < 3 && at < limit; i++) {
		if (!glibc_word(books, at + 8, &head) || (head & ~GLIBC_FLAGS) > GLIBC_HEADER)
			break;
		at += GLIBC_HEADER;
	}
	row->end = at;
	return at - row->last >= GLIBC_HEADER &&
	       (main ? at - row->last > GLIBC_HEADER && !(at % GLIBC_PAGE) : at == limit);
}

/* Walks the row from row->first; true when it ends as a row of its arena does, within the limit. */
static bool glibc_walk(struct glibc_books *books, struct glibc_row *row, uint64_t limit)
{
	const struct glibc_arena *arena = &books->arenas[row->arena];
	uint64_t at = row->first, head, size;

	for (; books->left && at < limit; at += size, books->left--) {
		if (!glibc_word(books, at + 8, &head))
			return false;
		size = head & ~GLIBC_FLAGS;
		if (size <= GLIBC_HEADER)
			return at != row->first && glibc_end_at_fence(books, row, limit, at);
		if (size < GLIBC_MIN_CHUNK || size % GLIBC_ALIGN || size > limit - at ||
		    head & GLIBC_IS_MMAPPED || (arena->main && head & GLIBC_OTHER_ARENA))
			return false;
		if (at == arena->top) {
			row->last = at;
			row->has_top = true;
			row->end = at + size;
			return arena->main ? !(row->end % GLIBC_PAGE) : row->end == limit;
		}
	}
	return false;
}

/* ---- the main arena ----------------------------------------------------------------------- */

/*
 * Rows in what sbrk() gave, which is [start, end). Between them lies what the program has taken itself; before the first
 * one, in a static program, its TLS.
 */
static int glibc_brk_rows(struct glibc_books *books, size_t arena, uint64_t start, uint64_t end)
{
	struct glibc_arena *a = &books->arenas[arena];
	uint64_t from = start, most = BEFORE_HEAP_MAX;
	struct glibc_row row = {.arena = arena};
	int err = 0;

	for (uint64_t at = start; !err && books->left && at < end && at - from < most;) {
		row.begin = row.first = at;
		books->left--;
		if (!glibc_walk(books, &row, end)) {
			at += GLIBC_ALIGN;
			continue;
		}
		/* What a second row is behind counts as the arena's (foreign sbrk()). */
		a->found += row.end - from;
		err = glibc_add_row(books, &row);
		if (row.has_top)
			return err;
		from = at = row.end;
		most = end - from;
	}
	return err;
}

/* The first address of what sbrk() gave; 0: it gave nothing. */
static uint64_t glibc_brk_start(const struct glibc_books *books, const struct glibc_arena *a)
{
	const struct maps *maps = books->image->memory->maps;

	if (a->params)
		return (a->brk + GLIBC_ALIGN - 1) & ~(GLIBC_ALIGN - 1ull);
	for (size_t i = 0; i < maps_count(maps); i++) {
		if (!strcmp(maps_at(maps, i)->path, "[heap]"))
			return maps_at(maps, i)->start;
	}
	return 0;
}

static int glibc_main_rows(struct glibc_books *books, size_t arena)
{
	struct glibc_arena *a = &books->arenas[arena];
	uint64_t start = glibc_brk_start(books, a), end = glibc_memory_end(books, start);
	size_t before = books->row_count;
	struct glibc_row doubted = {
		.begin = start, .first = start, .arena = arena, .doubted = true};
	int err;

	if (!start || start >= end || a->top == a->bins - GLIBC_TOP)
		return 0;
	err = glibc_brk_rows(books, arena, start, end);
	doubted.end = books->row_count > before ? books->rows[before].first : end;
	/* What lies before the first chunk of all is not the allocator's. */
	if (err || doubted.end <= start || (!a->params && books->row_count > before))
		return err;
	walker_doubt(books->allocator, "the main arena's chunks do not lead to its top");
	return glibc_add_row(books, &doubted);
}

/* ---- other arenas ------------------------------------------------------------------------- */

/*
 * struct heap_info: ar_ptr, prev, size, mprotect_size, from 2.35 on pagesize; in an arena's first heap then the arena
 * itself; then the chunks.
 */
static bool glibc_walk_heap(struct glibc_books *books, struct glibc_row *row, uint64_t heap,
			    uint64_t end)
{
	uint64_t state = books->arenas[row->arena].address;
	uint64_t behind = books->arenas[row->arena].bins + GLIBC_STATE_END;

	if (state > heap && state - heap <= 256) {
		row->first = (behind + GLIBC_ALIGN - 1) & ~(GLIBC_ALIGN - 1ull);
		return glibc_walk(books, row, end);
	}
	for (row->first = heap + 32; row->first <= heap + 64; row->first += GLIBC_ALIGN) {
		if (glibc_walk(books, row, end))
			return true;
	}
	return false;
}

static int glibc_take_heap(struct glibc_books *books, uint64_t heap, uint64_t limit)
{
	struct glibc_row row = {.begin = heap};
	uint64_t words[4];

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		if (!glibc_word(books, heap + 8 * i, &words[i]))
			return 0;
	}
	if (words[2] < GLIBC_PAGE || words[2] % GLIBC_PAGE || words[2] > HEAP_MAX ||
	    words[2] > limit - heap || words[3] < words[2])
		return 0;
	for (size_t i = 0; i < books->arena_count; i++) {
		struct glibc_arena *a = &books->arenas[i];

		if (a->main || a->address != words[0])
			continue;
		row.arena = i;
		if (!glibc_walk_heap(books, &row, heap, heap + words[2])) {
			row = (struct glibc_row){
				.begin = heap, .first = heap, .arena = i, .doubted = true};
			row.end = heap + words[2];
			walker_doubt(books->allocator,
				     "the chunks of a heap do not lead to its end");
		}
		a->found += words[2];
		return glibc_add_row(books, &row);
	}
	return 0;
}

static int glibc_find_heaps(struct glibc_books *books)
{
	const struct maps *maps = books->image->memory->maps;
	int err = 0;

	for (size_t i = 0; !err && i < maps_count(maps); i++) {
		const struct mapping *m = maps_at(maps, i);
		uint64_t heap = (m->start + HEAP_ALIGN - 1) & ~(HEAP_ALIGN - 1);

		/* Neighbouring heaps may have become one mapping, and one several. */
		for (; !err && glibc_is_anonymous(m) && heap < m->end && books->left;
		     heap += HEAP_ALIGN, books->left--)
			err = glibc_take_heap(books, heap, glibc_memory_end(books, heap));
	}
	return err;
}

/* ---- what was mapped ---------------------------------------------------------------------- */

/* Calls for each page that is there and begins none of the rows so far; they are sorted. *next: where to go on. */
typedef int (*glibc_page_fn)(struct glibc_books *books, size_t arena, const uint64_t *words,
			     uint64_t page, uint64_t *next);

static int glibc_each_page(struct glibc_books *books, size_t arena, glibc_page_fn fn)
{
	const struct memory_image *memory = books->image->memory;
	size_t row = 0, rows = books->row_count;
	uint64_t next = 0;
	int err = 0;

	for (size_t i = 0; i < memory->region_count; i++) {
		const struct memory_region *r = &memory->regions[i];
		uint64_t page = page_up(r->start, GLIBC_PAGE), end = r->start + r->size;

		if (!glibc_is_anonymous(r->mapping))
			continue;
		for (page = page > next ? page : next; !err && page + GLIBC_PAGE <= end;
		     page = next) {
			while (row < rows && books->rows[row].end <= page)
				row++;
			next = page + GLIBC_PAGE;
			if (row < rows && books->rows[row].begin <= page)
				next = page_up(books->rows[row].end, GLIBC_PAGE);
			else
				err = fn(books, arena, r->words + (page - r->start) / 8, page,
					 &next);
		}
	}
	return err;
}

/* A row of the main arena that was mapped since sbrk() failed. */
static int glibc_try_piece(struct glibc_books *books, size_t arena, const uint64_t *words,
			   uint64_t page, uint64_t *next)
{
	struct glibc_row row = {.begin = page, .first = page, .arena = arena};

	if (words[0] || (words[1] & GLIBC_FLAGS) != GLIBC_PREV_INUSE ||
	    !glibc_walk(books, &row, glibc_memory_end(books, page)) || row.end - page < PIECE_MIN)
		return 0;
	books->arenas[arena].found += row.end - page;
	*next = row.end;
	return glibc_add_row(books, &row);
}

/*
 * A block that was to be aligned begins later in its mapping: the chunk has how much later in its first word. Its memory
 * is at the first such address that leaves room for a chunk before it (_int_memalign()).
 */
static bool glibc_is_aligned_chunk(struct glibc_books *books, uint64_t chunk, uint64_t page,
				   uint64_t *size)
{
	uint64_t before, head;

	if (!glibc_word(books, chunk, &before) || before != chunk - page ||
	    !glibc_word(books, chunk + 8, &head) || (head & GLIBC_FLAGS) != GLIBC_IS_MMAPPED)
		return false;
	*size = before + (head & ~GLIBC_FLAGS);
	return *size > before && !(*size % GLIBC_PAGE);
}

static uint64_t glibc_aligned_chunk(struct glibc_books *books, uint64_t page, uint64_t *size)
{
	uint64_t whole = *size;

	for (uint64_t align = 64; align < whole; align *= 2) {
		uint64_t chunk = page_up(page + 1, align) - GLIBC_HEADER;

		if (glibc_is_aligned_chunk(books, chunk, page, size))
			return chunk;
	}
	*size = whole;
	return page;
}

static int glibc_try_mapped(struct glibc_books *books, size_t arena, const uint64_t *words,
			    uint64_t page, uint64_t *next)
{
	struct glibc_row row = {.begin = page, .mapped = true};
	uint64_t size = words[1] & ~GLIBC_FLAGS, limit;

	(void)arena;
	if (words[0] || (words[1] & GLIBC_FLAGS) != GLIBC_IS_MMAPPED || !size || size % GLIBC_PAGE)
		return 0;
	limit = glibc_memory_end(books, page);
	if (size > limit - page)
		return 0;
	row.first = glibc_aligned_chunk(books, page, &size);
	if (size > limit - page)
		return 0;
	*next = row.end = page + size;
	return glibc_add_row(books, &row);
}

/*
 * Anything may look like such a block; the library counts them. One more for each thread may be on its way, and then is
 * not counted yet, or not any more.
 */
static void glibc_check_mapped(struct glibc_books *books, size_t first)
{
	uint64_t found = 0, count = 0, bytes = 0;
	bool known = true;

	for (size_t i = first; i < books->row_count; i++)
		found += books->rows[i].end - books->rows[i].begin;
	for (size_t i = 0; i < books->arena_count; i++) {
		known = known && (!books->arenas[i].main || books->arenas[i].params);
		count += books->arenas[i].mapped_count;
		bytes += books->arenas[i].mapped_bytes;
	}
	if (known && found == bytes && books->row_count - first == count)
		return;
	if (known && (found < bytes || books->row_count - first < count)) {
		walker_doubt(
			books->allocator,
			"blocks that are mappings of their own were found less than it counts");
		return;
	}
	if (known && books->row_count - first - count <= books->image->memory->thread_count)
		return;
	walker_doubt(books->allocator,
		     "more looks like blocks that are mappings of their own than it counts");
	for (size_t i = first; i < books->row_count; i++)
		books->rows[i].doubted = true;
}

int glibc_find_rows(struct glibc_books *books)
{
	size_t first;
	int err = 0;

	for (size_t i = 0; !err && i < books->arena_count; i++) {
		if (books->arenas[i].main)
			err = glibc_main_rows(books, i);
	}
	err = err ?: glibc_find_heaps(books);
	glibc_sort_rows(books);
	for (size_t i = 0; !err && i < books->arena_count; i++) {
		const struct glibc_arena *a = &books->arenas[i];

		if (!a->main || a->found + GLIBC_PAGE >= a->system_mem)
			continue;
		err = glibc_each_page(books, i, glibc_try_piece);
		glibc_sort_rows(books);
		if (a->found + GLIBC_PAGE < a->system_mem)
			walker_doubt(books->allocator,
				     "not all memory of the main arena was found");
	}
	first = books->row_count;
	/* Where all blocks are known these are among them, and only an inventory asks what lies around. */
	if (!err && (!books->image->all_known || books->image->inventory))
		err = glibc_each_page(books, 0, glibc_try_mapped);
	glibc_check_mapped(books, first);
	glibc_sort_rows(books);
	return err;
}
