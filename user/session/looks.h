/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Inspections of one process, one after the other: some facts need the look before. */
#ifndef MEMLEAKBPF_SESSION_LOOKS_H
#define MEMLEAKBPF_SESSION_LOOKS_H

#include "user/analysis/rank.h"
#include "user/base/hash.h"
#include "user/model/inspection.h"

struct looks {
	struct inspection *before; /* owned; NULL: there was none */
	uint64_t first_ns;	   /* the time of the first look */
	uint32_t target_id;	   /* the key, in a table */
	UT_hash_handle hh;
};

/*
 * Fills in the growth since the look before and the time since the first one, sorts for --sort,
 * and makes its findings. 0 or -ENOMEM.
 */
int looks_relate(struct looks *looks, struct inspection *now, enum rank_by sort);

/* Takes it over, and frees the look before; with NULL there is none. */
void looks_keep(struct looks *looks, struct inspection *now);

/* A table is a pointer, NULL when it is empty. */
struct looks *looks_get(struct looks **table, uint32_t target_id); /* NULL when out of memory */
void looks_forget(struct looks **table, uint32_t target_id);
void looks_free(struct looks **table);

#endif
