/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which blocks one variable alone leads to, and which several do: each block has the colour of the variable
 * from which it can be reached. Internal to user/heap.
 */
#ifndef MEMLEAKBPF_HEAP_COLOURS_H
#define MEMLEAKBPF_HEAP_COLOURS_H

#include <stdint.h>

#include "user/heap/held_roots.h"

#define COLOUR_MANY (UINT32_MAX - 1)

struct colours {
	uint32_t *
		of; /* by block: a root's number; COLOUR_MANY; UINT32_MAX: no variable leads to it */
};

/*
 * Finds them, with the numbers of `roots`, to which it adds: 0 or -ENOMEM; colours_release() in any case. What
 * is on stacks, and what is likely to be left over, does not count. Each block is looked into at most twice.
 */
int colours_find(const struct held_by *held, struct reach *reach, struct held_roots *roots,
		 struct colours *out);
void colours_release(struct colours *colours); /* one that is all zero is fine */

#endif
