// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/report_merged.h"

#include <errno.h>
#include <stdlib.h>

/* A process of the recording. */
struct process {
	uint32_t target_id;
	bool ended;
	struct snapshot *now; /* in the report to come; NULL: none yet */
};

struct report_merged {
	struct merged *merged;
	merged_fn fn;
	void *ctx;
	struct process *processes;
	size_t count;
};

struct report_merged *report_merged_new(merged_fn fn, void *ctx)
{
	struct report_merged *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->fn = fn;
	r->ctx = ctx;
	r->merged = merged_new();
	if (!r->merged) {
		free(r);
		return NULL;
	}
	return r;
}

void report_merged_free(struct report_merged *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++)
		snapshot_free(r->processes[i].now);
	free(r->processes);
	merged_free(r->merged);
	free(r);
}

static struct process *process_of(struct report_merged *r, uint32_t target_id)
{
	struct process *grown;

	for (size_t i = 0; i < r->count; i++) {
		if (r->processes[i].target_id == target_id)
			return &r->processes[i];
	}
	grown = reallocarray(r->processes, r->count + 1, sizeof(*grown));
	if (!grown)
		return NULL;
	r->processes = grown;
	grown[r->count] = (struct process){.target_id = target_id};
	return &grown[r->count++];
}

static int report(struct report_merged *r, bool final)
{
	int err = merged_report(r->merged, final, r->fn, r->ctx);

	for (size_t i = 0; i < r->count; i++) {
		snapshot_free(r->processes[i].now);
		r->processes[i].now = NULL;
	}
	return err;
}

int report_merged_take(struct report_merged *r, struct snapshot *s)
{
	struct process *process = process_of(r, s->target_id);
	int err = process ? 0 : -ENOMEM;

	if (!err && process->now)
		err = report(r, false);
	if (!err && !s->exited && !s->execed) {
		process->now = s;
		return merged_add(r->merged, NULL, s);
	}
	if (!err) {
		process->ended = true;
		err = merged_add_ended(r->merged, s);
	}
	snapshot_free(s);
	return err;
}

/*
 * As while tracing: what has ended counts in a report that is the last of all processes, and not
 * when the recorder was killed before it.
 */
int report_merged_finish(struct report_merged *r)
{
	bool pending = false, living = false, final = false;

	for (size_t i = 0; i < r->count; i++) {
		const struct process *process = &r->processes[i];

		living |= !process->ended;
		pending |= process->now != NULL;
		final |= process->now && process->now->final;
	}
	if (pending)
		return report(r, final);
	return living ? 0 : report(r, true);
}
