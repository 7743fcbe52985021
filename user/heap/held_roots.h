/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which variable, stack or mapping each of many words belongs to that hold blocks. Internal to user/heap. */
#ifndef MEMLEAKBPF_HEAP_HELD_ROOTS_H
#define MEMLEAKBPF_HEAP_HELD_ROOTS_H

#include "user/heap/held_by.h"
#include "user/model/id_map.h"

/* A word in a root through which a block is held, and the bytes of what hangs on that block. */
struct held_word {
	uint64_t address; /* as reach_holder() has it */
	uint64_t bytes;
	uint32_t block;
	uint32_t root; /* held_roots_find() fills it in */
};

struct held_root {
	char *name;	   /* owned */
	uint64_t variable; /* where it begins, if it is one; or 0 */
};

struct held_roots {
	struct held_root *items;
	size_t count, room;
	struct id_map by_hash; /* of variable and name: the number of the last root of that hash */
};

void held_roots_free(struct held_roots *roots);

/*
 * Sorts the words by address, and finds the root of each, which it adds if it is new; only of words on which so many bytes hang the functions of
 * stack frames are asked for. 0 or -ENOMEM; held_roots_free(). One that is all zero has none.
 */
int held_roots_find(const struct held_by *held, struct held_word *words, size_t count,
		    uint64_t framed_bytes, struct held_roots *out);

#endif
