/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The trend of each stack of one target, from snapshot to snapshot. */
#ifndef MEMLEAKBPF_ANALYSIS_STACK_TRENDS_H
#define MEMLEAKBPF_ANALYSIS_STACK_TRENDS_H

#include "user/model/snapshot.h"

struct stack_trends;

struct stack_trends *stack_trends_new(void);	     /* NULL when out of memory */
void stack_trends_free(struct stack_trends *trends); /* NULL is fine */

/*
 * Takes in the live bytes of a snapshot's stacks and sets stack.trend of those that are followed: the largest 1,024, at up to 3 KiB each. Of the
 * others the trend stays unknown. Snapshots of one target, in their order. 0 or -ENOMEM, then trends are missing and nothing else.
 */
int stack_trends_update(struct stack_trends *trends, struct snapshot *snapshot);

#endif
