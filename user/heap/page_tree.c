// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/page_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"
#include "user/heap/walker.h"

#define ADDRESS_BITS 48
#define LEAF_BITS    18
#define LEAF_WORDS   (1ull << LEAF_BITS)
#define LEAF_BYTES   (8 * LEAF_WORDS)

/* What is looked at of a leaf before it is none, and of a tree before it is believed. */
#define LOOKS	    64
#define SPANS_MIN   3
#define SPANS_LOOKS 4096
/* Words for all of it: a program's own tables may have millions of pointers. */
#define SEARCH_WORDS (128ull << 20)
#define NEIGHBOURS   64 /* words on either side of one that may be in a root */

/* An entry of the root stands for 1 << this many bytes. */
static unsigned page_tree_leaf_shift(const struct page_tree_kind *kind)
{
	return kind->page_shift + LEAF_BITS;
}

static uint64_t page_tree_root_bytes(const struct page_tree_kind *kind)
{
	return 8ull << (ADDRESS_BITS - page_tree_leaf_shift(kind));
}

uint64_t page_tree_entry(const struct page_tree *tree, uint64_t address)
{
	uint64_t at = tree->root + 8 * (address >> page_tree_leaf_shift(tree->kind)), leaf, entry;

	if (address >> ADDRESS_BITS || !memory_image_word(tree->image->memory, at, &leaf) || !leaf)
		return 0;
	at = leaf + 8 * ((address >> tree->kind->page_shift) % LEAF_WORDS);
	return memory_image_word(tree->image->memory, at, &entry) ? entry : 0;
}

/* One more word is looked at; false: there is nothing left. */
static bool page_tree_look(struct page_tree *tree)
{
	tree->left -= tree->left > 0;
	return tree->left;
}

/* Does the page that the address lies in lead to that description? */
static bool page_tree_leads(const struct page_tree *tree, uint64_t address, uint64_t described_at)
{
	return tree->kind->described_at(tree, page_tree_entry(tree, address)) == described_at;
}

/* The span that the entry leads to, as far as the description says. */
static bool page_tree_describe(const struct page_tree *tree, uint64_t entry, struct page_span *span)
{
	*span = (struct page_span){.described_at = tree->kind->described_at(tree, entry)};
	return span->described_at && tree->kind->read(tree, entry, span) &&
	       span->start < span->end && !(span->end >> (ADDRESS_BITS - 1));
}

static bool page_tree_agrees(const struct page_tree *tree, const struct page_span *span)
{
	return page_tree_leads(tree, span->start, span->described_at) &&
	       page_tree_leads(tree, span->end - 1, span->described_at);
}

/* ---- where roots are ---------------------------------------------------------------------- */

static bool page_tree_may_be_leaf(const struct heap_image *image, const struct page_tree_kind *kind,
				  uint64_t leaf)
{
	return leaf && !(leaf % kind->leaf_align) && !(leaf >> (ADDRESS_BITS - 1)) &&
	       walker_is_mapped(image, leaf, leaf + LEAF_BYTES);
}

/* Can all that the root has be leaves? */
static bool page_tree_is_root(struct page_tree *tree)
{
	uint64_t at = tree->root, end = at + page_tree_root_bytes(tree->kind);
	struct memory_run run;

	if (!walker_is_mapped(tree->image, at, end))
		return false;
	while (memory_image_next_run(tree->image->memory, &at, end, &run)) {
		for (size_t i = 0; i < run.count; i++) {
			if (!page_tree_look(tree))
				return false;
			if (run.words[i] &&
			    !page_tree_may_be_leaf(tree->image, tree->kind, run.words[i]))
				return false;
		}
	}
	return true;
}

/*
 * How many of the first spans agree. Others may well be more, while a large one is about to become part of
 * another: all that was inside has left its entries.
 */
static size_t page_tree_count_some(struct page_tree *tree)
{
	struct page_tree some = *tree;
	size_t count;

	some.most = SPANS_LOOKS;
	count = page_tree_read(&some) ? 0 : some.count;
	tree->left = some.left;
	page_tree_clear(&some);
	return count;
}

/*
 * The word at this address leads to what may be a leaf, which has that entry for one of its pages.
 * Is it in a root? The entry's description says which page it is for, and this where in the root the leaf
 * has its place.
 */
