// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Marking, as memcheck's leak checker does it (memcheck/mc_leakcheck.c describes it; Valgrind's
 * manual 4.2.8 what the classes mean):
 *
 * 1. From every root word, blocks it points to. Through pointers to the beginning a reachable block
 *    makes others reachable; any other way makes them possibly lost. Reachable ones go first, so
 *    that few blocks are looked at twice.
 * 2. The blocks that are left, in order of address: each is definitely lost (a leader), and what it
 *    leads to and is left as well is indirectly lost. So of a cycle one block is definitely lost.
 * 3. A leader may hang below one that came later, and memcheck sees that only if it is pointed to
 *    directly. Here the leaders are gone through once more, the last first: one that another leads
 *    to is indirectly lost. A cycle that nothing leads to has one leader, its lowest block, which
 *    no other leader reaches; and what leads to a leader came after it, else it would have been
 *    none.
 */
#include "user/heap/reach.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"
#include "user/heap/reach_follow.h"
#include "user/heap/reach_threads.h"

static void reach_take_lost(struct reach *r, uint32_t block, uint64_t from, uint32_t leader)
{
	if (block == BLOCK_NONE || block == leader)
		return;
	if (reach_state(&r->marks, block) != REACH_LEFT) {
		r->met = r->met || reach_state(&r->marks, block) == REACH_INDIRECT;
		return;
	}
	reach_enter(&r->marks, block, REACH_INDIRECT, from);
	if (r->below)
		r->below(r->below_ctx, leader, block);
}

static void reach_follow_lost_pointer(struct reach *r, uint64_t pointer, uint64_t from,
				      uint32_t leader)
{
	uint32_t block = block_index_find(r->index, pointer);

	reach_take_lost(r, reach_empty_array(r, pointer, block), from, leader);
	reach_take_lost(r, block, from, leader);
}

/* The same below a block that is lost itself. */
static inline void reach_follow_lost(struct reach *r, uint64_t word, uint64_t from, uint32_t leader)
{
	if (reach_may_point(r, word & r->mask))
		reach_follow_lost_pointer(r, word & r->mask, from, leader);
}

/* memory_image_next_run(), where most blocks lie in the same region as the one before. */
static bool reach_next_run(struct reach *r, uint64_t *start, uint64_t end, struct memory_run *run)
{
	const struct memory_region *near = r->near;

	if (!near || *start < near->start || end > near->start + near->size) {
		bool found = memory_image_next_run(r->image->memory, start, end, run);

		r->near = found ? run->region : near;
		return found;
	}
	if (*start >= end || end - *start < 8)
		return false;
	*run = (struct memory_run){.address = *start,
				   .words = near->words + (*start - near->start) / 8,
				   .count = (size_t)((end - *start) / 8),
				   .region = near};
	*start = end;
	return true;
}

/* The word is followed now, or, if it may be left over, when all others have been. */
static void reach_follow_field(struct reach *r, uint32_t block, uint64_t address, uint64_t word,
			       uint64_t from)
{
	const uint64_t pointer = word & r->mask;
	uint32_t target;

	if (!reach_may_point(r, pointer))
		return;
	target = block_index_find(r->index, pointer);
	if (target != BLOCK_NONE && reach_state(&r->marks, target) == REACH_REACHABLE &&
	    !r->empty_arrays)
		return;
	if (r->options.is_weak(r->options.weak_ctx, block, address))
		block_set_add(&r->weak, block);
	else
		reach_follow_pointer(r, pointer, from, true);
}

static void reach_look_into(struct reach *r, uint32_t block, uint32_t leader)
{
	/*
	 * A program may use all that it got (malloc_usable_size): what is there holds, but is no
	 * reason to call a block indirectly lost.
	 */
	uint64_t end = leader == BLOCK_NONE ? heap_block_room_end(r->image, block)
					    : heap_block_end(r->image, block);
	uint64_t start = (heap_block_address(r->image, block) + 7) & ~7ull;
	bool certain = reach_state(&r->marks, block) == REACH_REACHABLE;
	bool weak = r->options.is_weak && certain && !r->weakly;
	struct memory_run run;

	while (reach_next_run(r, &start, end, &run)) {
		uint64_t from = reach_word_in(&r->marks.holders, run.region, run.address);

		for (size_t i = 0; i < run.count; i++) {
			if (weak)
				reach_follow_field(r, block, run.address + 8 * i, run.words[i],
						   from + i);
			else if (leader == BLOCK_NONE)
				reach_follow(r, run.words[i], from + i, certain);
			else
				reach_follow_lost(r, run.words[i], from + i, leader);
		}
	}
}

