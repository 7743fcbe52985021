/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is known of each block while reachability goes on, in some 5 bytes: its class so far, the word
 * through which it was found, and whether it is still to be looked into. Internal to user/heap/reach*.c.
 */
#ifndef MEMLEAKBPF_HEAP_REACH_MARKS_H
#define MEMLEAKBPF_HEAP_REACH_MARKS_H

#include "user/heap/block_set.h"
#include "user/heap/reach_holders.h"

enum reach_state {
	REACH_LEFT, /* not reached: definitely lost in the end */
	REACH_INDIRECT,
	REACH_POSSIBLE,
	REACH_REACHABLE,
};

struct reach_marks {
	uint8_t *states; /* two bits for each block */
	struct reach_holders holders;
	/* to be looked into: reachable blocks that are as far from the roots, and those behind them */
	struct block_set now, next;
	struct block_set rest; /* of other classes */
	uint32_t rest_at;      /* the last one taken of it */
};

/* All of `blocks` are left. 0 or -ENOMEM; reach_marks_free() in any case. */
int reach_marks_init(struct reach_marks *marks, const struct memory_image *memory, size_t blocks);
/* Nothing is looked into any more: classes and words stay. */
void reach_marks_settle(struct reach_marks *marks);
void reach_marks_free(struct reach_marks *marks); /* one that is all zero is fine */

static inline enum reach_state reach_state(const struct reach_marks *marks, size_t block)
{
	return (enum reach_state)(marks->states[block / 4] >> block % 4 * 2 & 3);
}

static inline void reach_set_state(struct reach_marks *marks, size_t block, enum reach_state state)
{
	uint8_t *states = &marks->states[block / 4];

	*states = (uint8_t)((*states & ~(3u << block % 4 * 2)) | (unsigned)state << block % 4 * 2);
}

/* It was found in that class, through the word of that number, and is to be looked into. */
static inline void reach_enter(struct reach_marks *marks, uint32_t block, enum reach_state state,
			       uint64_t from)
{
	reach_set_state(marks, block, state);
	reach_holders_set(&marks->holders, block, from);
	block_set_add(state == REACH_REACHABLE ? &marks->next : &marks->rest, block);
}

/*
 * Another reachable one to be looked into, those first that are nearest to the roots: the next behind
 * `block`, the last one, by address (UINT32_MAX: there is none). UINT32_MAX: there are no more.
 */
uint32_t reach_next_reachable(struct reach_marks *marks, uint32_t block);

/* Another one of the rest: the next by address, and after the last the first. UINT32_MAX: none. */
uint32_t reach_next_of_rest(struct reach_marks *marks);

#endif
