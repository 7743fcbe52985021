// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/inventory.h"

#include <stdio.h>

#include "user/base/page.h"

struct inventory_allocator *inventory_add_allocator(struct inventory *inventory, const char *name)
{
	struct inventory_allocator *a;

	if (inventory->count == INVENTORY_ALLOCATORS)
		return NULL;
	a = &inventory->allocators[inventory->count++];
	snprintf(a->shown.name, sizeof(a->shown.name), "%s", name);
	return a;
}

struct inventory_there {
	uint64_t bytes, whole_pages;
};

/*
 * How much of [start, end) is in the memory; `covered` (NULL: no) by region. Pieces come mostly in the
 * order of their addresses.
 */
static struct inventory_there inventory_look(struct inventory *inventory,
					     const struct memory_image *memory, uint64_t start,
					     uint64_t end, uint64_t *covered)
{
	struct inventory_there there = {0};
	const uint64_t page = page_size();
	size_t i = inventory->region;

	if (i >= memory->region_count || memory->regions[i].start > start ||
	    memory->regions[i].start + memory->regions[i].size <= start) {
		const struct memory_region *r = memory_image_region(memory, start);

		i = r ? (size_t)(r - memory->regions) : memory->region_count;
	}
	for (; i < memory->region_count && memory->regions[i].start < end; i++) {
		const struct memory_region *r = &memory->regions[i];
		uint64_t low = r->start > start ? r->start : start;
		uint64_t high = r->start + r->size < end ? r->start + r->size : end;
		uint64_t bytes;

		inventory->region = i;
		if (low >= high)
			continue;
		bytes = high - low - memory_image_untouched(memory, low, high);
		there.bytes += bytes;
		if (covered)
			covered[i] += bytes;
		low = page_up(low, page);
		high = page_down(high, page);
		if (high > low)
			there.whole_pages += high - low - memory_image_untouched(memory, low, high);
	}
	return there;
}

uint64_t inventory_resident(struct inventory *inventory, const struct memory_image *memory,
			    uint64_t start, uint64_t end)
{
	return start < end ? inventory_look(inventory, memory, start, end, NULL).bytes : 0;
}

void inventory_count(struct inventory *inventory, struct inventory_allocator *a,
		     const struct memory_image *memory, enum inventory_part part, uint64_t start,
		     uint64_t end, uint64_t asked)
{
	struct inspected_allocator *shown = &a->shown;
	struct inventory_there there, used;

	if (start >= end && part != INVENTORY_IN_USE)
		return;
	there = inventory_look(inventory, memory, start, end, inventory->covered);
	a->resident[part] += there.bytes;
	switch (part) {
	case INVENTORY_IN_USE:
		shown->in_use.count++;
		if (asked > end - start) {
			shown->in_use.bytes += end - start;
			break;
		}
		shown->in_use.bytes += asked;
		shown->slack_bytes += end - start - asked;
		used = inventory_look(inventory, memory, start, start + asked, NULL);
		a->slack_resident += there.bytes - used.bytes;
		break;
	case INVENTORY_CACHED:
		shown->cached_bytes += end - start;
		/* fall through */
	case INVENTORY_FREE:
		shown->free_bytes += end - start;
		shown->free_resident += there.bytes;
		shown->free_whole_pages += there.whole_pages;
		break;
	case INVENTORY_BOOKS:
		shown->books_bytes += end - start;
		break;
	case INVENTORY_UNBELIEVED:
		shown->unbelieved_bytes += end - start;
		shown->unbelieved_resident += there.bytes;
		break;
	case INVENTORY_STACKS:
	case INVENTORY_PARTS:
		break;
	}
}
