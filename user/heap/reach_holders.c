// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/reach_holders.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"
#include "user/heap/reach.h"

int reach_holders_init(struct reach_holders *holders, const struct memory_image *memory,
		       size_t blocks)
{
	*holders = (struct reach_holders){.memory = memory};
	holders->first = calloc(memory->region_count + 1, sizeof(*holders->first));
	if (!holders->first)
		return -ENOMEM;
	for (size_t i = 0; i < memory->region_count; i++) {
		holders->first[i] = holders->words + 1;
		holders->words += memory->regions[i].size / 8;
	}
	holders->by_block.width = packed_width(reach_word_in_hand(holders));
	holders->by_block.bytes = calloc(packed_bytes(blocks, holders->by_block.width), 1);
	return holders->by_block.bytes ? 0 : -ENOMEM;
}

void reach_holders_free(struct reach_holders *holders)
{
	free(holders->first);
	free(holders->by_block.bytes);
	*holders = (struct reach_holders){0};
}

uint64_t reach_word(const struct reach_holders *holders, uint64_t address)
{
	const struct memory_region *region = memory_image_region(holders->memory, address);

	return region && region->start <= address ? reach_word_in(holders, region, address) : 0;
}

uint64_t reach_word_address(const struct reach_holders *holders, uint64_t number)
{
	size_t i = BISECT(i, 0, holders->memory->region_count, holders->first[i] <= number) - 1;

	return holders->memory->regions[i].start + 8 * (number - holders->first[i]);
}

uint64_t reach_holders_get(const struct reach_holders *holders, size_t block)
{
	uint64_t number = packed_get(&holders->by_block, block);

	if (number == reach_word_in_hand(holders))
		return REACH_IN_HAND;
	if (!number || number > holders->words)
		return number ? REACH_REGISTER | (number - holders->words - 1) : 0;
	return reach_word_address(holders, number);
}
