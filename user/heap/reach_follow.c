// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/reach_follow.h"

#define SMALLEST_CHUNK 32

/* From what glibc's own functions work with to the block: malloc's chunk begins that much before its memory. */
#define CHUNK_HEADER 16

/*
 * The array without elements that the pointer is to, BLOCK_NONE: none. `found` is the block that
 * has the address, as one that begins there may: the array's own block ends there, and so is the
 * one before, which costs no second search. Nearly every pointer to a block comes this way.
 */
uint32_t reach_empty_array(const struct reach *r, uint64_t pointer, uint32_t found)
{
	uint32_t block = found;

	if (!r->empty_arrays ||
	    (found != BLOCK_NONE && heap_block_address(r->image, found) != pointer))
		return BLOCK_NONE;
	if (found == BLOCK_NONE)
		block = block_index_find(r->index, pointer - REACH_COOKIE);
	/* Several may begin where one does: the first of a pool's lies where the pool does. */
	while (block != BLOCK_NONE && heap_block_address(r->image, block) == pointer)
		block = block ? block - 1 : BLOCK_NONE;
	if (block == BLOCK_NONE || !reach_is_empty_array(r->image, &r->options, block, pointer))
		return BLOCK_NONE;
	return block;
}

void reach_take(struct reach *r, uint32_t block, uint64_t from, bool start)
{
	if (block == BLOCK_NONE || reach_state(&r->marks, block) == REACH_REACHABLE)
		return;
	if (start) {
		reach_enter(&r->marks, block, REACH_REACHABLE, from);
	} else if (reach_state(&r->marks, block) == REACH_LEFT) {
		reach_enter(&r->marks, block, REACH_POSSIBLE, from);
	}
}

void reach_follow_pointer(struct reach *r, uint64_t pointer, uint64_t from, bool certain)
{
	uint32_t block = block_index_find(r->index, pointer);

	if (r->told) {
		if (block != BLOCK_NONE && reach_state(&r->marks, block) == REACH_REACHABLE &&
		    reach_is_start(r->image, &r->options, block, pointer))
			r->told(r->told_ctx, reach_word_address(&r->marks.holders, from), block);
		return;
	}
	reach_take(r, reach_empty_array(r, pointer, block), from, certain);
	if (block == BLOCK_NONE || reach_state(&r->marks, block) == REACH_REACHABLE)
		return;
	reach_take(r, block, from,
		   certain && reach_is_start(r->image, &r->options, block, pointer));
}

/*
 * The same of a word on a stack or in a register. A thread that is in the allocator at that moment, with a
 * block on its way from or to the caller, may have no more of it than where its chunk begins, which is in
 * what comes before the block. Of what we trace a block is known when the call has returned.
 */
void reach_follow_working(struct reach *r, uint64_t word, uint64_t from)
{
	uint64_t memory = word + CHUNK_HEADER;
	uint32_t block;

	reach_follow(r, word, from, true);
	if (word % 8 || !reach_may_point(r, memory))
		return;
	block = block_index_find(r->index, memory);
	if (block != BLOCK_NONE && reach_is_old(r, block) &&
	    heap_block_address(r->image, block) == memory)
		reach_take(r, block, from, true);
}

void reach_follow_stack(struct reach *r, uint64_t start, uint64_t end)
{
	struct memory_run run;

	while (memory_image_next_run(r->image->memory, &start, end, &run)) {
		uint64_t from = reach_word_in(&r->marks.holders, run.region, run.address);

		for (size_t i = 0; i < run.count; i++)
			reach_follow_working(r, run.words[i], from + i);
	}
}

/*
 * What of [at, end), a part of the region, lies between the blocks and the dead ranges. Returns how many
 * bytes that is, without what is smaller than a chunk: that an allocator keeps between blocks.
 */
uint64_t reach_follow_part(struct reach *r, const struct memory_region *region, uint64_t at,
			   uint64_t end, bool stack)
{
	const struct heap_image *image = r->image;
	size_t block = heap_image_block(image, at), dead = heap_image_first_dead(image, at);
	uint64_t bytes = 0, from;

	if (block && heap_block_end(image, block - 1) > at)
		block--;
	while (at < end) {
		uint64_t stop = end;

		while (block < image->block_count && heap_block_end(image, block) <= at)
			block++;
		while (dead < image->dead_count && image->dead[dead].end <= at)
			dead++;
		if (block < image->block_count && heap_block_address(image, block) < end) {
			uint64_t address = heap_block_address(image, block);

			if (address < at + 8) {
				at = (heap_block_end(image, block) + 7) & ~7ull;
				continue;
			}
			stop = address & ~7ull;
		}
		if (dead < image->dead_count && image->dead[dead].start < stop) {
			const struct heap_range *d = &image->dead[dead];

			if (d->start < at + 8) {
				at = (d->end + 7) & ~7ull;
				continue;
			}
			stop = d->start & ~7ull;
		}
		bytes += stop - at >= SMALLEST_CHUNK ? stop - at : 0;
		from = reach_word_in(&r->marks.holders, region, at);
		for (const uint64_t *word = region->words + (at - region->start) / 8; at < stop;
		     at += 8, word++, from++) {
			if (stack)
				reach_follow_working(r, *word, from);
			else
				reach_follow(r, *word, from, true);
		}
	}
	return bytes;
}
