/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A snapshot and what has been found out about it since: what is kept beside it, so that it stays as
 * its source has filled it. Made by user/session (and the survey) stage by stage, read by exporters
 * and the writer of recordings.
 */
#ifndef MEMLEAKBPF_MODEL_REPORT_H
#define MEMLEAKBPF_MODEL_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/snapshot.h"
#include "user/model/suppressed.h"
#include "user/model/trend.h"

/* Of one stack. */
struct stack_notes {
	int64_t delta_bytes; /* live now - live at the last snapshot */
	int64_t delta_count;
	uint64_t fresh_bytes; /* allocated since the last snapshot, freed or not */
	/*
	 * 1 << enum verdict_class: of live blocks that suppressions have taken out; without a
	 * verdict all or none
	 */
	unsigned suppressed;
	bool hidden;	    /* all live blocks have been: not to be shown */
	bool unwanted;	    /* by who looks at the report: not to be shown either */
	struct trend trend; /* of live.bytes over the watch; TREND_UNKNOWN: not followed */
	/* As in struct stack, and those that were looked for only now. NULL until then. */
	const struct frame *const *frames;
	size_t frame_count;
};

/* Where its process runs, as labels have it; NULL: nowhere of that kind, or unknown. */
struct report_place {
	const char *unit, *container, *pod;
	const char *pod_name; /* "NAMESPACE/POD" */
};

/* Stacks that have something in common (enum site_by), as one row. */
struct report_rows {
	/* a "stack" for each: the sums of its stacks, and the frames of the largest of them; owned */
	struct report *sums;
	/*
	 * places in the report's stacks, row by row, the largest of each row first; those of row i are
	 * from begins[i] on, and end before begins[i + 1]. Owned
	 */
	size_t *members, *begins;
};

struct report {
	const struct snapshot *snapshot; /* owned */
	struct report_rows *rows;	 /* owned; NULL: each stack is for itself */
	struct report_place place;	 /* strings of whoever has set it */
	struct stack_notes *notes; /* one for each of snapshot->stacks; NULL: report_begin() */
	int64_t delta_bytes, delta_count; /* of live since the last snapshot */
	int64_t heap_delta_bytes
		[UNTRACED_HEAPS]; /* of snapshot->heaps since then; 0: unknown too */
	/* snapshot->misuses, with the frames of their calls and what is suppressed of them */
	struct misuse_list misuses[MISUSE_FINDERS];
	struct suppressed *suppressed; /* owned; NULL: there are no suppressions */
};

/*
 * Takes the snapshot over. The frames that it has come with it; differences are those of a first
 * snapshot: all that is live. NULL when out of memory; then the snapshot is freed too.
 */
struct report *report_new(struct snapshot *snapshot);

/*
 * report_new() in two steps, for one that may never be shown: of a long recording each snapshot but
 * the last is only counted. Between the two it has its snapshot and nothing else.
 */
struct report *report_begin(struct snapshot *snapshot);
/* 0, or -ENOMEM: it stays as it is. */
int report_complete(struct report *report);
/*
 * Only room for the notes and misuses: the caller fills in each stack's notes. 0, also when there
 * is room already, or -ENOMEM.
 */
int report_reserve(struct report *report);

/* Those that a stack begins with. */
static inline struct stack_notes report_first_notes(const struct stack *stack)
{
	return (struct stack_notes){
		.delta_bytes = (int64_t)stack->live.bytes,
		.delta_count = (int64_t)stack->live.count,
		.fresh_bytes = stack->alloc.bytes,
		.frames = stack->frames,
		.frame_count = stack->frame_count,
	};
}

void report_free(struct report *report); /* with the snapshot; NULL is fine */

void report_rows_free(struct report_rows *rows); /* NULL is fine */

/* How many stacks a row of it has; `row` is one of rows->sums' stacks. */
static inline size_t report_row_stacks(const struct report_rows *rows, const struct stack *row,
				       const size_t **members)
{
	size_t i = (size_t)(row - rows->sums->snapshot->stacks);

	*members = &rows->members[rows->begins[i]];
	return rows->begins[i + 1] - rows->begins[i];
}

/* Those of a stack of the report's snapshot. */
static inline const struct stack_notes *report_notes(const struct report *report,
						     const struct stack *stack)
{
	return &report->notes[stack - report->snapshot->stacks];
}

static inline struct stack_notes *report_notes_to_fill(struct report *report,
						       const struct stack *stack)
{
	return &report->notes[stack - report->snapshot->stacks];
}

#endif
