/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --merge: one report for all processes of a program. */
#ifndef MEMLEAKBPF_SESSION_MERGED_H
#define MEMLEAKBPF_SESSION_MERGED_H

#include <stdbool.h>

#include "user/model/report.h"

struct merged;

struct merged *merged_new(void);	 /* NULL when out of memory */
void merged_free(struct merged *merged); /* NULL is fine */

/* Adds a living process's snapshot to the report to come; borrowed until then. 0 or -ENOMEM. */
int merged_add(struct merged *merged, const struct report *now);

/*
 * Adds the last snapshot of a process that has ended; all its stacks have their frames. Copied,
 * frames and all: it counts in the final report. 0 or -ENOMEM.
 */
int merged_add_ended(struct merged *merged, const struct report *last);

/*
 * Gets each program's sum, and takes it over. Its target_id and pid stay those of the program's
 * first process.
 */
typedef int (*merged_fn)(void *ctx, struct report *sum);

/*
 * Adds up, calls fn for each program, and forgets the living. With `final` ended processes count,
 * too, and programs that have only ended ones. 0, -ENOMEM, or fn's result.
 */
int merged_report(struct merged *merged, bool final, merged_fn fn, void *ctx);

/*
 * During fn: the process in which a stack of the sum was found, by its snapshots' target_id. False:
 * it has ended.
 */
bool merged_member(const struct merged *merged, const struct stack *stack, uint32_t *target_id);

#endif
