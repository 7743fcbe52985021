// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What user/capture and user/blocks ask of a target, and what they are asked for. */
#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"
#include "user/blocks/block_ages.h"
#include "user/blocks/blocks.h"
#include "user/capture/capture.h"
#include "user/growth/growth.h"
#include "user/heap/heap_image.h"
#include "user/model/snapshot.h"
#include "user/stacks/slots.h"
#include "user/trace/exit_frames.h"
#include "user/trace/reader.h"

/* ---- what a capture asks ------------------------------------------------------------------ */

struct capture_host {
	struct trace *trace;
	struct target *target;
	const struct trace_moment *moment; /* NULL: nobody wants more of it */
};

static int host_counters(void *ctx, struct snapshot **snapshot)
{
	const struct capture_host *host = ctx;
	struct snapshot *now, *before = *snapshot;
	int err = reader_snapshot(host->trace, host->target, READER_NO_AGES, &now);

	if (err)
		return err;
	now->interval_ns = before->interval_ns ? now->interval_ns + before->interval_ns : 0;
	growth_hand_on(before, now);
	snapshot_free(before);
	*snapshot = now;
	return 0;
}

static int host_stopped(void *ctx, char reason[static REASON_MAX])
{
	const struct trace_moment *moment = ((const struct capture_host *)ctx)->moment;

	return moment ? moment->stopped(moment->ctx, reason) : 0;
}

static uint32_t *host_stacks_by_slot(void *ctx, const struct snapshot *snapshot, uint32_t *slots)
{
	const struct capture_host *host = ctx;

	return reader_stacks_by_slot(host->trace, host->target, snapshot, slots);
}

static int host_leave_out(void *ctx, pid_t leaver, struct heap_image *image)
{
	const struct capture_host *host = ctx;

	return exit_frames_leave_out(host->trace, host->target, leaver, image);
}

static bool host_all_counted(const struct trace *trace, const struct target *target)
{
	const struct trace_options *o = &trace->options;

	return target->whole && !target->tells && !o->sample_bytes && !o->min_size &&
	       o->max_size == UINT64_MAX && !o->providers.object;
}

/* ---- what is asked of a trace ------------------------------------------------------------- */

int trace_capture(struct trace *trace, struct target *target, uint64_t max_pause_ns,
		  const struct trace_moment *moment, struct snapshot **out,
		  struct heap_image **image)
{
	struct capture_host host = {.trace = trace, .target = target, .moment = moment};
	const struct capture_target captured = {
		.id = target->id,
		.pid = target->pid,
		.kept = &target->captured,
		.tells = target->tells,
		.all_counted = host_all_counted(trace, target),
		.ctx = &host,
		.counters = host_counters,
		.stopped = host_stopped,
		.stacks_by_slot = host_stacks_by_slot,
		.leave_out = host_leave_out,
	};
	char reason[REASON_MAX] = "";
	struct snapshot *snapshot;
	int err = trace_snapshot(trace, target, &snapshot);

	*image = NULL;
	if (err)
		return err;
	/* Afterwards a target that was held at its end may be gone. */
	trace_read_memory(trace, target, snapshot);
	if (target_has_ended(target))
		err = refuse(reason, -ESRCH, "it has ended, and its memory with it");
	else
		err = capture_take(trace->captures, &captured, &target->hold, max_pause_ns,
				   &snapshot, image, reason);
	if (err) {
		snapshot->verdict.state = VERDICT_REFUSED;
		refuse(snapshot->verdict.reason, err, "%s", reason);
	}
	*out = snapshot;
	return 0;
}

int trace_stack_ages(struct trace *trace, const struct snapshot *snapshot,
		     const struct stack *stack, struct stack_ages *out)
{
	const struct target *target = target_by_id(trace, snapshot->target_id);
	struct block_ages_of of = {
		.target_id = snapshot->target_id,
		.stack = (uint32_t)(stack - snapshot->stacks),
	};
	_cleanup_free_ uint32_t *by_slot = NULL;

	*out = (struct stack_ages){0};
	if (!target)
		return -ESRCH;
	of.by_slot = by_slot = reader_stacks_by_slot(trace, target, snapshot, &of.slots);
	return by_slot ? block_ages_read(trace->blocks, trace->slots, &of, out) : -ENOMEM;
}
