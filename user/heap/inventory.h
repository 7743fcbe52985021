/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the allocators of a process have, by their own books: each piece of it that a walker comes
 * by, summed up by allocator. Internal users are the walkers (walker.h); who wants the sums sets
 * heap_image.inventory before dead_memory_find(), and takes heap_image.old for the blocks.
 */
#ifndef MEMLEAKBPF_HEAP_INVENTORY_H
#define MEMLEAKBPF_HEAP_INVENTORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/inspection.h"
#include "user/process/memory_image.h"

#define INVENTORY_ALLOCATORS 16

/* What a piece of an allocator's memory is. */
enum inventory_part {
	INVENTORY_IN_USE, /* a block: all that can be used of what it was given */
	INVENTORY_FREE,
	INVENTORY_CACHED, /* free, and kept at hand for the next call of its size */
	INVENTORY_BOOKS,  /* what the allocator keeps of itself, headers of blocks included */
	INVENTORY_UNBELIEVED,
	INVENTORY_PARTS,
};

struct inventory_allocator {
	struct inspected_allocator shown;   /* name, version, arenas, why: the walker's; sums */
	uint64_t resident[INVENTORY_PARTS]; /* bytes of memory that is there */
	uint64_t slack_resident;
};

struct inventory {
	struct inventory_allocator allocators[INVENTORY_ALLOCATORS];
	size_t count;
	size_t region; /* of the memory: where the last piece was, for the next to be found fast */
	/* by region of the memory: bytes of it that are some allocator's; NULL: not wanted. Not owned */
	uint64_t *covered;
	/* by block that was known before the walkers came: one of them has come by it. As covered */
	bool *seen;
};

/* A new one of that name; NULL: there are too many. Belongs to the inventory. */
struct inventory_allocator *inventory_add_allocator(struct inventory *inventory, const char *name);

/*
 * Counts a piece [start, end) of the allocator. `asked` of INVENTORY_IN_USE: bytes that were asked
 * for; UINT64_MAX where the books do not have it. The memory is finished.
 */
void inventory_count(struct inventory *inventory, struct inventory_allocator *allocator,
		     const struct memory_image *memory, enum inventory_part part, uint64_t start,
		     uint64_t end, uint64_t asked);

#endif
