// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/keep/keep_asked.h"

#include <errno.h>
#include <stdio.h>

#include "user/base/log.h"
#include "user/base/parse.h"
#include "user/look/survey_process.h"

void keep_asked_note_build_id(struct kept *kept)
{
	const uint8_t *id;
	size_t size = target_build_id(kept->target, &id);

	format_hex(kept->build_id, sizeof(kept->build_id), id, size);
}

int keep_asked_each(const struct kept *all, struct history *history,
		    int (*visit)(void *ctx, const struct kept_process *p), void *ctx)
{
	const struct kept *kept, *next;
	int err = 0;

	HASH_ITER (hh, all, kept, next) {
		const struct history_process *p = history_find(history, kept->pid);
		const struct survey_process *data = p ? p->user_data : NULL;
		struct kept_process one = {
			.pid = kept->pid,
			.start_ticks = kept->start_ticks,
			.gated = kept->target != NULL,
			.since_ns = kept->since_ns,
		};

		if (!data || p->now.start_ticks != kept->start_ticks)
			continue;
		one.comm = p->now.comm;
		one.unit = *data->cgroup.unit ? data->cgroup.unit : NULL;
		one.container = *data->container.name ? data->container.name : NULL;
		one.pod = *data->cgroup.pod ? data->cgroup.pod : NULL;
		one.pod_name = *data->container.pod ? data->container.pod : NULL;
		one.build_id = *kept->build_id ? kept->build_id : NULL;
		one.reason = one.gated	     ? NULL
			     : kept->ended   ? "it has ended"
			     : *kept->reason ? kept->reason
					     : "its turn comes";
		err = visit(ctx, &one);
		if (err)
			break;
	}
	return err;
}

static int keep_asked_name(struct trace *trace, struct report *report)
{
	const struct snapshot *s = report->snapshot;
	int err = 0;

	for (size_t i = 0; i < s->stack_count && !err; i++) {
		struct stack_notes *notes = report_notes_to_fill(report, &s->stacks[i]);

		err = trace_name_stack(trace, s->target_id, s->stacks[i].id, &notes->frames,
				       &notes->frame_count);
	}
	return err;
}

int keep_asked_snapshot(struct trace *trace, struct target *target, struct report **out)
{
	struct snapshot *snapshot;
	struct report *report;
	int err = trace_snapshot(trace, target, &snapshot);

	if (err)
		return err;
	report = report_new(snapshot);
	err = report ? keep_asked_name(trace, report) : -ENOMEM;
	if (err) {
		report_free(report);
		return log_errno(err, "a snapshot of process %d", (int)target_pid(target));
	}
	*out = report;
	return 0;
}
