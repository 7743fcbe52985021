/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps the reports of a target, or of a program's sum, from one snapshot to the next. */
#ifndef MEMLEAKBPF_SESSION_KEPT_H
#define MEMLEAKBPF_SESSION_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "user/base/hash.h"
#include "user/analysis/rows.h"
#include "user/analysis/stack_trends.h"
#include "user/model/report.h"

struct kept {
	uint32_t target_id;	     /* snapshot.target_id; the key */
	struct report *last;	     /* owned; NULL: none yet */
	struct report *before;	     /* owned; the one before `last`, if differences come later */
	struct stack_trends *trends; /* NULL: not wanted */
	struct rows_known rows;	     /* of its stacks */
	bool to_show;		     /* `last` is, at the end */
	bool in_sum;		     /* `last` is part of the sum to come (--merge) */
	bool ended;		     /* `last` was the last one */
	UT_hash_handle hh;
};

/*
 * A table is a pointer, NULL when it is empty. HASH_ITER(hh, …) goes through it in the order in
 * which the targets came.
 */

/* NULL: not there. */
struct kept *kept_find(struct kept *table, uint32_t target_id);

/* Finds it or makes it; `trends`: with trends. NULL when out of memory. */
struct kept *kept_get(struct kept **table, uint32_t target_id, bool trends);

/* Takes the report over, and frees the last one. */
void kept_replace(struct kept *kept, struct report *now);

/* The same; the last one stays as kept->before. */
void kept_push(struct kept *kept, struct report *now);

void kept_forget(struct kept **table, struct kept *kept);
void kept_free(struct kept **table);

#endif
