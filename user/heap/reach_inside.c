// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/reach_inside.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"

int reach_inside_init(struct reach_inside *inside, size_t room)
{
	*inside = (struct reach_inside){.room = room};
	inside->ranges = calloc(room + 1, sizeof(*inside->ranges));
	return inside->ranges ? 0 : -ENOMEM;
}

void reach_inside_free(struct reach_inside *inside)
{
	free(inside->ranges);
	*inside = (struct reach_inside){0};
}

void reach_inside_add(struct reach_inside *inside, uint64_t start, uint64_t end)
{
	if (start < end && inside->count < inside->room)
		inside->ranges[inside->count++] = (struct heap_range){start, end};
}

/* Several stacks may lie in a block: each reaches to the block's end. */
void reach_inside_finish(struct reach_inside *inside)
{
	size_t last = 0;

	qsort(inside->ranges, inside->count, sizeof(*inside->ranges), heap_range_order);
	for (size_t i = 1; i < inside->count; i++) {
		const struct heap_range *range = &inside->ranges[i];

		if (range->start > inside->ranges[last].end)
			inside->ranges[++last] = *range;
		else if (range->end > inside->ranges[last].end)
			inside->ranges[last].end = range->end;
	}
	inside->count = inside->count ? last + 1 : 0;
}

bool reach_inside_has(const struct reach_inside *inside, uint64_t address)
{
	size_t behind = BISECT(i, 0, inside->count, inside->ranges[i].start <= address);

	return behind && address < inside->ranges[behind - 1].end;
}