/* ---- roots -------------------------------------------------------------------------------- */

/* What a thread was giving out or taking back at that moment. */
static void reach_take_in_hand(struct reach *r)
{
	for (size_t i = 0; i < r->image->in_hand_count; i++) {
		uint32_t block = block_index_find(r->index, r->image->in_hand[i]);

		if (block != BLOCK_NONE)
			reach_take(r, block, reach_word_in_hand(&r->marks.holders), true);
	}
}

/*
 * All that the blocks taken so far lead to, those first that are nearest to the roots: what a block is said
 * to be held by is the shortest way then, not the length of some list that it is on, too.
 */
static void reach_drain(struct reach *r)
{
	uint32_t block = BLOCK_NONE;

	while ((block = reach_next_reachable(&r->marks, block)) != BLOCK_NONE)
		reach_look_into(r, block, BLOCK_NONE);
}

/* And what the words lead to that may be left over; of what that is in turn the others come first. */
static void reach_drain_weak(struct reach *r)
{
	uint32_t block;

	reach_drain(r);
	while (r->options.is_weak && (block = block_set_take(&r->weak, 0)) != BLOCK_NONE) {
		r->weakly = true;
		reach_look_into(r, block, BLOCK_NONE);
		r->weakly = false;
		reach_drain(r);
	}
}

static void reach_follow_kind(struct reach *r, enum reach_root kind)
{
	const struct memory_image *memory = r->image->memory;

	for (size_t i = 0; i < memory->region_count; i++) {
		const struct memory_region *region = &memory->regions[i];
		uint64_t bytes;

		if (reach_root_of(r->image, region) != kind)
			continue;
		bytes = reach_follow_part(r, region, region->start, region->start + region->size,
					  kind == REACH_STACK);
		r->unknown_bytes += reach_may_be_heap(r->image, region) ? bytes : 0;
	}
	reach_drain(r);
}

static void reach_follow_roots(struct reach *r)
{
	const struct memory_image *memory = r->image->memory;

	reach_follow_kind(r, REACH_DATA);
	reach_follow_thread_locals(r);
	reach_drain(r);
	reach_follow_kind(r, REACH_LIBRARY);
	reach_follow_kind(r, REACH_MEMORY);
	reach_follow_stacks_in_blocks(r);
	reach_follow_kind(r, REACH_STACK);
	for (size_t i = 0; i < memory->thread_count; i++) {
		const struct memory_thread *thread = &memory->threads[i];

		for (size_t w = 0; w < thread->word_count; w++)
			reach_follow_working(r, thread->words[w],
					     reach_word_of_thread(&r->marks.holders, i));
	}
	reach_take_in_hand(r);
}

/* ---- the two phases ----------------------------------------------------------------------- */

static int reach_mark_held(struct reach *r)
{
	uint32_t block;
	int err;

	reach_follow_roots(r);
	reach_drain_weak(r);
	err = reach_hold_unjoined(r);
	reach_drain_weak(r);
	while ((block = reach_next_of_rest(&r->marks)) != BLOCK_NONE) {
		/* One that turned out to be reachable has been looked into. */
		if (reach_state(&r->marks, block) == REACH_POSSIBLE)
			reach_look_into(r, block, BLOCK_NONE);
	}
	return err;
}

/* What the leader leads to and is left is indirectly lost. */
static void reach_mark_below(struct reach *r, uint32_t leader)
{
	uint32_t block = leader;

	for (; block != BLOCK_NONE; block = reach_next_of_rest(&r->marks))
		reach_look_into(r, block, leader);
}

/* All that the leaders lead to is theirs; one that another one leads to is none. */
static void reach_mark_leaders(struct reach *r, struct block_set *leaders)
{
	for (size_t i = 0; i < r->image->block_count; i++) {
		if (reach_state(&r->marks, i) == REACH_INDIRECT)
			reach_set_state(&r->marks, i, REACH_LEFT);
	}
	for (;;) {
		uint32_t leader = block_set_take_last(leaders);

		if (leader == BLOCK_NONE)
			break;
		if (reach_state(&r->marks, leader) == REACH_LEFT)
			reach_mark_below(r, leader);
	}
}

