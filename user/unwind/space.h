/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The word space of unwind tables (bpf/unwind_abi.h). Hands out extents that never cross a chunk,
 * and adds and drops chunks as the need changes.
 */
#ifndef MEMLEAKBPF_UNWIND_SPACE_H
#define MEMLEAKBPF_UNWIND_SPACE_H

#include <stddef.h>
#include <stdint.h>

struct unwind_space;

/*
 * Makes and drops chunks: BPF maps, or plain memory in tests. Many at once, for each time the
 * kernel waits for all running programs.
 */
struct unwind_chunks {
	/*
	 * Makes `count` chunks exist, zeroed, and visible to the unwinder; words[i] is the memory
	 * of numbers[i]. All or none: 0, or -errno, logged.
	 */
	int (*add)(void *arg, const uint32_t *numbers, size_t count, uint32_t **words);
	void (*drop)(void *arg, const uint32_t *numbers, size_t count, uint32_t **words);
	void *arg;
};

/*
 * NULL when out of memory. Copies `chunks`; calls its functions until unwind_space_free() has
 * returned.
 */
struct unwind_space *unwind_space_new(const struct unwind_chunks *chunks);
void unwind_space_free(struct unwind_space *space);

/*
 * Takes an extent of `words` words, a multiple of 8 words into its chunk. *first is never 0. 0,
 * -ENOSPC when the space is full, -E2BIG for more than a chunk, -ENOMEM, or the error of adding a
 * chunk.
 */
int unwind_space_take(struct unwind_space *space, uint32_t words, uint32_t *first);
void unwind_space_give(struct unwind_space *space, uint32_t first, uint32_t words);

/*
 * Makes sure that about so many words are free, so that the next calls of take() need no chunk.
 * Errors as there.
 */
int unwind_space_reserve(struct unwind_space *space, size_t words);
/* Drops empty chunks, but not the first one. */
void unwind_space_trim(struct unwind_space *space);

uint32_t *unwind_space_at(const struct unwind_space *space, uint32_t word);
/* NULL: does not exist. */
const uint32_t *unwind_space_chunk(const struct unwind_space *space, uint32_t number);
size_t unwind_space_used(const struct unwind_space *space);   /* words handed out */
size_t unwind_space_chunks(const struct unwind_space *space); /* that exist */

#endif
