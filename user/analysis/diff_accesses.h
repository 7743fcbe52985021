/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Compares the bad accesses of guarded blocks (--guard) of two moments. Two are the same when they
 * have the same kind and the same functions in their stacks. Also both have to have read, or both
 * written, as far as that is known.
 */
#ifndef MEMLEAKBPF_ANALYSIS_DIFF_ACCESSES_H
#define MEMLEAKBPF_ANALYSIS_DIFF_ACCESSES_H

#include <stdbool.h>

#include "user/model/comparison.h"

struct diff_access;

struct diff_accesses {
	struct diff_access *entries; /* a table by name; NULL: none so far */
};

/* Adds one to the old side or the new one; its frames must outlive the list. 0 or -ENOMEM. */
int diff_accesses_add(struct diff_accesses *list, const struct misuse *misuse, bool is_new);

/* Sets what the comparison has of them; its array is the caller's to free. 0 or -ENOMEM. */
int diff_accesses_finish(const struct diff_accesses *list, struct comparison *c);

void diff_accesses_release(struct diff_accesses *list);

#endif
