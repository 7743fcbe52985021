/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A set of blocks, by index: a bit for each, and above every 64 words of bits one that says which of them
 * are not zero, and so on, so that of few among millions the next one is found at once.
 */
#ifndef MEMLEAKBPF_HEAP_BLOCK_SET_H
#define MEMLEAKBPF_HEAP_BLOCK_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 64^6 is more than there are indexes. */
#define BLOCK_SET_LEVELS 6

struct block_set {
	uint64_t *levels[BLOCK_SET_LEVELS]; /* the lowest has the blocks' bits; one allocation */
	unsigned height;
};

/* An empty one with room for `count` blocks: block_set_free(). 0 or -ENOMEM. */
int block_set_init(struct block_set *set, size_t count);
void block_set_free(struct block_set *set); /* one that is all zero is fine */

static inline bool block_set_is_empty(const struct block_set *set)
{
	return !set->levels[set->height - 1][0];
}

/* Takes the first one out that is not below `from`: UINT32_MAX: there is none. */
uint32_t block_set_take(struct block_set *set, uint32_t from);

/* The same of the last one of all. */
uint32_t block_set_take_last(struct block_set *set);

static inline void block_set_add(struct block_set *set, uint32_t block)
{
	for (unsigned i = 0; i < set->height; i++, block /= 64) {
		uint64_t *word = &set->levels[i][block / 64], before = *word;

		*word = before | 1ull << block % 64;
		if (before)
			return;
	}
}

#endif
