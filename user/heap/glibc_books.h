/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is known of glibc's malloc in an image, and what its files share: glibc_heap.c reports the chunks,
 * glibc_arenas.c finds the arenas, glibc_rows.c their memory, glibc_caches.c what is free and looks used. Layouts are those of
 * malloc/malloc.c and malloc/arena.c of glibc 2.26 to 2.41 on 64 bits. Internal to user/heap.
 */
#ifndef MEMLEAKBPF_HEAP_GLIBC_BOOKS_H
#define MEMLEAKBPF_HEAP_GLIBC_BOOKS_H

#include "user/heap/walker.h"

#define GLIBC_PREV_INUSE  1ull
#define GLIBC_IS_MMAPPED  2ull
#define GLIBC_OTHER_ARENA 4ull
#define GLIBC_FLAGS	  7ull
#define GLIBC_MIN_CHUNK	  32
#define GLIBC_HEADER	  16 /* from a chunk to its memory */
#define GLIBC_ALIGN	  16
#define GLIBC_PAGE	  4096 /* the smallest there is: what is mapped begins at multiples of it */

/* struct malloc_state, from its bins on; what comes before the fast bins differs. */
#define GLIBC_BINS	 127
#define GLIBC_FASTBINS	 10
#define GLIBC_TOP	 16   /* before them, then last_remainder */
#define GLIBC_FAST	 96   /* before them: fastbinsY */
#define GLIBC_NEXT	 2048 /* behind the bins (two words each) and binmap */
#define GLIBC_SYSTEM_MEM 2072 /* next, next_free, attached_threads, system_mem, max_system_mem */
#define GLIBC_STATE_END	 2088

struct glibc_arena {
	uint64_t address; /* struct malloc_state */
	uint64_t bins;	  /* its member */
	uint64_t top, system_mem;
	uint64_t found; /* bytes of it that rows have */
	bool main;
	bool locked; /* a thread is changing it */
	/* Of a main one, of its library's struct malloc_par; 0 where that is not found. */
	uint64_t params;  /* its address, of mmapped_mem in it */
	bool params_wide; /* it has sizes of huge pages, as from 2.35 on */
	uint64_t brk;	  /* sbrk_base */
	uint64_t mapped_bytes, mapped_count;
};

/* Chunks one after the other, from the first to the top chunk, or to the fence that ends all rows but the last. */
struct glibc_row {
	uint64_t begin;		   /* of the memory: what comes before the first chunk are books */
	uint64_t first, last, end; /* last: the top or the fence */
	size_t arena;
	bool has_top;
	bool mapped;  /* one chunk, a mapping of its own; it belongs to no arena */
	bool doubted; /* it may hold anything: what it says of itself does not agree */
};

/* A chunk that is free, or an own one, and looks used: by address. */
struct glibc_aside {
	uint64_t chunk;
	bool own;  /* a thread's struct tcache_perthread_struct */
	bool fast; /* in a fast bin, not in a thread's cache */
};

struct glibc_books {
	struct heap_image *image;
	struct inventory_allocator *allocator; /* NULL: no inventory is wanted */
	const struct memory_region *region;    /* where the last word was */
	uint64_t head;			       /* from an arena to its bins */
	uint64_t left;		    /* words to be looked at: a target may lie to make us busy */
	struct glibc_arena *arenas; /* the main one of a library, then its others */
	size_t arena_count, arena_room;
	struct glibc_row *rows; /* by address, not overlapping */
	size_t row_count, row_room;
	struct glibc_aside *asides;
	size_t aside_count, aside_room;
	/* A thread's cache that cannot be read: what has its key in it is taken to be there. 0: all can */
	uint64_t key;
	int err; /* -ENOMEM: not all that a list has could be put aside */
};

/* The word at an address that is a multiple of 8; false when it is not there. */
bool glibc_word(struct glibc_books *books, uint64_t address, uint64_t *word);

/* The row that has the address; NULL: none has. */
const struct glibc_row *glibc_row_at(const struct glibc_books *books, uint64_t address);

/* Finds all arenas (glibc_arenas.c). 0, also when there is none, or -ENOMEM. */
int glibc_find_arenas(struct glibc_books *books);

/* Finds the rows of the arenas, and chunks that are mappings of their own (glibc_rows.c). 0 or -ENOMEM. */
int glibc_find_rows(struct glibc_books *books);

/* Finds what is put aside: chunks in the caches of threads and in fast bins. 0 or -ENOMEM. */
int glibc_find_asides(struct glibc_books *books);

#endif
