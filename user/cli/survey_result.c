// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/cli/survey_result.h"

#include <errno.h>
#include <stdlib.h>

#include "user/analysis/history.h"
#include "user/analysis/rank.h"

/* Growth that is not found among the blocks: less than this part of it is. */
#define EXPLAINED_PART 4

void survey_result_clear(struct survey_drill *result)
{
	free((void *)result->shown);
	snapshot_free(result->snapshot);
	*result = (struct survey_drill){0};
}

int survey_result_take(struct trace *trace, struct target *target, struct survey_drill *out)
{
	int err = trace_snapshot(trace, target, &out->snapshot);

	if (err)
		return err;
	rank_delta(out->snapshot, NULL);
	rank_total(out->snapshot);
	/* All that is live came in the window: the change since its beginning. */
	out->snapshot->interval_ns = out->snapshot->elapsed_ns;
	out->window_ns = out->snapshot->elapsed_ns;
	return 0;
}

/* Frames that do not go with the trace. */
static int keep_frames(struct frame_table *frames, struct stack *stack)
{
	uint32_t id;
	int err;

	if (!stack->frames || !stack->frame_count)
		return 0;
	err = frame_table_stack(frames, stack->frames, stack->frame_count, &id);
	if (!err)
		stack->frames = frame_table_stack_at(frames, id, &stack->frame_count);
	return err;
}

int survey_result_name(struct trace *trace, struct target *target, struct frame_table *frames,
		       size_t top_max, struct survey_drill *result)
{
	struct snapshot *s = result->snapshot;
	size_t room = top_max < s->stack_count ? top_max : s->stack_count;
	struct stack **top = calloc(room ? room : 1, sizeof(struct stack *));
	bool any_older = false;
	size_t n;
	int err = 0;

	if (!top)
		return -ENOMEM;
	for (size_t i = 0; i < s->stack_count; i++)
		any_older |= s->stacks[i].older.bytes > 0;
	for (size_t i = 0; i < s->stack_count && !any_older; i++)
		s->stacks[i].older = s->stacks[i].live;
	n = rank_top(s, RANK_LIVE, top, room);
	for (size_t i = 0; i < n && !err; i++) {
		err = trace_symbolize(trace, target, top[i]);
		if (!err)
			err = keep_frames(frames, top[i]);
	}
	result->shown = (const struct stack *const *)top;
	result->shown_count = n;
	return err;
}

const char *survey_result_meaning(const struct survey_drill *result, bool cut)
{
	uint64_t live = result->snapshot ? result->snapshot->live.bytes : 0;

	if (result->grown > HISTORY_FLOOR_BYTES && live * EXPLAINED_PART < (uint64_t)result->grown)
		return "it grew by more than it allocated and kept: fragmentation, an allocator "
		       "of its own, or other mappings";
	if (cut)
		return "the window was cut short: the probes' budget was used up";
	if (!result->snapshot || !result->snapshot->live.count)
		return "it kept nothing of what it allocated while probes were on";
	return NULL;
}
