/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --merge: one report for all processes of a program. */
#ifndef MEMLEAKBPF_SESSION_MERGED_H
#define MEMLEAKBPF_SESSION_MERGED_H

#include <stdbool.h>

#include "user/model/report.h"

struct merged;

struct merged *merged_new(void);	 /* NULL when out of memory */
void merged_free(struct merged *merged); /* NULL is fine */

/* A living process's snapshot for the report to come; borrowed until then. 0 or -ENOMEM. */
int merged_add(struct merged *merged, const struct report *now);

/*
 * The last one of a process that has ended, whose stacks have all got their frames. Copied, frames
 * and all: it counts in the final report. 0 or -ENOMEM.
 */
int merged_add_ended(struct merged *merged, const struct report *last);

/*
 * Called with each program's sum, which fn takes over. Its target_id and pid stay those of the
 * program's first process.
 */
typedef int (*merged_fn)(void *ctx, struct report *sum);

/*
 * Adds up what is there, calls fn for each program, and forgets the living. With `final` the ended
 * ones are in it, and programs of which all have ended too. 0, -ENOMEM, or what fn returned.
 */
int merged_report(struct merged *merged, bool final, merged_fn fn, void *ctx);

/*
 * During fn: the process in which a stack of the sum was found, as its snapshots' target_id. False:
 * it has ended.
 */
bool merged_member(const struct merged *merged, const struct stack *stack, uint32_t *target_id);

#endif
