/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which stacks of a snapshot are shown, and in which order; what has changed in them since the
 * snapshot before, and the sums of all of them.
 */
#ifndef MEMLEAKBPF_ANALYSIS_RANK_H
#define MEMLEAKBPF_ANALYSIS_RANK_H

#include "user/model/snapshot.h"

enum rank_by {
	RANK_LIVE,  /* live bytes (those older than --older when it is given: stack.older) */
	RANK_ALLOC, /* bytes allocated since attach */
	/* what grows by its trend, fastest first; then live bytes since the last snapshot */
	RANK_GROWTH,
	RANK_COUNT,   /* live blocks */
	RANK_SUSPECT, /* lost bytes, growth and age together: docs/verdicts.md has the formula */
};

/*
 * Fills top[] with the best `max` stacks of the snapshot, best first (ties: more count, then
 * smaller id, so that output is stable); stacks with nothing to show under the chosen order are
 * left out. Returns how many. O(n log max).
 */
size_t rank_top(const struct snapshot *snapshot, enum rank_by by, struct stack **top, size_t max);

/* Fills in live, alloc, free and delta_* of the snapshot, the sums of its stacks'. */
void rank_total(struct snapshot *snapshot);

/*
 * Sets delta_bytes/delta_count of every stack and of the snapshot against the previous snapshot of
 * the same target (NULL: first one). Stacks are matched by id.
 */
void rank_delta(struct snapshot *now, const struct snapshot *before);

#endif
