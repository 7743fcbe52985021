/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The way of a snapshot from its source to print, the same while tracing and from a recording.
 * Stages: difference to the one before, trends, the sum of a program's processes (--merge),
 * suppressions. Then come the leaks for the exit status, ranking, names, output.
 */
#ifndef MEMLEAKBPF_SESSION_PIPELINE_H
#define MEMLEAKBPF_SESSION_PIPELINE_H

#include "user/session/outcome.h"
#include "user/session/output.h"
#include "user/session/session_config.h"
#include "user/session/source.h"

struct pipeline;

/* All that it points to must outlive the pipeline. */
struct pipeline_config {
	const struct filter_config *filter;
	const struct show_config *show;
	uint64_t older_ns; /* --older; 0: not given */
	bool live;	   /* as output_open() */
	bool secret;	   /* as output_open(): --contents was given */
	bool verdict;	   /* --verdict was given: the outcome is about lost blocks */
	bool outcome;	   /* --error-exitcode was given: an outcome is wanted */
	bool last_only;	   /* shows only each target's last snapshot, in pipeline_finish() */
	bool viewed;	   /* a viewer reads reports itself: pipeline_last() has them */
};

/* Reads the suppressions and opens the output. 0 and *out (pipeline_free), or -errno, logged. */
int pipeline_new(const struct pipeline_config *config, const struct source *source,
		 struct pipeline **out);

/* Closes the output, logs unused suppressions. 0, or the first failure to write. NULL is fine. */
int pipeline_free(struct pipeline *pipeline);

/*
 * Takes over the next snapshot of a target, in the order of time. With --merge it is shown as a
 * part of a sum, at the end of the round or when the target's next one comes. After a target's last
 * snapshot (exited, execed) it takes no more. 0, or the first failure, logged, after which it does
 * nothing any more.
 */
int pipeline_take(struct pipeline *pipeline, struct snapshot *now);

/*
 * --merge: each living process has had its turn. With `final` ended processes are in the sums, too.
 * Without --merge `final` only begins the output. As pipeline_take().
 */
int pipeline_round(struct pipeline *pipeline, bool final);

/* Shows the reports that were left for the end. As pipeline_take(). */
int pipeline_finish(struct pipeline *pipeline);

/* Has the target's last snapshot been taken, as at its end, while it was held? */
bool pipeline_has_last(const struct pipeline *pipeline, uint32_t target_id);

/* No more snapshots of this target come. */
void pipeline_forget(struct pipeline *pipeline, uint32_t target_id);

/*
 * For a viewer (config.viewed): the last report of a target, also of an ended one, until
 * pipeline_forget() or its next snapshot. NULL: there is none. The viewer may set notes.unwanted.
 */
struct report *pipeline_last(struct pipeline *pipeline, uint32_t target_id);

/* rank_top_of() for pipeline_last()'s report, in any order. */
size_t pipeline_rank(struct pipeline *pipeline, uint32_t target_id, enum rank_by sort,
		     const struct stack **top, size_t room, size_t *all);

/*
 * Makes the rows of the last report by the config's `by`, without stacks that are unwanted; `unnamed`:
 * some may not have been described yet. 0 or -ENOMEM, not logged.
 */
int pipeline_rows(struct pipeline *pipeline, uint32_t target_id, bool unnamed);

/* Sees to a stack's names, and its trend. 0 or -ENOMEM, not logged. */
int pipeline_describe(struct pipeline *pipeline, uint32_t target_id, const struct stack *stack);

/* Finds the names of all stacks. 0 or -ENOMEM, not logged. */
int pipeline_describe_all(struct pipeline *pipeline, uint32_t target_id);

/* The pipeline's suppressions, for reports that do not come through it; NULL: none. */
struct suppressions *pipeline_suppressions(const struct pipeline *pipeline);

int pipeline_error(const struct pipeline *pipeline);	  /* 0, or the first failure */
uint64_t pipeline_shown(const struct pipeline *pipeline); /* the number of snapshots shown */
/* The times of the first and the last of them; both 0: none has been shown. */
void pipeline_shown_times(const struct pipeline *pipeline, uint64_t *first_ns, uint64_t *last_ns);
const struct outcome *pipeline_outcome(const struct pipeline *pipeline);
struct output *pipeline_output(struct pipeline *pipeline); /* the pipeline's own */

#endif
