// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/gate/hole.h"

#include <stdbool.h>
#include <string.h>

#define PAGE	  4096ull
#define REACH	  0x7ff00000ull /* of a jump, with some to spare */
#define LOWEST	  0x100000ull	/* vm.mmap_min_addr is below that */
#define ADDRESSES 0x7ffffffff000ull

struct hole_search {
	uint64_t from, to, size;
	uint64_t best, distance;
};

static void hole_try(struct hole_search *s, uint64_t address)
{
	uint64_t low = address < s->from ? address : s->from;
	uint64_t high = address + s->size > s->to ? address + s->size : s->to;

	if (high - low > REACH || (s->best && high - low >= s->distance))
		return;
	s->best = address;
	s->distance = high - low;
}

/*
 * The mapping below may grow up into the hole: the heap, which begins somewhere behind the
 * program's data when there is none yet.
 */
static bool hole_is_for_heap(const struct mapping *below, const struct mapping *first)
{
	return below && (!strcmp(below->path, "[heap]") ||
			 (first && below->start - first->start < REACH &&
			  first->ino == below->ino && first->dev == below->dev));
}

uint64_t gate_hole_find(const struct maps *maps, uint64_t from, uint64_t to, uint64_t size)
{
	const struct mapping *first = maps_count(maps) ? maps_at(maps, 0) : NULL, *below = NULL;
	struct hole_search search = {.from = from, .to = to, .size = size};

	for (size_t i = 0; i <= maps_count(maps); i++) {
		const struct mapping *above = i < maps_count(maps) ? maps_at(maps, i) : NULL;
		uint64_t low = (below ? below->end : LOWEST) + PAGE;
		uint64_t high = (above ? above->start : ADDRESSES) - PAGE;

		if (high > low && high - low >= size) {
			if (!above || strcmp(above->path, "[stack]"))
				hole_try(&search, high - size);
			if (!hole_is_for_heap(below, first))
				hole_try(&search, low);
		}
		below = above;
	}
	return search.best;
}
