/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The first chunks of unwind tables. Whoever puts a map into a map of maps waits for the programs that
 * run on all processors, 10 to 20 ms. Here a thread waits, while the verifier looks at the programs.
 */
#ifndef MEMLEAKBPF_UNWIND_PUBLISH_FIRST_H
#define MEMLEAKBPF_UNWIND_PUBLISH_FIRST_H

#include <stdint.h>

#define FIRST_CHUNKS 4 /* 1 MiB: what a C program takes, or Python's interpreter */

struct first_chunks;

/* A chunk, a map as struct unwind_chunk_map of bpf/unwind_maps.h: its descriptor, or -errno. */
int chunk_new(void);

/*
 * Puts chunks into the places `numbers` of the map of chunks, and waits as above: once for all, and
 * before Linux 5.19 once for each. 0 or -errno.
 */
int chunks_enter(int map, const uint32_t *numbers, const int *chunks, uint32_t count);

/*
 * Makes the map of chunks (`unwind_chunks`) and begins to fill it. NULL: the kernel refuses what that
 * takes, which is left to be said by who makes the map in the usual way.
 */
struct first_chunks *first_chunks_begin(void);

/* The map of chunks: borrowed. */
int first_chunks_map(const struct first_chunks *first);

/*
 * Waits for the thread. The chunk in the place `number` is the caller's now: its descriptor, or -1
 * where there is none.
 */
int first_chunks_take(struct first_chunks *first, uint32_t number);

/* With what has not been taken. NULL is fine. */
void first_chunks_free(struct first_chunks *first);

#endif
