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
#include "user/heap/block_index.h"
#include "user/heap/dead_memory.h"
#include "user/heap/reach_inside.h"
#include "user/heap/reach_internal.h"
#include "user/heap/reach_marks.h"

#define SMALLEST_CHUNK 32

/* From what glibc's own functions work with to the block: malloc's chunk begins that much before its memory. */
#define CHUNK_HEADER 16

struct reach {
	const struct heap_image *image;
	struct reach_options options;
	struct block_index *index;
	struct reach_marks marks;
	struct reach_inside inside;
	const struct memory_region *near; /* where the last block was that was looked into */
	uint64_t mask;
	uint64_t low, span; /* [low, low + span]: all blocks and their ends */
	uint64_t unknown_bytes;
	/* of reach_each_below(); NULL: nobody wants to know */
	void (*below)(void *ctx, uint32_t leader, uint32_t block);
	void *below_ctx;
	bool met;	   /* a lost block was reached in more than one way */
	bool empty_arrays; /* there may be some: blocks of the size of a cookie */
};

static bool reach_is_old(const struct reach *r, uint32_t block)
{
	return heap_block_at(r->image, block).stack == HEAP_OLD;
}

/*
 * Most words that are looked at are no pointers, and most of those are told by their value. This has
 * to be cheap: it is done for each word of the heap, all else for few of them.
 */
static inline bool reach_may_point(const struct reach *r, uint64_t pointer)
{
	return pointer - r->low <= r->span;
}

/*
 * The array without elements that the pointer is to, BLOCK_NONE: none. `found` is the block that
 * has the address, as one that begins there may: the array's own block ends there, and so is the
 * one before, which costs no second search. Nearly every pointer to a block comes this way.
 */
static uint32_t reach_empty_array(const struct reach *r, uint64_t pointer, uint32_t found)
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

static void reach_take(struct reach *r, uint32_t block, uint64_t from, bool start)
{
	if (block == BLOCK_NONE || reach_state(&r->marks, block) == REACH_REACHABLE)
		return;
	if (start) {
		reach_enter(&r->marks, block, REACH_REACHABLE, from);
	} else if (reach_state(&r->marks, block) == REACH_LEFT) {
		reach_enter(&r->marks, block, REACH_POSSIBLE, from);
	}
}

static void reach_follow_pointer(struct reach *r, uint64_t pointer, uint64_t from, bool certain)
{
	uint32_t block = block_index_find(r->index, pointer);

	reach_take(r, reach_empty_array(r, pointer, block), from, certain);
	if (block == BLOCK_NONE || reach_state(&r->marks, block) == REACH_REACHABLE)
		return;
	reach_take(r, block, from,
		   certain && reach_is_start(r->image, &r->options, block, pointer));
}

/*
 * A word found at `from` (reach_holders.h), which is in a root or (`certain` false) in a block that is possibly lost.
 */
static inline void reach_follow(struct reach *r, uint64_t word, uint64_t from, bool certain)
{
	if (reach_may_point(r, word & r->mask))
		reach_follow_pointer(r, word & r->mask, from, certain);
}

/*
 * The same of a word on a stack or in a register. A thread that is in the allocator at that moment, with a
 * block on its way from or to the caller, may have no more of it than where its chunk begins, which is in
 * what comes before the block. Of what we trace a block is known when the call has returned.
 */
static inline void reach_follow_working(struct reach *r, uint64_t word, uint64_t from)
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
	struct memory_run run;

	while (reach_next_run(r, &start, end, &run)) {
		uint64_t from = reach_word_in(&r->marks.holders, run.region, run.address);

		for (size_t i = 0; i < run.count; i++) {
			if (leader == BLOCK_NONE)
				reach_follow(r, run.words[i], from + i, certain);
			else
				reach_follow_lost(r, run.words[i], from + i, leader);
		}
	}
}

/* ---- roots -------------------------------------------------------------------------------- */

