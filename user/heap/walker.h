/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The walkers, one for each allocator, and what they share. A walker finds its allocator's own
 * books in the memory, and believes them only as far as they agree with themselves and with the
 * blocks that are known: a target can make them lie. Internal to user/heap.
 */
#ifndef MEMLEAKBPF_HEAP_WALKER_H
#define MEMLEAKBPF_HEAP_WALKER_H

#include "user/heap/heap_image.h"

/*
 * Mark what the allocator has as free, what surrounds blocks, and its own books, which name blocks
 * and do not hold them. The image is finished, but for the dead ranges. 0, also where the allocator
 * is not found, or -errno (-ENOMEM), not logged.
 */
int cpython_heap_mark(struct heap_image *image); /* first: it makes blocks of others' */
int glibc_heap_mark(struct heap_image *image);
int jemalloc_heap_mark(struct heap_image *image);
int musl_heap_mark(struct heap_image *image);
int mimalloc_heap_mark(struct heap_image *image);
int tcmalloc_heap_mark(struct heap_image *image);
/* Says which others there are, where an inventory is wanted. After all of those above. */
int unknown_heaps_mark(struct heap_image *image);

/*
 * Of a slot that an allocator has: 0 when no known block begins in it, 1 when one does, -ENOMEM. If
 * that is alone and begins where the slot does (`inner`: or behind), the rest of the slot is no
 * root any more and belongs to the block. *block is the first that does not begin before the slot,
 * for the next call.
 */
int walker_slot(struct heap_image *image, size_t *block, uint64_t start, uint64_t end, bool inner);

/*
 * What a walker says of each piece of its allocator's memory, once: marks what is free or the
 * allocator's own as dead (but for the headers of blocks), enters a block in use that none of ours lies in as one
 * from before the attach, and counts it where an inventory is wanted (`allocator` NULL: it is not). `asked` as for
 * inventory_count(). A block with memory that another allocator has claimed (heap_image_claim()) is none: what is
 * around that is the allocator's own. Best in the order of addresses. 0 or -ENOMEM.
 */
int walker_report(struct heap_image *image, struct inventory_allocator *allocator,
		  enum inventory_part part, uint64_t start, uint64_t end, uint64_t asked);

/*
 * What comes next is of memory that the allocator gives back as one, once no block is left in it: a slab, a span, an
 * arena (`name`). It is counted where an inventory is wanted. What is of no such unit goes back by pages.
 */
void walker_unit(struct heap_image *image, struct inventory_allocator *allocator, const char *name,
		 uint64_t start, uint64_t end);

/* The allocator's line in the inventory; NULL: none is wanted. */
struct inventory_allocator *walker_allocator(struct heap_image *image, const char *name);

/* Says why not all of the allocator's memory is believed, a clause; the first one stays. NULL is fine. */
void walker_doubt(struct inventory_allocator *allocator, const char *why);

/*
 * Is the region an object's writable data, or what follows it (.bss)? An allocator's variables are
 * there.
 */
bool walker_is_data(const struct heap_image *image, const struct memory_region *region);

/* Is all of [start, end) mapped, privately and for writing, by some mappings and not by thousands? */
bool walker_is_mapped(const struct heap_image *image, uint64_t start, uint64_t end);

/*
 * Does the thread have an address of the range in a register, or on its stack near its end? So it is with what an
 * allocator is about to change. What an earlier call has left there may look the same. `own` is where the allocator
 * keeps what it knows of the thread, which may lie right behind the stack and is none of it; 0: nowhere.
 */
bool walker_has_in_hand(const struct heap_image *image, const struct memory_thread *thread,
			const struct heap_range *range, uint64_t own);

/* What all threads have so, of a range; sorted. The caller frees the words, whatever walker_find_in_hand() returns. */
struct walker_hand {
	uint64_t *words;
	size_t count, room;
};

/* 0 or -ENOMEM. */
int walker_find_in_hand(const struct heap_image *image, const struct heap_range *range,
			struct walker_hand *out);
/* Is one of them in [start, end)? */
bool walker_is_in_hand(const struct walker_hand *hand, uint64_t start, uint64_t end);

/*
 * Where a thread's static TLS may be: below the thread pointer (x86_64) or above it (aarch64). Not
 * all of it need be there.
 */
struct heap_range walker_tls(const struct memory_thread *thread);

#endif
