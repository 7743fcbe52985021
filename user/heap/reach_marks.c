// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/reach_marks.h"

#include <errno.h>
#include <stdlib.h>

#define NONE UINT32_MAX

int reach_marks_init(struct reach_marks *marks, const struct memory_image *memory, size_t blocks)
{
	*marks = (struct reach_marks){.states = calloc(blocks / 4 + 1, sizeof(*marks->states))};
	if (!marks->states || reach_holders_init(&marks->holders, memory, blocks) ||
	    block_set_init(&marks->now, blocks) || block_set_init(&marks->next, blocks) ||
	    block_set_init(&marks->rest, blocks))
		return -ENOMEM;
	return 0;
}

void reach_marks_settle(struct reach_marks *marks)
{
	block_set_free(&marks->now);
	block_set_free(&marks->next);
	block_set_free(&marks->rest);
}

void reach_marks_free(struct reach_marks *marks)
{
	free(marks->states);
	reach_holders_free(&marks->holders);
	reach_marks_settle(marks);
}

uint32_t reach_next_reachable(struct reach_marks *marks, uint32_t block)
{
	const struct block_set empty = marks->now;

	block = block == NONE ? NONE : block_set_take(&marks->now, block + 1);
	if (block != NONE || block_set_is_empty(&marks->next))
		return block;
	marks->now = marks->next;
	marks->next = empty;
	return block_set_take(&marks->now, 0);
}

uint32_t reach_next_of_rest(struct reach_marks *marks)
{
	uint32_t block;

	if (block_set_is_empty(&marks->rest))
		return NONE;
	block = block_set_take(&marks->rest, marks->rest_at);
	marks->rest_at = block == NONE ? block_set_take(&marks->rest, 0) : block;
	return marks->rest_at;
}
