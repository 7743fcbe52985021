/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Through which word each block was found: the words of the memory are numbered, and a number takes half
 * the bits of an address or less. Internal to reach.c.
 */
#ifndef MEMLEAKBPF_HEAP_REACH_HOLDERS_H
#define MEMLEAKBPF_HEAP_REACH_HOLDERS_H

#include "user/base/packed.h"
#include "user/process/memory_image.h"

struct reach_holders {
	const struct memory_image *memory;
	uint64_t *first; /* by region: the number of its first word */
	/* from 1 to this one; then come the threads, by index, and what is in hand; 0: none */
	uint64_t words;
	struct packed by_block;
};

/* Of no block, for so many of them; the memory outlives it. 0 or -ENOMEM. */
int reach_holders_init(struct reach_holders *holders, const struct memory_image *memory,
		       size_t blocks);
void reach_holders_free(struct reach_holders *holders); /* one that is all zero is fine */

/* The number of the word at an address; 0: it is not there. Slower than the next one. */
uint64_t reach_word(const struct reach_holders *holders, uint64_t address);

/* The same of one that lies in the region, or that the region would go on with. */
static inline uint64_t reach_word_in(const struct reach_holders *holders,
				     const struct memory_region *region, uint64_t address)
{
	return holders->first[region - holders->memory->regions] + (address - region->start) / 8;
}

/* That of a thread's registers. */
static inline uint64_t reach_word_of_thread(const struct reach_holders *holders, size_t thread)
{
	return holders->words + 1 + thread;
}

/* That of no word: REACH_IN_HAND. */
static inline uint64_t reach_word_in_hand(const struct reach_holders *holders)
{
	return reach_word_of_thread(holders, holders->memory->thread_count);
}

static inline void reach_holders_set(struct reach_holders *holders, uint32_t block, uint64_t number)
{
	packed_set(&holders->by_block, block, number);
}

/* The address of a word that is in memory. */
uint64_t reach_word_address(const struct reach_holders *holders, uint64_t number);

/* As reach_holder() says it. */
uint64_t reach_holders_get(const struct reach_holders *holders, size_t block);

#endif
