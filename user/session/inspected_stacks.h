/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * An inspection as a snapshot, to be compared with snapshots: a kind of blocks is a stack of one
 * frame.
 */
#ifndef MEMLEAKBPF_SESSION_INSPECTED_STACKS_H
#define MEMLEAKBPF_SESSION_INSPECTED_STACKS_H

#include "user/model/inspection.h"
#include "user/model/snapshot.h"

/* The names of such a snapshot. */
struct inspected_stacks;

/*
 * 0, *out, and *snapshot, which must be freed before *out; -ENOMEM. The inspection must outlive
 * both.
 */
int inspected_stacks_new(const struct inspection *inspection, struct inspected_stacks **out,
			 struct snapshot **snapshot);
void inspected_stacks_free(struct inspected_stacks *stacks); /* NULL is fine */

#endif