static void reach_follow_stack(struct reach *r, uint64_t start, uint64_t end)
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
static uint64_t reach_follow_part(struct reach *r, const struct memory_region *region, uint64_t at,
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

/*
 * A stack that lies in a block (makecontext, pthread_attr_setstack) is a root as far as it is in
 * use.
 */
static void reach_follow_stack_in_block(struct reach *r, const struct memory_thread *thread)
{
	uint32_t block = block_index_find(r->index, thread->sp);
	uint64_t start = (thread->sp - STACK_RED_ZONE) & ~7ull, end;

	if (block == BLOCK_NONE)
		return;
	end = heap_block_end(r->image, block);
	reach_follow_stack(r, start, end);
	reach_inside_add(&r->inside, start, end);
}

/* The control block may lie in a block, with the stack. */
static void reach_follow_vector(struct reach *r, uint64_t vector, uint64_t from)
{
	reach_follow(r, vector - 16, reach_word(&r->marks.holders, from), true);
	reach_inside_add(&r->inside, from, from + 8);
}

/*
 * glibc's vector of a thread's TLS blocks: the thread pointer's second word is the address of its
 * second entry (tcbhead_t, dtv_t: 16 bytes), which for threads made since the attach lies in a
 * block that we know. Without this all dynamic TLS would be possibly lost.
 */
static void reach_follow_tls_vector(struct reach *r, const struct memory_thread *thread)
{
	uint64_t tcb, vector, self;
	uint32_t block;

	if (!memory_image_word(r->image->memory, thread->tls, &tcb) || tcb != thread->tls ||
	    !memory_image_word(r->image->memory, thread->tls + 8, &vector) ||
	    !memory_image_word(r->image->memory, thread->tls + 16, &self) || self != thread->tls)
		return;
	block = block_index_find(r->index, vector);
	if (block != BLOCK_NONE && vector - heap_block_address(r->image, block) == 16)
		reach_follow_vector(r, vector, thread->tls + 8);
}

/*
 * The same of a thread that has ended: glibc keeps its stack for the next one, which gets the vector as well. Of
 * one that we know its own allocation tells.
 */
static void reach_follow_ended_vector(struct reach *r, uint64_t tcb)
{
	uint64_t vector;
	uint32_t block;

	if (!memory_image_word(r->image->memory, tcb + 8, &vector))
		return;
	block = block_index_find(r->index, vector);
	if (block != BLOCK_NONE && reach_is_old(r, block) &&
	    vector - heap_block_address(r->image, block) == 16)
		reach_follow_vector(r, vector, tcb + 8);
}

/*
 * musl takes its first thread's memory from its own allocator, past malloc: an old block, which the thread pointer leads
 * into. Not so where the stack lies in it as well: of that only a part is in use.
 */
static void reach_take_thread_block(struct reach *r, size_t thread)
{
	const struct memory_thread *t = &r->image->memory->threads[thread];
	uint32_t block = block_index_find(r->index, t->tls);

	if (block == BLOCK_NONE || !reach_is_old(r, block) ||
	    block_index_find(r->index, t->sp) == block)
		return;
	reach_take(r, block, reach_word_of_thread(&r->marks.holders, thread), true);
}

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

/* Around the thread pointer; not what lies there of a stack, which is below. */
static void reach_follow_thread_local(struct reach *r, const struct memory_thread *thread)
{
	uint64_t start = (thread->tls & ~4095ull) - 4096, end = (thread->tls & ~7ull) + 4096;
	const struct memory_region *region;

	if (thread->tls < 8192)
		return;
	region = memory_image_region(r->image->memory, thread->tls & ~7ull);
	if (!region || region->start > thread->tls)
		return;
	start = start > region->start ? start : region->start;
	end = end < region->start + region->size ? end : region->start + region->size;
	if (region->mapping && thread->sp >= region->mapping->start && thread->sp < thread->tls &&
	    thread->sp >= start)
		start = (thread->sp + 7) & ~7ull;
	reach_follow_part(r, region, start, end, false);
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
	for (size_t i = 0; i < memory->thread_count; i++) {
		reach_follow_thread_local(r, &memory->threads[i]);
		reach_follow_tls_vector(r, &memory->threads[i]);
		reach_take_thread_block(r, i);
	}
	for (size_t i = 0; i < r->image->ended_count; i++)
		reach_follow_ended_vector(r, r->image->ended[i]);
	reach_drain(r);
	reach_follow_kind(r, REACH_MEMORY);
	for (size_t i = 0; i < memory->thread_count; i++)
		reach_follow_stack_in_block(r, &memory->threads[i]);
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

static void reach_mark_held(struct reach *r)
{
	uint32_t block;

	reach_follow_roots(r);
	reach_drain(r);
	while ((block = reach_next_of_rest(&r->marks)) != BLOCK_NONE) {
		/* One that turned out to be reachable has been looked into. */
		if (reach_state(&r->marks, block) == REACH_POSSIBLE)
			reach_look_into(r, block, BLOCK_NONE);
	}
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
	    reach_inside_init(&r->inside, 2 * image->memory->thread_count + image->ended_count)) {
		reach_free(r);
		return -ENOMEM;
	}
	reach_mark_held(r);
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

const struct heap_image *reach_image(const struct reach *r)
{
	return r->image;
}
