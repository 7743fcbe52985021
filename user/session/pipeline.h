/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The way of a snapshot from its source to what is printed, the same while tracing and from a
 * recording: difference to the one before, trends, the sum of a program's processes (--merge),
 * suppressions, the leaks that the exit status tells of, ranking, names, output.
 */
#ifndef MEMLEAKBPF_SESSION_PIPELINE_H
#define MEMLEAKBPF_SESSION_PIPELINE_H

#include "user/session/outcome.h"
#include "user/session/output.h"
#include "user/session/session_config.h"
#include "user/session/source.h"

struct pipeline;

/* What the pointers point to must outlive the pipeline. */
struct pipeline_config {
	const struct filter_config *filter;
	const struct show_config *show;
	uint64_t older_ns; /* --older; 0: not given */
	bool live;	   /* as output_open() */
	bool secret;	   /* as output_open(): --contents was given */
	bool verdict;	   /* --verdict was given: the outcome is about lost blocks */
	bool outcome;	   /* --error-exitcode was given: there is to be an outcome */
	bool last_only;	   /* of each target, the last snapshot; pipeline_finish() shows it */
	bool viewed;	   /* somebody looks at reports himself: pipeline_last() has them */
};

/* Reads the suppressions and opens the output. 0 and *out (pipeline_free), or -errno, logged. */
int pipeline_new(const struct pipeline_config *config, const struct source *source,
		 struct pipeline **out);

/*
 * Closes the output, tells of unused suppressions. 0, or the first failure to write. NULL is fine.
 */
int pipeline_free(struct pipeline *pipeline);

/*
 * The next snapshot of a target, in the order of time, which is taken over. With --merge it is
 * shown as a part of a sum, at the end of the round or when the target's next one comes. After a
 * target's last snapshot (exited, execed) nothing of it is taken any more. 0, or the first failure,
 * logged, after which nothing is done any more.
 */
int pipeline_take(struct pipeline *pipeline, struct snapshot *now);

/*
 * --merge: each living process has had its turn. With `final` those that have ended are in the sums
 * too, and the output has begun. Without --merge nothing else. As pipeline_take().
 */
int pipeline_round(struct pipeline *pipeline, bool final);

/* Shows what was left for the end. As pipeline_take(). */
int pipeline_finish(struct pipeline *pipeline);

/* The target's last snapshot has been taken, as at its end, while it was held. */
bool pipeline_has_last(const struct pipeline *pipeline, uint32_t target_id);

/* Nothing comes of this target any more. */
void pipeline_forget(struct pipeline *pipeline, uint32_t target_id);

/*
 * For who looks at reports himself (config.viewed): the last one of a target, also when it has ended, until
 * pipeline_forget() or its next snapshot; NULL: there is none. He may set notes.unwanted.
 */
struct report *pipeline_last(struct pipeline *pipeline, uint32_t target_id);

/* rank_top_of() it, in any order. */
size_t pipeline_rank(struct pipeline *pipeline, uint32_t target_id, enum rank_by sort,
		     const struct stack **top, size_t room, size_t *all);

/*
 * Makes the rows of the last report by the config's `by`, without stacks that are unwanted; `unnamed`:
 * some may not have been described yet. 0 or -ENOMEM, not logged.
 */
int pipeline_rows(struct pipeline *pipeline, uint32_t target_id, bool unnamed);

/* Sees to a stack's names, and its trend. 0 or -ENOMEM, not logged. */
int pipeline_describe(struct pipeline *pipeline, uint32_t target_id, const struct stack *stack);

/* Sees to the names of all that it has. 0 or -ENOMEM, not logged. */
int pipeline_describe_all(struct pipeline *pipeline, uint32_t target_id);

/* Those that it applies, for what does not come through it; NULL: none. */
struct suppressions *pipeline_suppressions(const struct pipeline *pipeline);

int pipeline_error(const struct pipeline *pipeline);	  /* 0, or the first failure */
uint64_t pipeline_shown(const struct pipeline *pipeline); /* how many snapshots have been */
/* When the first and the last of them were taken; both 0: none has been shown. */
void pipeline_shown_times(const struct pipeline *pipeline, uint64_t *first_ns, uint64_t *last_ns);
const struct outcome *pipeline_outcome(const struct pipeline *pipeline);
struct output *pipeline_output(struct pipeline *pipeline); /* the pipeline's own */

#endif
