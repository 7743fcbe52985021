/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process at one moment, as far as reachability needs it: its memory, its live blocks, and which
 * memory is dead. Plain data: who makes it enters memory and blocks (user/trace does, user/inspect the memory
 * alone), dead_memory_find() the rest.
 */
#ifndef MEMLEAKBPF_HEAP_HEAP_IMAGE_H
#define MEMLEAKBPF_HEAP_HEAP_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/heap/block_list.h"
#include "user/heap/inventory.h"
#include "user/process/memory_image.h"

#define HEAP_NO_STACK UINT32_MAX
/*
 * What an allocator's books have as in use and nobody saw being allocated: it is from before the attach, or
 * was not sampled
 */
#define HEAP_OLD (UINT32_MAX - 1)

/* A thread that has ended and whose stack the C library keeps. */
struct heap_ended {
	uint64_t
		block; /* its control block, which pthread_t is: with it comes what was thread-local */
	uint64_t bytes, resident; /* of the stack; of that in memory */
	bool unjoined; /* nobody has joined it, and it was not detached: the stack stays */
};

/* There may be millions of them: it has what each needs and no more. */
struct heap_block {
	/* as asked for; of one of HEAP_OLD, if the books do not have that, what can be used of it */
	uint64_t address, size;
	/* index into the snapshot's stacks; HEAP_NO_STACK: it is none of them; HEAP_OLD */
	uint32_t stack;
	uint32_t age_ms; /* saturated; 0 of one of HEAP_OLD */
};

struct heap_range {
	uint64_t start, end;
};

/* By their starts; for qsort(3). */
int heap_range_order(const void *a, const void *b);

/* How many blocks of its size one stands for, as the process says. */
struct heap_weight {
	uint64_t address; /* of the block */
	double weight;
};

/* Of a stack's blocks those that a walker has come by: what can be used of them, what was asked for. */
struct heap_usable {
	double bytes, count, asked;
};

struct heap_image {
	struct memory_image *memory; /* finished; belongs to the heap image */
	/* by address; see heap_image_finish(). NULL: there are none but those in `old` */
	struct heap_block *entered;
	size_t block_count; /* of heap_block_at() */
	/*
	 * by block: how many bytes of what the allocator gave lie behind it and are its own; NULL: of none
	 * that is known. heap_image_set_room(). Saturated
	 */
	uint32_t *room;
	/*
	 * by address, not overlapping: memory that holds nothing any more, whose words are no roots
	 */
	struct heap_range *dead;
	size_t dead_count, dead_room;
	struct heap_ended *ended; /* by address */
	size_t ended_count, ended_room;
	/* those of HEAP_OLD, as the walkers find them; heap_image_take_old() makes them blocks */
	struct block_list old;
	/*
	 * by address, not overlapping: memory that an allocator has from another or from the kernel and makes
	 * its own blocks of (CPython's arenas). It is no block itself, whatever the books of the one below
	 * say: its bytes count once
	 */
	struct heap_range *claimed;
	size_t claimed_count;
	/*
	 * by address: memory of old blocks some of which begin behind where they were cut, as they were to be aligned
	 */
	struct heap_range *aligned;
	size_t aligned_count, aligned_room;
	/*
	 * by address: live blocks that are a runtime's arenas. They are none of the blocks: what the runtime
	 * has made of one are, where its books are known, and otherwise it is memory like any other
	 */
	struct heap_block *arenas;
	size_t arena_count, arena_room;
	/*
	 * addresses of blocks that a thread may be about to give out or take back, so that nothing need lead to
	 * them; heap_image_hold()
	 */
	uint64_t *in_hand;
	size_t in_hand_count, in_hand_room;
	size_t reported;       /* where among the blocks walker_report() looked last */
	uint64_t sample_bytes; /* blocks are a sample of one in so many bytes; 0: all of them */
	struct heap_weight *weights; /* by address, of the blocks that have one; NULL: none has */
	size_t weight_count;
	/*
	 * every block that was ever allocated is known: traced from the first instruction, with
	 * nothing left out
	 */
	bool all_known;
	/* what the walkers come by is counted there, too; NULL: it is not wanted. Not owned */
	struct inventory *inventory;
	/* likewise of each stack's blocks how much of them can be used; by stack. Not owned */
	struct heap_usable *usable;
	size_t usable_stacks;
};

