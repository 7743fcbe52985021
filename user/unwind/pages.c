// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/unwind/pages.h"

#include <errno.h>
#include <stdlib.h>

#include "bpf/unwind_abi.h"

#define BUCKET_SIZE (1u << UNWIND_BUCKET_SHIFT)

struct page_writer {
	struct unwind_space *space;
	const struct unwind_segment *segment;
	const uint16_t *numbers;
	size_t next;	 /* row not yet written */
	uint32_t rule;	 /* that holds before it */
	uint32_t *words; /* rows of the page being written */
	uint32_t count;
};

static void pages_put(struct page_writer *w, uint32_t place, uint32_t rule)
{
	uint32_t number = w->numbers[rule];

	w->rule = rule;
	if (w->count && (w->words[w->count - 1] & 0xffff) == number)
		return;
	/*
	 * Of two rows at one place the later one is right. That happens where the segment begins
	 * inside the page.
	 */
	if (w->count && w->words[w->count - 1] >> 16 == place)
		w->count--;
	w->words[w->count++] = place << 16 | number;
}

/* Collects the rows of the page that begins at `start`. */
static void pages_collect(struct page_writer *w, uint64_t start)
{
	const struct unwind_segment *s = w->segment;
	uint64_t end = s->vaddr + s->size;

	w->count = 0;
	pages_put(w, 0, w->rule);
	for (; w->next < s->row_count && s->rows[w->next].vaddr - start < UNWIND_PAGE_SIZE;
	     w->next++)
		pages_put(w, (uint32_t)(s->rows[w->next].vaddr - start), s->rows[w->next].rule);
	if (end - start < UNWIND_PAGE_SIZE)
		pages_put(w, (uint32_t)(end - start), UNWIND_RULE_NONE);
}

/* Stores the collected rows. *first = 0 when there is nothing but "no rows". */
static int pages_store(struct page_writer *w, uint32_t *first, uint32_t *size)
{
	uint16_t *index;
	uint32_t *page, row = 0;
	int err;

	*first = *size = 0;
	if (w->count == 1 && (w->words[0] & 0xffff) == UNWIND_RULE_NONE)
		return 0;
	/* No compiler makes so many rows; the index has numbers of 16 bits. */
	if (w->count > UNWIND_MAX_PAGE_ROWS - 8) {
		w->count = 1;
		w->words[0] = UNWIND_RULE_UNSUPPORTED;
	}
	*size = UNWIND_PAGE_HEADER + w->count;
	err = unwind_space_take(w->space, *size, first);
	if (err)
		return err;
	page = unwind_space_at(w->space, *first);
	index = (uint16_t *)page;
	for (uint32_t bucket = 0; bucket <= UNWIND_PAGE_BUCKETS; bucket++) {
		while (row < w->count && w->words[row] >> 16 < bucket * BUCKET_SIZE)
			row++;
		index[bucket] = (uint16_t)row;
	}
	index[UNWIND_PAGE_BUCKETS + 1] = 0;
	for (row = 0; row < w->count; row++)
		page[UNWIND_PAGE_HEADER + row] = w->words[row];
	return 0;
}

int unwind_pages_write(struct unwind_space *space, const struct unwind_segment *segment,
		       const uint16_t *numbers, struct unwind_pages *out)
{
	struct page_writer w = {
		.space = space, .segment = segment, .numbers = numbers, .rule = UNWIND_RULE_NONE};
	uint64_t base = segment->vaddr & ~(uint64_t)(UNWIND_PAGE_SIZE - 1);
	uint64_t pages = ((segment->vaddr + segment->size - 1 - base) >> UNWIND_PAGE_SHIFT) + 1;
	int err = -ENOMEM;

	*out = (struct unwind_pages){.base = base};
	if (pages >= UNWIND_CHUNK_WORDS)
		return -E2BIG;
	w.words = malloc((UNWIND_PAGE_SIZE + 2) * sizeof(*w.words));
	out->sizes = calloc(pages, sizeof(*out->sizes));
	if (w.words && out->sizes)
		err = unwind_space_take(space, (uint32_t)pages, &out->directory);
	if (err) {
		free(w.words);
		free(out->sizes);
		*out = (struct unwind_pages){0};
		return err;
	}
	for (uint32_t i = 0; !err && i < pages; i++) {
		uint32_t first;

		pages_collect(&w, base + (uint64_t)i * UNWIND_PAGE_SIZE);
		err = pages_store(&w, &first, &out->sizes[i]);
		if (!err)
			unwind_space_at(space, out->directory)[i] = first;
		out->pages = i + 1;
	}
	free(w.words);
	if (err) {
		/*
		 * Frees only the pages that were stored; the directory needs its true length to be
		 * given back.
		 */
		out->sizes[out->pages - 1] = 0;
		out->pages = (uint32_t)pages;
		unwind_pages_free(space, out);
	}
	return err;
}

void unwind_pages_free(struct unwind_space *space, struct unwind_pages *pages)
{
	if (!pages->pages)
		return;
	for (uint32_t i = 0; i < pages->pages; i++) {
		if (pages->sizes[i])
			unwind_space_give(space, unwind_space_at(space, pages->directory)[i],
					  pages->sizes[i]);
	}
	unwind_space_give(space, pages->directory, pages->pages);
	free(pages->sizes);
	*pages = (struct unwind_pages){0};
}
