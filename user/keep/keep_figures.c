// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/keep/keep_figures.h"

#include <stdlib.h>

#include "user/base/log.h"
#include "user/keep/keep_guards.h"

void keep_figures_read(struct trace *trace, struct target *target,
		       struct suppressions *suppressions, uint64_t since_ns,
		       struct survey_process *data)
{
	struct target_samples samples = trace_target_samples(trace, target);

	keep_figures_forget(data);
	data->kept = (struct survey_kept){
		.sampled = true,
		.since_ns = since_ns,
		.samples = samples.all,
		.live_samples = samples.live,
		.live_bytes = samples.live_bytes,
		.error_bytes = samples.error_bytes,
	};
	keep_guards_read(trace, target, suppressions, data);
}

/* The target's own go with it. */
static int keep_figures_keep_frames(struct survey_kept *kept, struct frame_table *frames)
{
	int err = 0;

	for (size_t i = 0; i < kept->bad_access_count && !err; i++) {
		for (int call = 0; call < MISUSE_CALLS && !err; call++) {
			struct reported_call *c = &kept->bad_accesses[i].calls[call];

			if (c->frames)
				err = frame_table_keep(frames, &c->frames, &c->frame_count);
		}
	}
	return err;
}

void keep_figures_read_last(struct trace *trace, struct target *target,
			    struct suppressions *suppressions, uint64_t since_ns,
			    struct frame_table *frames, struct survey_process *data)
{
	trace_sum_live_of(trace, target);
	keep_figures_read(trace, target, suppressions, since_ns, data);
	data->kept_last = true;
	if (!keep_figures_keep_frames(&data->kept, frames))
		return;
	/* Some point to what goes. */
	log_debug("process %d: its last bad accesses are counted only", target_pid(target));
	free(data->bad_accesses);
	data->bad_accesses = data->kept.bad_accesses = NULL;
	data->kept.bad_accesses_left_out += data->kept.bad_access_count;
	data->kept.bad_access_count = 0;
}

void keep_figures_stand(struct survey_process *data, const char *reason)
{
	if (!data->kept_last)
		keep_figures_forget(data);
	data->kept.sampled = false;
	data->kept.reason = reason;
	data->kept.guards.state.on = false;
}

void keep_figures_set_aside(const struct history_process *process)
{
	struct survey_process *data = process ? process->user_data : NULL;

	if (!data || !data->kept_last)
		return;
	/* It was sampled to its end. */
	if (process->ended && data->kept.sampled)
		return;
	if (guard_figures_bad(&data->kept.guards))
		keep_figures_stand(data, process->ended ? "it had been given up before it ended"
							: "no --keep names it any more");
	else
		keep_figures_forget(data);
}

void keep_figures_forget(struct survey_process *data)
{
	free(data->bad_accesses);
	data->bad_accesses = NULL;
	data->kept = (struct survey_kept){0};
	data->kept_last = data->kept_counted = false;
}
