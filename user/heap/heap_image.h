/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process at one moment, as far as reachability needs it: its memory, its live blocks, and which
 * memory is dead. Plain data: who makes it enters memory and blocks (user/trace does, and tests do),
 * dead_memory_find() the rest.
 */
#ifndef MEMLEAKBPF_HEAP_HEAP_IMAGE_H
#define MEMLEAKBPF_HEAP_HEAP_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/heap/inventory.h"
#include "user/process/memory_image.h"

#define HEAP_NO_STACK UINT32_MAX

struct heap_block {
	uint64_t address, size; /* as asked for */
	uint64_t end;		/* of what is looked at as its memory: set by heap_image_finish() */
	/* of what the allocator gave for it, where that is known to be more; else the same */
	uint64_t room_end;
	uint32_t stack;	 /* index into the snapshot's stacks; HEAP_NO_STACK: it is none of them */
	uint32_t age_ms; /* saturated */
};

struct heap_range {
	uint64_t start, end;
};

/* How many blocks of its size one stands for, as the process says. */
struct heap_weight {
	uint64_t address; /* of the block */
	double weight;
};

struct heap_image {
	struct memory_image *memory; /* finished; belongs to the heap image */
	struct heap_block *blocks;   /* by address; see heap_image_finish() */
	size_t block_count;
	/*
	 * by address, not overlapping: memory that holds nothing any more, whose words are no roots
	 */
	struct heap_range *dead;
	size_t dead_count, dead_room;
	/*
	 * by address: blocks that an allocator's books have as in use and that are none of ours, which is
	 * what was allocated before the attach. What the walkers find; not all of them tell. For saying
	 * what holds a block, not for judging it
	 */
	struct heap_range *old;
	size_t old_count, old_room;
	/*
	 * by address, not overlapping: memory that an allocator has from another or from the kernel and makes
	 * its own blocks of (CPython's arenas). It is no block itself, whatever the books of the one below
	 * say: its bytes count once
	 */
	struct heap_range *claimed;
	size_t claimed_count;
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
};

/* Takes the memory over, unless it returns NULL: out of memory. */
struct heap_image *heap_image_new(struct memory_image *memory);
void heap_image_free(struct heap_image *image); /* NULL is fine */

/*
 * Sorts blocks, weights and dead ranges by address; ends blocks where the next one begins (blocks of a pool
 * lie inside one of malloc's; and a target can make its books lie), and drops those whose range
 * wraps around. To be called once all is entered.
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

/* Of an image that dead_memory_find() has looked at: the one that has the address; NULL: none. */
const struct heap_range *heap_image_old(const struct heap_image *image, uint64_t address);

/*
 * A finished view of the image in which what is from before the attach are blocks, too, without a stack.
 * It shares all but the blocks with the image, which must outlive it: heap_view_free(). NULL when out of
 * memory.
 */
struct heap_image *heap_view_with_old(const struct heap_image *image);
void heap_view_free(struct heap_image *view); /* NULL is fine */

/* Enters ranges of image->claimed, which overlap none that is there. 0 or -ENOMEM. */
int heap_image_claim(struct heap_image *image, const struct heap_range *ranges, size_t count);

/* The range of image->claimed that has the address, or the first behind it; NULL: none. */
const struct heap_range *heap_image_claimed(const struct heap_image *image, uint64_t address);

/*
 * The same for good, and without a second copy of anything: what is from before the attach becomes
 * the image's blocks, beside those that it has. 0 or -ENOMEM: it is as it was.
 */
int heap_image_take_old(struct heap_image *image);

/* Enters one of image->old; 0, also when there are too many of them to be of use, or -ENOMEM. */
int heap_image_add_old(struct heap_image *image, uint64_t start, uint64_t end);

/* Marks [start, end) as dead; sorted later, by heap_image_finish(). 0 or -ENOMEM. */
int heap_image_add_dead(struct heap_image *image, uint64_t start, uint64_t end);

#endif
