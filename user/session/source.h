/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a pipeline's snapshots come from: a running trace, a recording. It hands them to the
 * pipeline, complete but for names; this is what the pipeline asks of it in return.
 */
#ifndef MEMLEAKBPF_SESSION_SOURCE_H
#define MEMLEAKBPF_SESSION_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

#include "user/model/report.h"

struct source;

struct source_ops {
	/*
	 * The frames of a stack, by stack.id, of a target, by snapshot.target_id. 0; *frames stays
	 * as it is where they are not known; or -ENOMEM. NULL: the snapshots have come with all
	 * their names.
	 */
	int (*name_stack)(const struct source *source, uint32_t target_id, uint64_t stack_id,
			  const struct frame *const **frames, size_t *count);
	/*
	 * Whether what is of this time is to be shown, or only counts in what is shown later. NULL:
	 * all is.
	 */
	bool (*shows)(const struct source *source, uint64_t time_ns);
};

/* The first member of what a source is. */
struct source {
	const struct source_ops *ops;
};

#endif