/* Takes the memory over, unless it returns NULL: out of memory. */
struct heap_image *heap_image_new(struct memory_image *memory);
void heap_image_free(struct heap_image *image); /* NULL is fine */

/*
 * Sorts blocks, weights and dead ranges by address, and drops blocks whose range wraps around. To be
 * called once all is entered.
 */
void heap_image_finish(struct heap_image *image);

/* The first block that does not begin before the address. Of a finished image. */
size_t heap_image_block(const struct heap_image *image, uint64_t address);

/*
 * How many blocks of its size a recorded one stands for: 1 / (1 - exp(-size / sample_bytes)), as
 * bpf/sample.h has it; 1 without sampling.
 */
double heap_image_weight(uint64_t size, uint64_t sample_bytes);
/* The same of a block of a finished image, which may have a weight of its own. */
double heap_image_weight_of(const struct heap_image *image, const struct heap_block *block);

/* The block of an index, and its address alone; of a finished image. */
static inline struct heap_block heap_block_at(const struct heap_image *image, size_t block)
{
	struct block_place old;

	if (image->entered)
		return image->entered[block];
	old = block_list_at(&image->old, block);
	return (struct heap_block){.address = old.address, .size = old.size, .stack = HEAP_OLD};
}

static inline uint64_t heap_block_address(const struct heap_image *image, size_t block)
{
	return image->entered ? image->entered[block].address
			      : block_list_address(&image->old, block);
}

/*
 * Where what is looked at as the block's memory ends: at the latest where the next one begins (blocks of a
 * pool lie inside one of malloc's; and a target can make its books lie). Of a finished image.
 */
static inline uint64_t heap_block_end(const struct heap_image *image, size_t block)
{
	const struct heap_block b = heap_block_at(image, block);
	uint64_t end = b.address + b.size, next;

	if (block + 1 == image->block_count)
		return end;
	next = heap_block_address(image, block + 1);
	return next < end ? next : end;
}

/* The same of what the allocator gave for it, where that is known to be more. */
uint64_t heap_block_room_end(const struct heap_image *image, size_t block);
/* 0 or -ENOMEM. */
int heap_image_set_room(struct heap_image *image, size_t block, uint64_t end);

/*
 * Enters one of image->old: 0; -ENOMEM; or -E2BIG, and it has not been entered: there are more of them
 * already than the memory can have, so the books lie.
 */
int heap_image_add_old(struct heap_image *image, uint64_t start, uint64_t size);

/* Enters ranges of image->claimed, which overlap none that is there. 0 or -ENOMEM. */
int heap_image_claim(struct heap_image *image, const struct heap_range *ranges, size_t count);

/* Enters one of image->aligned; sorted later, by heap_image_finish(). 0 or -ENOMEM. */
int heap_image_add_aligned(struct heap_image *image, uint64_t start, uint64_t end);

/* Is the address in one of image->aligned? Of a finished image. */
bool heap_image_is_aligned(const struct heap_image *image, uint64_t address);

/* Enters one of image->arenas; sorted later, by heap_image_finish(). 0 or -ENOMEM. */
int heap_image_add_arena(struct heap_image *image, const struct heap_block *arena);

/* Enters one of image->in_hand. 0 or -ENOMEM. */
int heap_image_hold(struct heap_image *image, uint64_t block);

/* The range of image->claimed that has the address, or the first behind it; NULL: none. */
const struct heap_range *heap_image_claimed(const struct heap_image *image, uint64_t address);

/*
 * Makes those of image->old blocks as the others are. Of an image that dead_memory_find() has looked at.
 * 0 or -ENOMEM.
 */
int heap_image_take_old(struct heap_image *image);

static inline bool heap_image_is_claimed(const struct heap_image *image, uint64_t address)
{
	const struct heap_range *claimed = heap_image_claimed(image, address);

	return claimed && claimed->start <= address;
}

/* Of the dead ranges of a finished image the first that ends behind the address; dead_count: none. */
size_t heap_image_first_dead(const struct heap_image *image, uint64_t address);

/* Marks [start, end) as dead; sorted later, by heap_image_finish(). 0 or -ENOMEM. */
int heap_image_add_dead(struct heap_image *image, uint64_t start, uint64_t end);

#endif
