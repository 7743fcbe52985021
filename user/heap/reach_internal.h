/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to reach.c, reach_heuristics.c and reach_sum.c. */
#ifndef MEMLEAKBPF_HEAP_REACH_INTERNAL_H
#define MEMLEAKBPF_HEAP_REACH_INTERNAL_H

#include "user/heap/reach.h"

/* The one that has been judged. */
const struct heap_image *reach_image(const struct reach *reach);

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