static bool page_tree_root_by(struct page_tree *tree, uint64_t at, uint64_t page, uint64_t entry)
{
	const unsigned page_shift = tree->kind->page_shift;
	struct page_span span;
	uint64_t address;

	if (!page_tree_describe(tree, entry, &span))
		return false;
	address = span.start + ((page - (span.start >> page_shift)) % LEAF_WORDS << page_shift);
	if (address >= span.end)
		return false;
	tree->root = at - 8 * (address >> page_tree_leaf_shift(tree->kind));
	return page_tree_agrees(tree, &span) && page_tree_is_root(tree) &&
	       page_tree_count_some(tree) >= SPANS_MIN;
}

static bool page_tree_find_root(struct page_tree *tree, uint64_t at, uint64_t leaf)
{
	uint64_t next = leaf;
	struct memory_run run;
	unsigned looks = 0;

	while (memory_image_next_run(tree->image->memory, &next, leaf + LEAF_BYTES, &run)) {
		for (size_t i = 0; i < run.count; i++) {
			bool leads = tree->kind->described_at(tree, run.words[i]);

			/* One that has been cleared need not be 0. */
			if (!page_tree_look(tree) || (leads && looks++ == LOOKS))
				return false;
			if (leads &&
			    page_tree_root_by(tree, at, (run.address - leaf) / 8 + i, run.words[i]))
				return true;
		}
	}
	return false;
}

/* Are there only leaves in [first, end) of the region's words, and apart from that leaf? */
static bool page_tree_is_apart(const struct page_tree *tree, const struct memory_region *r,
			       size_t first, size_t end, uint64_t leaf)
{
	for (size_t w = first; w < r->size / 8 && w < end; w++) {
		uint64_t other = r->words[w];

		if (other && ((other < leaf ? leaf - other : other - leaf) < LEAF_BYTES ||
			      !page_tree_may_be_leaf(tree->image, tree->kind, other)))
			return false;
	}
	return true;
}

/*
 * Leaves do not overlap, and few have others near by: a program's own table of pointers, of which there
 * may be millions, is none after a look at some. On one side of the word the root may end.
 */
static bool page_tree_is_alone(const struct page_tree *tree, const struct memory_region *r,
			       size_t word)
{
	size_t first = word < NEIGHBOURS ? 0 : word - NEIGHBOURS;

	return page_tree_is_apart(tree, r, first, word, r->words[word]) ||
	       page_tree_is_apart(tree, r, word + 1, word + 1 + NEIGHBOURS, r->words[word]);
}

/* Can a root lie in the data that the region is in? */
static bool page_tree_has_room(const struct page_tree *tree, const struct memory_region *r)
{
	uint64_t start = r->mapping->start, end = r->mapping->end;
	const struct mapping *m;

	while (end - start < page_tree_root_bytes(tree->kind) && start &&
	       (m = maps_find(tree->image->memory->maps, start - 1)) && m->write && !m->shared)
		start = m->start;
	while (end - start < page_tree_root_bytes(tree->kind) &&
	       (m = maps_find(tree->image->memory->maps, end)) && m->write && !m->shared)
		end = m->end;
	return end - start >= page_tree_root_bytes(tree->kind);
}

/* Goes on from the address of the last root that has been found; the next one is tree->root. */
static bool page_tree_next_root(struct page_tree *tree, const struct memory_region *r,
				uint64_t behind)
{
	size_t w = behind > r->start ? (behind - r->start) / 8 : 0;

	for (; w < r->size / 8 && tree->left; w++) {
		if (page_tree_may_be_leaf(tree->image, tree->kind, r->words[w]) &&
		    page_tree_is_alone(tree, r, w) &&
		    page_tree_find_root(tree, r->start + 8 * w, r->words[w]))
			return true;
	}
	return false;
}

size_t page_tree_roots(const struct heap_image *image, const struct page_tree_kind *kind,
		       struct page_tree_root *roots, size_t max)
{
	struct page_tree tree = {.kind = kind, .image = image, .left = SEARCH_WORDS};
	uint64_t behind = 0; /* the last root that was found */
	size_t found = 0;

