// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/block_set.h"

#include <errno.h>
#include <stdlib.h>

#define NONE UINT32_MAX

int block_set_init(struct block_set *set, size_t count)
{
	size_t words[BLOCK_SET_LEVELS], all = 0;
	uint64_t *memory;

	*set = (struct block_set){0};
	do {
		count = (count + 63) / 64;
		/* One behind the last that stays empty: what is looked for from the end on is not there. */
		words[set->height++] = count + 1;
		all += count + 1;
	} while (count > 1);
	memory = calloc(all, sizeof(*memory));
	for (unsigned i = 0; memory && i < set->height; memory += words[i++])
		set->levels[i] = memory;
	return set->levels[0] ? 0 : -ENOMEM;
}

void block_set_free(struct block_set *set)
{
	free(set->levels[0]);
	*set = (struct block_set){0};
}

static void block_set_remove(struct block_set *set, uint32_t block)
{
	for (unsigned i = 0; i < set->height; i++, block /= 64) {
		uint64_t *word = &set->levels[i][block / 64];

		*word &= ~(1ull << block % 64);
		if (*word)
			return;
	}
}

uint32_t block_set_take(struct block_set *set, uint32_t from)
{
	unsigned level = 0;
	uint64_t at = from, word = 0;

	/* Up, behind what has been looked at, to a word that has one; then down to its first. */
	for (; level < set->height; level++, at = at / 64 + 1) {
		word = set->levels[level][at / 64] >> at % 64;
		if (word)
			break;
	}
	if (!word)
		return NONE;
	at += (unsigned)__builtin_ctzll(word);
	while (level--)
		at = at * 64 + (unsigned)__builtin_ctzll(set->levels[level][at]);
	block_set_remove(set, (uint32_t)at);
	return (uint32_t)at;
}

uint32_t block_set_take_last(struct block_set *set)
{
	unsigned level = set->height;
	uint64_t at = 0;

	if (!level || !set->levels[level - 1][0])
		return NONE;
	while (level--)
		at = at * 64 + 63 - (unsigned)__builtin_clzll(set->levels[level][at]);
	block_set_remove(set, (uint32_t)at);
	return (uint32_t)at;
}
