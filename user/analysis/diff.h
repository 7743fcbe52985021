/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compares two moments of a program, or of two runs of it. Stacks are the same when their functions
 * have the same names, from the allocation out to the thread's start; addresses, lines and
 * build-ids may differ. Code without a name counts by module and offset. Bad accesses of guarded
 * blocks compare in the same way.
 */
#ifndef MEMLEAKBPF_ANALYSIS_DIFF_H
#define MEMLEAKBPF_ANALYSIS_DIFF_H

#include <stdbool.h>

#include "user/model/comparison.h"
#include "user/model/report.h"
#include "user/model/site.h"

struct diff;

/* Of rows of stacks where `by` is not BY_STACK; rules: NULL: none. NULL when out of memory. */
struct diff *diff_new(enum site_by by, const struct site_rules *rules);
void diff_free(struct diff *diff); /* with the comparison; NULL is fine */

/*
 * Adds a process to the old side or the new one, without its hidden stacks. The frames must outlive
 * the diff. 0 or -ENOMEM.
 */
int diff_add(struct diff *diff, const struct report *report, bool is_new);

/*
 * Sorts, by blocks or by bytes, and counts. The diff owns the result; nothing may be added after
 * it. NULL when out of memory.
 */
const struct comparison *diff_finish(struct diff *diff, bool by_count);

#endif
