/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * jemalloc's books, as its walker sees them: the descriptions of extents (jemalloc_extents.c), the
 * caches of threads (jemalloc_cache.c) and what is reported of all (jemalloc_heap.c). Internal to user/heap.
 */
#ifndef MEMLEAKBPF_HEAP_JEMALLOC_BOOKS_H
#define MEMLEAKBPF_HEAP_JEMALLOC_BOOKS_H

#include "user/heap/page_tree.h"
#include "user/heap/walker.h"

/* Classes of blocks that share an extent, up to 14 KiB: 36, or 39 where they are fine. */
#define JEMALLOC_SMALL_MAX   39
#define JEMALLOC_DESCRIPTION 16 /* words of an extent's */
#define JEMALLOC_BITMAP	     8	/* the word where a slab's begins */

/* What is particular to some versions. */
struct jemalloc_books;

struct jemalloc_layout {
	struct page_tree_kind tree; /* the first member: of a tree it leads here */
	const char *version;
	unsigned description_align;
	/* Where the fields are in a description's first word. */
	unsigned state_shift, state_bits, class_shift, free_shift;
	bool entry_has_state;
	/* Does a thread's cache have these words, `count` of them, at that address? */
	bool (*is_cache)(const struct jemalloc_books *books, uint64_t at, const uint64_t *words,
			 size_t count);
	/* Enters what the cache there, the thread's, keeps. 0 or -ENOMEM. */
	int (*keep_cache)(struct jemalloc_books *books, const struct memory_thread *thread,
			  uint64_t at, const uint64_t *words, size_t count);
};

/* What a block is that no program has, in the low bits of its address. */
#define JEMALLOC_CACHED 1ull /* free, in a thread's cache */
#define JEMALLOC_ARRAY	2ull /* the memory of such a cache */
#define JEMALLOC_TAGS	3ull

struct jemalloc_books {
	struct heap_image *image;
	struct inventory_allocator *allocator; /* NULL: no inventory is wanted */
	const struct jemalloc_layout *layout;
	struct page_tree tree; /* its spans are the extents */
	bool fine_classes;     /* built with a quantum of 8 bytes, as Redis brings it along */
	uint64_t *kept;	       /* addresses of blocks with a tag; sorted once all are known */
	size_t kept_count, kept_room;
	size_t caches; /* that were found */
	bool unbelieved_caches;
	bool changing;		 /* a thread was just changing what is known of some blocks */
	struct walker_hand hand; /* addresses of descriptions that threads have in hand */
};

/* As struct page_tree_kind has them; the tree's kind is that of a layout. */
uint64_t jemalloc_described_at(const struct page_tree *tree, uint64_t entry);
bool jemalloc_read_extent(const struct page_tree *tree, uint64_t entry, struct page_span *out);

/* Learns from the slabs which classes there are. The tree has been read. */
void jemalloc_choose_classes(struct jemalloc_books *books);

/* Bytes of a size class: 8 or 16 more than the one before, then four to a doubling. */
uint64_t jemalloc_class_bytes(const struct jemalloc_books *books, unsigned size_class);

/* How many regions a slab has; 0: what is said of it does not agree. */
uint64_t jemalloc_slab_regions(const struct jemalloc_books *books, const struct page_span *extent);

bool jemalloc_is_slab(const struct page_span *extent);

/* The block that holds the address, be it free or not; false: none does. */
bool jemalloc_block(const struct jemalloc_books *books, uint64_t address, struct heap_range *block,
		    unsigned *size_class);

/* As struct jemalloc_layout has them, of 5.3 and of 5.2. */
bool jemalloc_is_cache_5_3(const struct jemalloc_books *books, uint64_t at, const uint64_t *words,
			   size_t count);
int jemalloc_keep_cache_5_3(struct jemalloc_books *books, const struct memory_thread *thread,
			    uint64_t at, const uint64_t *words, size_t count);
bool jemalloc_is_cache_5_2(const struct jemalloc_books *books, uint64_t at, const uint64_t *words,
			   size_t count);
int jemalloc_keep_cache_5_2(struct jemalloc_books *books, const struct memory_thread *thread,
			    uint64_t at, const uint64_t *words, size_t count);

/* Is it the memory of a cache that no thread has any more (5.3)? */
bool jemalloc_is_array(const struct jemalloc_books *books, const struct heap_range *block);

/* Enters what the caches of all threads keep; the tree has been read. 0 or -ENOMEM. */
int jemalloc_find_caches(struct jemalloc_books *books);

#endif
