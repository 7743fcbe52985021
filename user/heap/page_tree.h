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
	const uint64_t *words; /* its description; belongs to the image */
	uint8_t size_class;
	uint8_t state; /* PAGE_SPAN_IN_USE, or what the allocator has for others */
};

struct page_tree;

/* What is particular to an allocator. */
struct page_tree_kind {
	unsigned page_shift; /* log2 of a page's bytes */
	uint64_t leaf_align;
	/*
	 * The span that an entry leads to, if its description and the entries of its first and its
	 * last page agree; else false.
	 */
	bool (*read)(const struct page_tree *tree, uint64_t entry, struct page_span *span);
};

struct page_tree {
	const struct page_tree_kind *kind;
	const struct heap_image *image;
	uint64_t root;		 /* its address */
	uint64_t left;		 /* words to be looked at: a target may lie to make us busy */
	struct page_span *spans; /* by address, not overlapping */
	size_t count, room;
};

/*
 * The addresses of the roots in the image: how many were found, at most `max`, each once. They are
 * known by tracked blocks that they lead to. Of a finished image.
 */
size_t page_tree_roots(const struct heap_image *image, const struct page_tree_kind *kind,
		       uint64_t *roots, size_t max);

/* The entry of the page that the address lies in; 0: none. */
uint64_t page_tree_entry(const struct page_tree *tree, uint64_t address);

/*
 * Reads the spans of a tree whose kind, image, root and left are set, until nothing is left; to be
 * freed with page_tree_clear(), whatever this returns. 0 or -ENOMEM.
 */
int page_tree_read(struct page_tree *tree);
void page_tree_clear(struct page_tree *tree);

/* The span that holds the address; NULL: none. Belongs to the tree, which has been read. */
const struct page_span *page_tree_find(const struct page_tree *tree, uint64_t address);

#endif
