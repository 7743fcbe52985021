/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A snapshot, and what has been found out about it since. The findings are kept beside it, so that
 * it stays as its source has filled it. user/session (and the survey) makes it stage by stage;
 * exporters and the writer of recordings read it.
 */
#ifndef MEMLEAKBPF_MODEL_REPORT_H
#define MEMLEAKBPF_MODEL_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/finding.h"
#include "user/model/snapshot.h"
#include "user/model/suppressed.h"
#include "user/model/trend.h"

/* The findings about one stack. */
struct stack_notes {
	int64_t delta_bytes; /* live now - live at the last snapshot */
	int64_t delta_count;
	uint64_t fresh_bytes; /* allocated since the last snapshot, freed or not */
	/* 1 << enum verdict_class: suppressed live blocks; without a verdict all or none */
	unsigned suppressed;
	bool hidden;	    /* all live blocks are suppressed: not to be shown */
	bool hangs;	    /* all live blocks hang on lost ones of stacks that are shown */
	bool unwanted;	    /* the reader of the report does not want it: not to be shown either */
	struct trend trend; /* of live.bytes over the watch; TREND_UNKNOWN: not followed */
	/* The frames of struct stack, or frames found only now. NULL until then. */
	const struct frame *const *frames;
	size_t frame_count;
};

/* Where the process runs, as labels say it; NULL: nowhere of that kind, or unknown. */
struct report_place {
	const char *unit, *container, *pod;
	const char *pod_name; /* "NAMESPACE/POD" */
};

/* Stacks that have something in common (enum site_by), as one row. */
struct report_rows {
	/* a "stack" for each: the sums of its stacks, and the frames of the largest of them; owned */
	struct report *sums;
	/*
	 * places in the report's stacks, row by row, the largest of each row first. Those of row i
	 * begin at begins[i] and end before begins[i + 1]. Owned
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
	struct findings *findings;     /* owned; NULL: they were not looked for */
};

/*
 * Takes the snapshot over, with its frames. Differences are those of a first snapshot: all that is
 * live. NULL when out of memory; then the snapshot is freed too.
 */
struct report *report_new(struct snapshot *snapshot);

/*
 * report_new() in two steps, for a snapshot that may never be shown: all but the last one of a long
 * recording are only counted. Between the two steps the report has its snapshot and nothing else.
 */
struct report *report_begin(struct snapshot *snapshot);
/* 0, or -ENOMEM: the report stays as it is. */
int report_complete(struct report *report);
/*
 * Only room for the notes and misuses: the caller fills in each stack's notes. 0, also when there
 * is room already, or -ENOMEM.
 */
int report_reserve(struct report *report);

/* The notes that a stack begins with. */
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
