/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * `memleakbpf report --merge`: the snapshots of a recording as the reports that --merge gives while
 * tracing.
 */
#ifndef MEMLEAKBPF_SESSION_REPORT_MERGED_H
#define MEMLEAKBPF_SESSION_REPORT_MERGED_H

#include "user/session/merged.h"

struct report_merged;

struct report_merged *report_merged_new(merged_fn fn, void *ctx); /* NULL when out of memory */
void report_merged_free(struct report_merged *r);		  /* NULL is fine */

/*
 * The recording's next snapshot, which is taken over. What comes between two snapshots of one
 * process belongs to one report: fn is called for its programs as soon as it is complete. 0,
 * -ENOMEM, or what fn returned.
 */
int report_merged_take(struct report_merged *r, struct snapshot *s);

/* The last report. */
int report_merged_finish(struct report_merged *r);

#endif
