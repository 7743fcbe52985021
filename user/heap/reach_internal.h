/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Private to reach.c and reach_heuristics.c. */
#ifndef MEMLEAKBPF_HEAP_REACH_INTERNAL_H
#define MEMLEAKBPF_HEAP_REACH_INTERNAL_H

#include "user/heap/reach.h"

/* Does a pointer into the middle of the block count as one to its beginning? */
bool reach_is_start(const struct heap_image *image, const struct reach_options *options,
		    const struct heap_block *block, uint64_t pointer);

#endif
