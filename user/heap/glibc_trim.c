// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/glibc_trim.h"

#include <string.h>

#include "user/base/page.h"

#define CHUNK_STRUCT 48		    /* sizeof(struct malloc_chunk): the header and four links */
#define TOP_STAYS    33		    /* MINSIZE, and one: systrim()'s top_area */
#define MMAP_FIRST   (128ull << 10) /* DEFAULT_MMAP_THRESHOLD */

/* Before mmapped_mem of struct malloc_par: from 2.35 on, and before that. */
#define TRIM_THRESHOLD 80
#define MMAP_THRESHOLD 64
#define THP_PAGE       40
#define OLD_TRIM       56
#define OLD_MMAP       40

static struct inventory_trim *trim_out(const struct glibc_trim *t)
{
	return &t->books->allocator->trim;
}

static uint64_t trim_there(const struct glibc_trim *t, uint64_t start, uint64_t end)
{
	return inventory_resident(t->books->image->inventory, t->books->image->memory, start, end);
}

void glibc_trim_begin(struct glibc_trim *t, struct glibc_books *books)
{
	const struct maps *maps = books->image->memory->maps;

	*t = (struct glibc_trim){.books = books};
	for (size_t i = 0; i < maps_count(maps); i++) {
		if (!strcmp(maps_at(maps, i)->path, "[heap]"))
			t->brk_end = maps_at(maps, i)->end;
	}
	trim_out(t)->known = true;
}

void glibc_trim_row(struct glibc_trim *t, const struct glibc_row *row)
{
	t->row = row;
	t->start = t->end = 0;
	t->before = t->books->allocator->shown.free_resident;
}

/* The top is a free chunk like others, which what is free before it has been joined with. */
static void trim_take_top(struct glibc_trim *t)
{
	const struct glibc_arena *arena = &t->books->arenas[t->row->arena];
	const uint64_t size = t->end - t->start;
	uint64_t page = page_size(), huge, extra;

	if (!arena->main) {
		trim_out(t)->left +=
			trim_there(t, page_up(t->start + GLIBC_MIN_CHUNK, page), t->end);
		return;
	}
	/* sbrk() takes back only what it gave last. */
	if (t->end != t->brk_end || size <= TOP_STAYS)
		return;
	if (arena->params && arena->params_wide &&
	    glibc_word(t->books, arena->params - THP_PAGE, &huge) && huge > page &&
	    !(huge & (huge - 1)))
		page = huge;
	extra = page_down(size - TOP_STAYS, page);
	trim_out(t)->top += trim_there(t, t->end - extra, t->end);
}

/* From behind the links of a free chunk as many whole pages as end in it. */
static void trim_take_run(struct glibc_trim *t)
{
	const uint64_t page = page_size(), from = page_up(t->start + CHUNK_STRUCT, page);

	if (t->end > from && t->end - from >= page)
		trim_out(t)->midst += trim_there(t, from, from + page_down(t->end - from, page));
	if (t->end - t->start >= MMAP_FIRST)
		trim_out(t)->large += trim_there(t, t->start, t->end);
	t->start = t->end = 0;
}

void glibc_trim_chunk(struct glibc_trim *t, uint64_t chunk, uint64_t end, bool free)
{
	if (!free) {
		if (t->end)
			trim_take_run(t);
		return;
	}
	t->start = t->end ? t->start : chunk;
	t->end = end;
}

void glibc_trim_row_end(struct glibc_trim *t, bool all)
{
	const struct glibc_row *row = t->row;
	const struct inspected_allocator *shown = &t->books->allocator->shown;

	if (!all || row->doubted)
		trim_out(t)->unsure = true;
	if (all && row->has_top) {
		glibc_trim_chunk(t, row->last, row->end, true);
		trim_take_top(t);
	} else if (t->end) {
		trim_take_run(t);
	}
	if (!t->books->arenas[row->arena].main)
		trim_out(t)->others += shown->free_resident - t->before;
	t->start = t->end = 0;
}

void glibc_trim_end(struct glibc_trim *t)
{
	struct inventory_trim *out = trim_out(t);
	struct glibc_books *books = t->books;

	for (size_t i = 0; i < books->arena_count; i++) {
		const struct glibc_arena *a = &books->arenas[i];
		uint64_t trim, mmap;

		out->unsure |= a->locked;
		if (!a->params ||
		    !glibc_word(books, a->params - (a->params_wide ? TRIM_THRESHOLD : OLD_TRIM),
				&trim) ||
		    !glibc_word(books, a->params - (a->params_wide ? MMAP_THRESHOLD : OLD_MMAP),
				&mmap))
			continue;
		out->trim_threshold = trim;
		out->mmap_threshold = mmap;
		/* free() of a mapping makes them its size and twice that; who sets one sets one. */
		out->raised = mmap > MMAP_FIRST && trim == 2 * mmap;
	}
}
