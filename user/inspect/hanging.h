/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What hangs on what by kinds of blocks, and by what each kind is held. Internal to user/inspect. */
#ifndef MEMLEAKBPF_INSPECT_HANGING_H
#define MEMLEAKBPF_INSPECT_HANGING_H

#include "user/base/packed.h"
#include "user/heap/held_by.h"
#include "user/model/inspection.h"

/* What blocks are folded by: their groups, but all of one size are one. */
struct hanging_kinds {
	const struct packed *group_of; /* by block; outlives it, as the groups do */
	const struct inspection *out;
	uint32_t *of_group;
};

/* 0 or -ENOMEM; hanging_kinds_release() in any case. */
int hanging_kinds_init(struct hanging_kinds *kinds, const struct packed *group_of,
		       const struct inspection *out);
void hanging_kinds_release(struct hanging_kinds *kinds);

/* Of a block; ctx: the kinds. */
uint32_t hanging_kind(void *ctx, uint32_t block);

/*
 * Fills in out->ways, and the holders of the groups that have most bytes. 0 or -ENOMEM.
 */
int hanging_find(const struct held_by *held, struct reach *reach, struct hanging_kinds *kinds,
		 struct inspection *out);

#endif
