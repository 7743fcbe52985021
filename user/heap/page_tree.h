/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The trees in which jemalloc and tcmalloc find what they know of an address: radix trees over
 * pages, of two levels. The root, a variable of the allocator's, is an array of pointers to leaves;
 * a leaf has an entry for each of its pages, which leads to the description of the span of pages
 * that the page belongs to.
 */
#ifndef MEMLEAKBPF_HEAP_PAGE_TREE_H
#define MEMLEAKBPF_HEAP_PAGE_TREE_H

#include "user/heap/heap_image.h"

#define PAGE_SPAN_IN_USE 0

struct page_span {
	uint64_t start, end;
	uint64_t described_at; /* the address of its description */
	const uint64_t *words; /* the description; belongs to the image */
	uint8_t size_class;
	uint8_t state; /* PAGE_SPAN_IN_USE, or what the allocator has for others */
};

struct page_tree;

/* What is particular to an allocator. */
struct page_tree_kind {
	unsigned page_shift; /* log2 of a page's bytes */
	uint64_t leaf_align;
	/* The address of the description that an entry leads to. */
	uint64_t (*described_at)(const struct page_tree *tree, uint64_t entry);
	/*
	 * Fills in the span from its description (out->described_at) and the entry, if these agree;
	 * false: they do not. What other entries say is not its matter.
	 */
	bool (*read)(const struct page_tree *tree, uint64_t entry, struct page_span *out);
};

struct page_tree {
	const struct page_tree_kind *kind;
	const struct heap_image *image;
	uint64_t root;		 /* its address */
	uint64_t left;		 /* words to be looked at: a target may lie to make us busy */
	size_t most;		 /* entries to be read; 0: all */
	struct page_span *spans; /* by address, not overlapping */
	size_t count, room;
	size_t refused; /* entries that lead to no span, and lie in none */
};

struct page_tree_root {
	uint64_t address;
	size_t spans; /* of the first some thousand entries: how many lead to one that is believed */
};

/*
 * The roots in the image: how many were found, at most `max`, each once. They are
 * known by themselves, and no block need be: tables in an object's data, as large as a root is, in which
 * nothing is but what can be leaves, and several spans that these lead to agree with themselves and
 * with the leaves. Of a finished image.
 */
size_t page_tree_roots(const struct heap_image *image, const struct page_tree_kind *kind,
		       struct page_tree_root *roots, size_t max);

/* The entry of the page that the address lies in; 0: none. */
uint64_t page_tree_entry(const struct page_tree *tree, uint64_t address);

/*
 * Reads the spans of a tree whose kind, image, root and left are set, until nothing is left; to be
 * freed with page_tree_clear(), whatever this returns. A span is believed if its description agrees
 * with the entries of its first and its last page. 0 or -ENOMEM.
 */
int page_tree_read(struct page_tree *tree);
void page_tree_clear(struct page_tree *tree);

/* The span that holds the address; NULL: none. Belongs to the tree, which has been read. */
const struct page_span *page_tree_find(const struct page_tree *tree, uint64_t address);

/*
 * The next leaf from the root's word *index on, which moves behind it: its memory; {0, 0} when there
 * are no more.
 */
struct heap_range page_tree_next_leaf(const struct page_tree *tree, uint64_t *index);

/*
 * The next part of [*start, end) that lies in no span; *start moves behind it. False when there is none.
 * Of a tree that has been read.
 */
bool page_tree_next_gap(const struct page_tree *tree, uint64_t *start, uint64_t end,
			struct heap_range *gap);

#endif
