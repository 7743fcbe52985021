/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to user/heap/reach*.c. */
#ifndef MEMLEAKBPF_HEAP_REACH_INTERNAL_H
#define MEMLEAKBPF_HEAP_REACH_INTERNAL_H

#include "user/heap/reach.h"

struct memory_region;

/* The one that has been judged. */
const struct heap_image *reach_image(const struct reach *reach);

/* Of the image's ended threads that one: it was not joined, and can still be. */
bool reach_is_held(const struct reach *reach, size_t ended);

/* May this be the heap of allocations that we have not seen? */
bool reach_may_be_heap(const struct heap_image *image, const struct memory_region *region);

/*
 * Kinds of roots, the most telling of an owner first: a block that several hold is said to be held by
 * the first. A variable stays; what is on a stack or in a register may be no more than a copy that was
 * made on the way, or one that is not used any more.
 */
enum reach_root {
	REACH_DATA, /* variables of objects */
	/* of the C library: its buffers hold what was in them once */
	REACH_LIBRARY,
	REACH_MEMORY, /* whatever else can be written to: blocks from before the attach, mappings */
	REACH_STACK,
	REACH_ROOTS,
};

enum reach_root reach_root_of(const struct heap_image *image, const struct memory_region *region);

/* Does a pointer into the middle of the block count as one to its beginning? */
bool reach_is_start(const struct heap_image *image, const struct reach_options *options,
		    uint32_t block, uint64_t pointer);

/* The count of elements that C++ keeps before an array whose elements have destructors. */
#define REACH_COOKIE 8

/*
 * Is it an array of no elements, by the newarray heuristic, and the pointer to where its first one
 * would be? That is the end of its block, which is its cookie alone.
 */
bool reach_is_empty_array(const struct heap_image *image, const struct reach_options *options,
			  uint32_t block, uint64_t pointer);

#endif
