// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/page_tree.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"
#include "user/heap/walker.h"

#define ADDRESS_BITS 48
#define LEAF_BITS    18
#define LEAF_WORDS   (1ull << LEAF_BITS)
#define PROBES	     32 /* blocks that roots are looked for with */

/* An entry of the root stands for 1 << this many bytes. */
static unsigned page_tree_leaf_shift(const struct page_tree_kind *kind)
{
	return kind->page_shift + LEAF_BITS;
}

static uint64_t page_tree_leaf_entry(const struct page_tree *tree, uint64_t leaf, uint64_t address)
{
	uint64_t index = (address >> tree->kind->page_shift) % LEAF_WORDS, entry;

	return memory_image_word(tree->image->memory, leaf + 8 * index, &entry) ? entry : 0;
}

uint64_t page_tree_entry(const struct page_tree *tree, uint64_t address)
{
	uint64_t at = tree->root + 8 * (address >> page_tree_leaf_shift(tree->kind)), leaf;

	if (address >> ADDRESS_BITS || !memory_image_word(tree->image->memory, at, &leaf) || !leaf)
		return 0;
	return page_tree_leaf_entry(tree, leaf, address);
}

/* ---- where roots are ---------------------------------------------------------------------- */

static bool page_tree_in_block(const struct heap_image *image, uint64_t address)
{
	size_t next = heap_image_block(image, address + 1);

	return next && address - image->blocks[next - 1].address < image->blocks[next - 1].size;
}

/*
 * The root that the word at this address belongs to, if it is the one that leads to the leaf of
 * that block; 0: it is not.
 */
static uint64_t page_tree_root_by(const struct heap_image *image, const struct page_tree_kind *kind,
				  uint64_t at, uint64_t leaf, uint64_t block)
{
	struct page_tree tree = {
		.kind = kind,
		.image = image,
		.root = at - 8 * (block >> page_tree_leaf_shift(kind)),
	};
	uint64_t entry = page_tree_leaf_entry(&tree, leaf, block);
	struct page_span span;

	if (!entry || !kind->read(&tree, entry, &span) || span.state != PAGE_SPAN_IN_USE ||
	    block < span.start || block >= span.end)
		return 0;
	return tree.root;
}

size_t page_tree_roots(const struct heap_image *image, const struct page_tree_kind *kind,
		       uint64_t *roots, size_t max)
{
	size_t found = 0, step = image->block_count / PROBES + 1;

	for (size_t i = 0; i < image->memory->region_count; i++) {
		const struct memory_region *r = &image->memory->regions[i];

		if (!walker_is_data(image, r))
			continue;
		for (size_t w = 0; w < r->size / 8; w++) {
			uint64_t root = 0;

			/* A program's own tables may have millions of pointers into blocks. */
			if (!r->words[w] || r->words[w] % kind->leaf_align || r->words[w] >> 47 ||
			    page_tree_in_block(image, r->words[w]))
				continue;
			for (size_t b = 0; !root && b < image->block_count; b += step)
				root = page_tree_root_by(image, kind, r->start + 8 * w, r->words[w],
							 image->blocks[b].address);
			for (size_t k = 0; k < found; k++)
				root = root == roots[k] ? 0 : root;
			if (root)
				roots[found++] = root;
			if (found == max)
				return found;
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

	tree->left--;
	/* Entries of what has become part of another span stay. */
	if (!entry || (tree->count && page < tree->spans[tree->count - 1].end) ||
	    !tree->kind->read(tree, entry, &span) || span.start != page)
		return 0;
	return page_tree_add_span(tree, &span);
}

static int page_tree_read_leaf(struct page_tree *tree, uint64_t leaf, uint64_t first_page)
{
	uint64_t next = leaf;
	struct memory_run run;
	int err = 0;

	while (!err && tree->left &&
	       memory_image_next_run(tree->image->memory, &next, leaf + 8 * LEAF_WORDS, &run)) {
		uint64_t page = first_page + ((run.address - leaf) / 8 << tree->kind->page_shift);

		for (size_t i = 0; !err && i < run.count && tree->left; i++)
			err = page_tree_read_entry(
				tree, page + ((uint64_t)i << tree->kind->page_shift), run.words[i]);
	}
	return err;
}

int page_tree_read(struct page_tree *tree)
{
	unsigned shift = page_tree_leaf_shift(tree->kind);
	int err = 0;

	for (uint64_t i = 0; !err && i < 1ull << (ADDRESS_BITS - shift); i++) {
		uint64_t leaf;

		if (memory_image_word(tree->image->memory, tree->root + 8 * i, &leaf) && leaf &&
		    !(leaf % tree->kind->leaf_align) && !(leaf >> 47))
			err = page_tree_read_leaf(tree, leaf, i << shift);
	}
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