	for (size_t i = 0; found < max && i < image->memory->region_count; i++) {
		const struct memory_region *r = &image->memory->regions[i];

		if (!walker_is_data(image, r) || !page_tree_has_room(&tree, r))
			continue;
		while (found < max && page_tree_next_root(&tree, r, behind)) {
			roots[found++] = (struct page_tree_root){
				.address = tree.root,
				.spans = page_tree_count_some(&tree),
			};
			behind = tree.root + page_tree_root_bytes(kind);
		}
	}
	return found;
}

/* ---- the spans ---------------------------------------------------------------------------- */

static int page_tree_add_span(struct page_tree *tree, const struct page_span *span)
{
	if (!RESERVE_ITEM(tree->spans, tree->count, tree->room, 1024))
		return -ENOMEM;
	tree->spans[tree->count++] = *span;
	return 0;
}

/* The entry of the page at that address: does a span begin there, behind all that are known? */
static int page_tree_read_entry(struct page_tree *tree, uint64_t page, uint64_t entry)
{
	struct page_span span;

	/* Entries of what has become part of another span stay. */
	if (!tree->kind->described_at(tree, entry) ||
	    (tree->count && page < tree->spans[tree->count - 1].end))
		return 0;
	if (page_tree_describe(tree, entry, &span) && span.start == page &&
	    page_tree_agrees(tree, &span))
		return page_tree_add_span(tree, &span);
	tree->refused++;
	return 0;
}

static int page_tree_read_leaf(struct page_tree *tree, struct heap_range leaf, uint64_t first_page)
{
	uint64_t next = leaf.start;
	struct memory_run run;
	int err = 0;

	while (!err && memory_image_next_run(tree->image->memory, &next, leaf.end, &run)) {
		for (size_t i = 0; !err && i < run.count; i++) {
			uint64_t page = (run.address - leaf.start) / 8 + i;

			if (!page_tree_look(tree) ||
			    (tree->most && tree->count + tree->refused >= tree->most))
				return 0;
			err = page_tree_read_entry(
				tree, first_page + (page << tree->kind->page_shift), run.words[i]);
		}
	}
	return err;
}

struct heap_range page_tree_next_leaf(const struct page_tree *tree, uint64_t *index)
{
	uint64_t at = tree->root + 8 * *index;
	uint64_t end = tree->root + page_tree_root_bytes(tree->kind);
	struct memory_run run;

	while (memory_image_next_run(tree->image->memory, &at, end, &run)) {
		for (size_t i = 0; i < run.count; i++) {
			uint64_t leaf = run.words[i];

			if (!page_tree_may_be_leaf(tree->image, tree->kind, leaf))
				continue;
			*index = (run.address - tree->root) / 8 + i + 1;
			return (struct heap_range){leaf, leaf + LEAF_BYTES};
		}
	}
	return (struct heap_range){0, 0};
}

int page_tree_read(struct page_tree *tree)
{
	struct heap_range leaf;
	uint64_t next = 0;
	int err = 0;

	while (!err && (leaf = page_tree_next_leaf(tree, &next), leaf.end))
		err = page_tree_read_leaf(tree, leaf,
					  (next - 1) << page_tree_leaf_shift(tree->kind));
	return err;
}

void page_tree_clear(struct page_tree *tree)
{
	free(tree->spans);
	tree->spans = NULL;
	tree->count = tree->room = 0;
}

const struct page_span *page_tree_find(const struct page_tree *tree, uint64_t address)
{
	size_t low = BISECT(i, 0, tree->count, tree->spans[i].start <= address);

	return low && address < tree->spans[low - 1].end ? &tree->spans[low - 1] : NULL;
}

bool page_tree_next_gap(const struct page_tree *tree, uint64_t *start, uint64_t end,
			struct heap_range *gap)
{
	size_t next = BISECT(i, 0, tree->count, tree->spans[i].end <= *start);

	for (; next < tree->count && tree->spans[next].start <= *start; next++)
		*start = tree->spans[next].end;
	if (*start >= end)
		return false;
	gap->start = *start;
	gap->end =
		next < tree->count && tree->spans[next].start < end ? tree->spans[next].start : end;
	*start = gap->end;
	return true;
}
