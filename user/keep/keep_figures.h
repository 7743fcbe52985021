/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is known of a process that is kept: while it is sampled, when that ends, and afterwards. Part of the keeper. */
#ifndef MEMLEAKBPF_KEEP_KEEP_FIGURES_H
#define MEMLEAKBPF_KEEP_KEEP_FIGURES_H

#include "user/analysis/suppress.h"
#include "user/model/frame_table.h"
#include "user/look/survey_process.h"
#include "user/trace/trace.h"

/* Fills in data->kept, as of the last trace_sum_live(); `since_ns` is for how long it has been sampled. NULL: no suppressions. */
void keep_figures_read(struct trace *trace, struct target *target,
		       struct suppressions *suppressions, uint64_t since_ns,
		       struct survey_process *data);

/*
 * The same for the last time, all that has been until now, before the target goes: amid callbacks.ended, or before
 * trace_remove_target(). Functions' names are kept in `frames`. What has no memory is left out, but counted.
 */
void keep_figures_read_last(struct trace *trace, struct target *target,
			    struct suppressions *suppressions, uint64_t since_ns,
			    struct frame_table *frames, struct survey_process *data);

/* It is not sampled, for that reason (a clause, which must last as long): what it had shown before stays. */
void keep_figures_stand(struct survey_process *data, const char *reason);

/*
 * `process` is not to be kept any more, or has ended: what it had shown last stays, else nothing of it. NULL: it is not
 * known any more.
 */
void keep_figures_set_aside(const struct history_process *process);

/* Nothing of what it had shown is to be told any more. */
void keep_figures_forget(struct survey_process *data);

#endif
