/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The trend of each stack of one target, from snapshot to snapshot. */
#ifndef MEMLEAKBPF_ANALYSIS_STACK_TRENDS_H
#define MEMLEAKBPF_ANALYSIS_STACK_TRENDS_H

#include "user/model/report.h"

struct stack_trends;

struct stack_trends *stack_trends_new(void);	     /* NULL when out of memory */
void stack_trends_free(struct stack_trends *trends); /* NULL is fine */

/*
 * Takes in the live bytes of a report's stacks. Follows the largest 1,024, at up to 3 KiB each.
 * Call it for snapshots of one target, in their order. 0 or -ENOMEM; then only trends are missing.
 */
int stack_trends_update(struct stack_trends *trends, const struct report *report);

/*
 * Sets the trend of one stack of the last report; it stays unknown for a stack that is not
 * followed. Judging costs far more than the update: do it for shown stacks only, and for all where
 * the order is by growth.
 */
void stack_trends_judge(struct stack_trends *trends, struct report *report,
			const struct stack *stack);
void stack_trends_judge_all(struct stack_trends *trends, struct report *report);

#endif
