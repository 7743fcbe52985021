// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What has been judged, gone through once more: all that leads somewhere, and not only what led there first. */
#include "user/heap/reach_follow.h"

void reach_each_target(const struct reach *r, uint32_t block,
		       void (*fn)(void *ctx, uint32_t target), void *ctx)
{
	uint64_t start = (heap_block_address(r->image, block) + 7) & ~7ull;
	uint64_t end = heap_block_room_end(r->image, block);
	struct memory_run run;

	while (memory_image_next_run(r->image->memory, &start, end, &run)) {
		for (size_t i = 0; i < run.count; i++) {
			const uint64_t pointer = run.words[i] & r->mask;
			uint32_t target;

			if (!reach_may_point(r, pointer))
				continue;
			target = block_index_find(r->index, pointer);
			if (target == BLOCK_NONE || target == block ||
			    reach_state(&r->marks, target) != REACH_REACHABLE ||
			    !reach_is_start(r->image, &r->options, target, pointer))
				continue;
			if (!r->options.is_weak ||
			    !r->options.is_weak(r->options.weak_ctx, block, run.address + 8 * i))
				fn(ctx, target);
		}
	}
}

void reach_each_variable(struct reach *r, void (*fn)(void *ctx, uint64_t word, uint32_t block),
			 void *ctx)
{
	const struct memory_image *memory = r->image->memory;

	r->told = fn;
	r->told_ctx = ctx;
	for (size_t i = 0; i < memory->region_count; i++) {
		const struct memory_region *region = &memory->regions[i];

		if (reach_root_of(r->image, region) == REACH_DATA)
			reach_follow_part(r, region, region->start, region->start + region->size,
					  false);
	}
	r->told = NULL;
}
