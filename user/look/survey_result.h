/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the survey's probes have found in one process, made to outlive the trace. */
#ifndef MEMLEAKBPF_LOOK_SURVEY_RESULT_H
#define MEMLEAKBPF_LOOK_SURVEY_RESULT_H

#include <stdbool.h>
#include <stddef.h>

#include "user/model/frame_table.h"
#include "user/model/survey_report.h"
#include "user/trace/trace.h"

/*
 * A snapshot of the target, which counts from the window's beginning. 0 and *out
 * (survey_result_clear), or -errno, logged.
 */
int survey_result_take(struct trace *trace, struct target *target, struct survey_drill *out);

/*
 * Picks the best stacks, at most `max`, of it and names them; the frames are kept in the table. 0
 * or -errno.
 */
int survey_result_name(struct trace *trace, struct target *target, struct frame_table *frames,
		       size_t max, struct survey_drill *result);

/* The rest of the snapshot's stacks, for what takes them all. 0 or -errno. */
int survey_result_name_all(struct trace *trace, struct target *target, struct frame_table *frames,
			   struct survey_drill *result);

/*
 * What the numbers mean beside the growth of the process itself (result->grown); `cut`: the window
 * was cut short. NULL: nothing to add.
 */
const char *survey_result_meaning(const struct survey_drill *result, bool cut);

/* Why a process cannot have probes, by what trace_add_process() returned just now. */
const char *survey_result_refusal(const struct trace *trace, int err);

/* Frees snapshot and stacks; the frames are the table's. */
void survey_result_clear(struct survey_drill *result);

#endif
