/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What glibc's malloc_trim(0) would give back, as malloc/malloc.c of glibc 2.26 to 2.41 does it: mtrim() of each arena,
 * and systrim() of the main one. Internal to user/heap.
 */
#ifndef MEMLEAKBPF_HEAP_GLIBC_TRIM_H
#define MEMLEAKBPF_HEAP_GLIBC_TRIM_H

#include "user/heap/glibc_books.h"

/* Rows in the order of addresses; of one that is being looked at what is free without a gap. */
struct glibc_trim {
	struct glibc_books *books; /* has an allocator: an inventory is wanted */
	const struct glibc_row *row;
	uint64_t brk_end;    /* where the memory of sbrk() ends; 0: there is none */
	uint64_t start, end; /* chunks that are free, or would be joined: [start, end) */
	uint64_t before;     /* free bytes that had been counted when the row began */
};

void glibc_trim_begin(struct glibc_trim *trim, struct glibc_books *books);

/* A row of chunks begins. */
void glibc_trim_row(struct glibc_trim *trim, const struct glibc_row *row);

/* The next chunk of it. `free`: on no thread's list, but on one of its arena's. */
void glibc_trim_chunk(struct glibc_trim *trim, uint64_t chunk, uint64_t end, bool free);

/* The row has been walked over; `all`: to its end. */
void glibc_trim_row_end(struct glibc_trim *trim, bool all);

/* All rows have been: the thresholds, and whether an arena was being changed. */
void glibc_trim_end(struct glibc_trim *trim);

#endif
