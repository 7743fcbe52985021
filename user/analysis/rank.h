/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which stacks of a report are shown, and in which order; and their changes since the snapshot
 * before.
 */
#ifndef MEMLEAKBPF_ANALYSIS_RANK_H
#define MEMLEAKBPF_ANALYSIS_RANK_H

#include "user/model/report.h"

enum rank_by {
	/*
	 * live bytes (with --older those older than that: stack.older); with a verdict lost blocks
	 * first, and what hangs on them last
	 */
	RANK_LIVE,
	RANK_ALLOC, /* bytes allocated since attach */
	/* growing ones by their trend, fastest first; then live bytes since the last snapshot */
	RANK_GROWTH,
	RANK_COUNT,   /* live blocks */
	RANK_SUSPECT, /* lost bytes, growth and age together: docs/verdicts.md has the formula */
	/* live bytes that have outlived others of their stack; then by the others' lifetime */
	RANK_LIFETIME,
	RANK_TEMPORARY, /* temporary blocks */
	RANK_PEAK,	/* bytes when the process had most */
	RANK_AGE,	/* age of the oldest live block */
	RANK_RATE,	/* bytes allocated since the last snapshot */
	RANK_ORDERS,
};

const char *rank_name(enum rank_by by); /* "live", as for --sort */
const char *rank_text(enum rank_by by); /* "live bytes", for people */

/*
 * Fills top[] with the best `max` stacks of the snapshot, best first. Ties: more count, then
 * smaller id, so that output is stable. Leaves out stacks with nothing to show under the order.
 * Returns how many. O(n log max). RANK_LIVE, RANK_ALLOC, RANK_COUNT and RANK_AGE need no notes.
 */
size_t rank_top(const struct report *report, enum rank_by by, const struct stack **top, size_t max);

/* The same; *all is how many there would be with enough room. */
size_t rank_top_of(const struct report *report, enum rank_by by, const struct stack **top,
		   size_t max, size_t *all);

/*
 * Makes the notes of every stack, with its changes since the previous snapshot of the same target
 * (NULL: first one). Also makes the report's sums of these. Matches stacks by id. 0 or -ENOMEM.
 */
int rank_delta(struct report *now, const struct snapshot *snapshot);

#endif
