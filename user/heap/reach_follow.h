/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A judgement under way, and what a word that was found leads to: private to user/heap/reach*.c.
 */
#ifndef MEMLEAKBPF_HEAP_REACH_FOLLOW_H
#define MEMLEAKBPF_HEAP_REACH_FOLLOW_H

#include "user/heap/block_index.h"
#include "user/heap/reach_inside.h"
#include "user/heap/reach_internal.h"
#include "user/heap/reach_marks.h"

struct reach {
	const struct heap_image *image;
	struct reach_options options;
	struct block_index *index;
	struct reach_marks marks;
	struct reach_inside inside;
	bool *held; /* of the image's ended threads those that were not joined and can still be; NULL: none */
	const struct memory_region *near; /* where the last block was that was looked into */
	uint64_t mask;
	uint64_t low, span; /* [low, low + span]: all blocks and their ends */
	uint64_t unknown_bytes;
	/* of options.is_weak: blocks with words that are still to be followed; while they are, `weakly` */
	struct block_set weak;
	bool weakly;
	/* of reach_each_variable(); NULL: nobody wants to know */
	void (*told)(void *ctx, uint64_t word, uint32_t block);
	void *told_ctx;
	/* of reach_each_below(); NULL: nobody wants to know */
	void (*below)(void *ctx, uint32_t leader, uint32_t block);
	void *below_ctx;
	bool met;	   /* a lost block was reached in more than one way */
	bool empty_arrays; /* there may be some: blocks of the size of a cookie */
};

/*
 * Most words that are looked at are no pointers, and most of those are told by their value. This has
 * to be cheap: it is done for each word of the heap, all else for few of them.
 */
static inline bool reach_may_point(const struct reach *r, uint64_t pointer)
{
	return pointer - r->low <= r->span;
}

/* The block is reachable, or (`start` false) possibly lost, if it was not that yet. BLOCK_NONE is fine. */
void reach_take(struct reach *r, uint32_t block, uint64_t from, bool start);

/* By reach_follow() only. */
void reach_follow_pointer(struct reach *r, uint64_t pointer, uint64_t from, bool certain);

/*
 * A word found at `from` (reach_holders.h), which is in a root or (`certain` false) in a block that is possibly lost.
 */
static inline void reach_follow(struct reach *r, uint64_t word, uint64_t from, bool certain)
{
	if (reach_may_point(r, word & r->mask))
		reach_follow_pointer(r, word & r->mask, from, certain);
}

/* The array without elements that the pointer is to; `found` is the block that has the address. BLOCK_NONE: none is. */
uint32_t reach_empty_array(const struct reach *r, uint64_t pointer, uint32_t found);

/* The words of a stack, and those of registers. */
void reach_follow_stack(struct reach *r, uint64_t start, uint64_t end);
void reach_follow_working(struct reach *r, uint64_t word, uint64_t from);

/*
 * What of [at, end), a part of the region, lies between the blocks and the dead ranges. Returns how many
 * bytes that is, without what is smaller than a chunk: that an allocator keeps between blocks.
 */
uint64_t reach_follow_part(struct reach *r, const struct memory_region *region, uint64_t at,
			   uint64_t end, bool stack);

static inline bool reach_is_old(const struct reach *r, uint32_t block)
{
	return heap_block_at(r->image, block).stack == HEAP_OLD;
}

#endif
