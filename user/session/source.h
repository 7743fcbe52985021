/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The source of a pipeline's snapshots: a running trace or a recording. It hands the snapshots to
 * the pipeline, complete but for names. The pipeline asks it back for these.
 */
#ifndef MEMLEAKBPF_SESSION_SOURCE_H
#define MEMLEAKBPF_SESSION_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "user/model/report.h"

struct source;

struct source_ops {
	/*
	 * Finds the frames of a stack, by stack.id, of a target, by snapshot.target_id. 0; *frames
	 * stays as it is if they are unknown; or -ENOMEM. NULL: the snapshots come with all their
	 * names.
	 */
	int (*name_stack)(const struct source *source, uint32_t target_id, uint64_t stack_id,
			  const struct frame *const **frames, size_t *count);
	/*
	 * Is a snapshot of this time to be shown? False: it only counts in later ones. NULL: all
	 * are shown.
	 */
	bool (*shows)(const struct source *source, uint64_t time_ns);
};

/* The first member of each source. */
struct source {
	const struct source_ops *ops;
};

#endif
