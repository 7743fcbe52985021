/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Roots that lie in blocks: stacks in use, and what the C library keeps of a thread. What leads to such a
 * block may begin in it, so who follows holders must know where to stop. Internal to user/heap/reach*.c.
 */
#ifndef MEMLEAKBPF_HEAP_REACH_INSIDE_H
#define MEMLEAKBPF_HEAP_REACH_INSIDE_H

#include "user/heap/heap_image.h"

struct reach_inside {
	struct heap_range *ranges; /* reach_inside_finish(): by address, not overlapping */
	size_t count, room;
};

/* An empty one with room for `room` ranges: reach_inside_free(). 0 or -ENOMEM. */
int reach_inside_init(struct reach_inside *inside, size_t room);
void reach_inside_free(struct reach_inside *inside); /* one that is all zero is fine */

/* Enters [start, end); there are no more of them than it has room for. */
void reach_inside_add(struct reach_inside *inside, uint64_t start, uint64_t end);

/* To be called once all are entered. */
void reach_inside_finish(struct reach_inside *inside);

bool reach_inside_has(const struct reach_inside *inside, uint64_t address);

#endif