static void reach_mark_lost(struct reach *r)
{
	struct block_set *leaders = &r->marks.now; /* nothing is in it any more */

	for (size_t i = 0; i < r->image->block_count; i++) {
		if (reach_state(&r->marks, i) != REACH_LEFT)
			continue;
		block_set_add(leaders, (uint32_t)i);
		reach_mark_below(r, (uint32_t)i);
	}
	if (r->met)
		reach_mark_leaders(r, leaders);
	while (block_set_take(leaders, 0) != BLOCK_NONE)
		;
}

void reach_each_below(struct reach *r, void (*fn)(void *ctx, uint32_t leader, uint32_t block),
		      void *ctx)
{
	struct block_set *leaders = &r->marks.now;

	for (size_t i = 0; i < r->image->block_count; i++) {
		if (reach_state(&r->marks, i) == REACH_LEFT)
			block_set_add(leaders, (uint32_t)i);
	}
	r->below = fn;
	r->below_ctx = ctx;
	reach_mark_leaders(r, leaders);
	r->below = NULL;
}

void reach_settle(struct reach *r)
{
	reach_marks_settle(&r->marks);
}

/* Where addresses end: what is above is a tag. */
static uint64_t reach_address_mask(const struct heap_image *image)
{
	uint64_t last = image->block_count ? heap_block_address(image, image->block_count - 1) : 0;

	return last >> 47 ? (1ull << 56) - 1 : (1ull << 47) - 1;
}

int reach_new(const struct heap_image *image, const struct reach_options *options,
	      struct reach **out)
{
	struct reach *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	r->image = image;
	r->options = *options;
	if (image->block_count) {
		r->low = heap_block_address(image, 0);
		r->span = heap_block_end(image, image->block_count - 1) - r->low;
	}
	for (size_t i = 0; options->heuristics & REACH_NEWARRAY && i < image->block_count; i++)
		r->empty_arrays |= heap_block_at(image, i).size == REACH_COOKIE;
	r->mask = options->tagged ? reach_address_mask(image) : UINT64_MAX;
	r->index = block_index_new(image);
	if (!r->index || reach_marks_init(&r->marks, image->memory, image->block_count + 1) ||
	    (options->is_weak && block_set_init(&r->weak, image->block_count + 1)) ||
	    reach_inside_init(&r->inside, 2 * image->memory->thread_count + image->ended_count)) {
		reach_free(r);
		return -ENOMEM;
	}
	if (reach_mark_held(r)) {
		reach_free(r);
		return -ENOMEM;
	}
	block_set_free(&r->weak);
	reach_inside_finish(&r->inside);
	reach_mark_lost(r);
	*out = r;
	return 0;
}

void reach_free(struct reach *r)
{
	if (!r)
		return;
	block_index_free(r->index);
	reach_marks_free(&r->marks);
	reach_inside_free(&r->inside);
	block_set_free(&r->weak);
	free(r->held);
	free(r);
}

enum verdict_class reach_class(const struct reach *r, size_t block)
{
	static const enum verdict_class classes[] = {
		[REACH_LEFT] = VERDICT_DEFINITE,
		[REACH_INDIRECT] = VERDICT_INDIRECT,
		[REACH_POSSIBLE] = VERDICT_POSSIBLE,
		[REACH_REACHABLE] = VERDICT_REACHABLE,
	};

	return classes[reach_state(&r->marks, block)];
}

uint64_t reach_holder(const struct reach *r, size_t block)
{
	return reach_holders_get(&r->marks.holders, block);
}

uint32_t reach_find(const struct reach *r, uint64_t address)
{
	return block_index_find(r->index, address);
}

bool reach_is_root_inside(const struct reach *r, uint64_t address)
{
	return reach_inside_has(&r->inside, address);
}

uint64_t reach_unknown_bytes(const struct reach *r)
{
	return r->unknown_bytes;
}

bool reach_is_held(const struct reach *r, size_t ended)
{
	return r->held && r->held[ended];
}

const struct heap_image *reach_image(const struct reach *r)
{
	return r->image;
}
