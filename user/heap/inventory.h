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

#include "user/heap/keeping.h"
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
	INVENTORY_STACKS, /* a runtime has its threads' stacks there */
	INVENTORY_PARTS,
};

/* What glibc's malloc_trim(0) would do, and the thresholds that decide what it keeps. Bytes. */
struct inventory_trim {
	bool known;  /* the rest is; false: it is another allocator, or was not walked over */
	bool unsure; /* a thread was changing an arena, or some of it is not believed */
	uint64_t midst, top; /* in memory: pages between blocks; of the main arena's top */
	uint64_t left;	     /* in memory: the tops of other arenas, which it leaves alone */
	uint64_t others;     /* in memory: what is free in other arenas than the main ones */
	uint64_t
		large; /* in memory: free chunks of at least the threshold that mappings begin with */
	uint64_t mmap_threshold, trim_threshold; /* 0: not found */
	bool raised;				 /* a freed mapping has raised them */
};

struct inventory_allocator {
	struct inspected_allocator shown;   /* name, version, arenas, why: the walker's; sums */
	uint64_t resident[INVENTORY_PARTS]; /* bytes of memory that is there */
	uint64_t slack_resident;
	uint64_t spans_resident; /* tcmalloc, of what is free: whole spans */
	struct inventory_trim trim;
};

struct inventory {
	struct inventory_allocator allocators[INVENTORY_ALLOCATORS];
	size_t count;
	size_t region; /* of the memory: where the last piece was, for the next to be found fast */
	/* by region of the memory: bytes of it that are some allocator's; NULL: not wanted. Not owned */
	uint64_t *covered;
	/* by block that was known before the walkers came: one of them has come by it. As covered */
	bool *seen;
	struct keeping *keeping; /* NULL: not wanted. Not owned */
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

/* How much of [start, end) is in memory. */
uint64_t inventory_resident(struct inventory *inventory, const struct memory_image *memory,
			    uint64_t start, uint64_t end);

#endif
