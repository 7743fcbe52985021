/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What hangs on what: the tree of the nearest ways from roots to blocks, folded by kind. A block counts with the
 * one word through which it was first found (reach_holder()), so all sums add up to the whole; what
 * two hold counts with the nearer one. docs/inspect.md has the rules.
 */
#ifndef MEMLEAKBPF_HEAP_WAYS_H
#define MEMLEAKBPF_HEAP_WAYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/heap/held_by.h"
#include "user/model/amount.h"

#define WAY_NONE UINT32_MAX

/* Blocks of a kind behind the blocks of another, or behind a root. */
struct way {
	uint32_t up;		     /* WAY_NONE: it is a root */
	uint32_t kind;		     /* of its blocks; of a root its number */
	uint32_t root;		     /* number of the root that it hangs on */
	uint32_t block;		     /* it has this one alone, which keeps much; or UINT32_MAX */
	bool linked;		     /* blocks of it lead to others of it */
	struct amount own, retained; /* its blocks; with all that hangs on them */
	/* of retained: what no other variable leads to; what several do. Of what no variable leads to nothing */
	struct amount alone, shared;
};

struct ways {
	struct way *items; /* holders before what they hold; roots are anywhere */
	uint32_t count;
	char **roots; /* names, by number */
	size_t root_count;
	uint32_t lost; /* the root of what nothing leads to */
	uint32_t *of;  /* by block: its way */
	struct amount whole;
};

struct ways_of {
	const struct heap_image *image;
	struct reach *reach; /* of reachable blocks all pointers are looked at again */
	const struct held_by *names;
	void *ctx;
	/* What blocks are folded by. */
	uint32_t (*kind)(void *ctx, uint32_t block);
	/* May one of that kind stand by itself, though others like it hang beside it? NULL: none may. */
	bool (*alone)(void *ctx, uint32_t kind);
};

/*
 * Finds them: 0 or -ENOMEM; ways_release() in any case. Takes 20 bytes a block at most, of which 4 stay,
 * and 24 a block that a root holds.
 */
int ways_find(const struct ways_of *how, struct ways *out);
void ways_release(struct ways *ways);

/* The block that holds a block by the nearest way, or UINT32_MAX: a root does, or nothing. */
uint32_t ways_holder(const struct reach *reach, uint32_t block);

#endif
