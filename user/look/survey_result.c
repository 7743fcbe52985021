// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/look/survey_result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/look/history.h"
#include "user/analysis/rank.h"
#include "user/base/util.h"

/* Growth that is not found among the blocks: less than this part of it is. */
#define EXPLAINED_PART 4
/* Stacks that are named to find those that are shown. */
#define SPARE 4
/* A young block counts by this part of an old one. */
#define YOUNG_WEIGHT 1024

void survey_result_clear(struct survey_drill *result)
{
	free((void *)result->shown);
	report_free(result->report);
	*result = (struct survey_drill){0};
}

int survey_result_take(struct trace *trace, struct target *target, struct survey_drill *out)
{
	struct snapshot *s;
	int err = trace_snapshot(trace, target, &s);

	if (err)
		return err;
	out->report = report_new(s);
	if (!out->report)
		return -ENOMEM;
	out->snapshot = s;
	/* All that is live came in the window: the change since its beginning. */
	out->snapshot->interval_ns = out->snapshot->elapsed_ns;
	out->window_ns = out->snapshot->elapsed_ns;
	return 0;
}

/* The module that a frame is in, "" when it is not known. */
static const char *survey_result_module_at(const struct stack_notes *notes, size_t frame)
{
	const char *module = frame < notes->frame_count ? notes->frames[frame]->module : NULL;

	return module ? module : "";
}

static bool survey_result_is_mapping(const struct stack_notes *notes)
{
	const char *function = notes->frame_count ? notes->frames[0]->function : NULL;

	return function && !strncmp(function, "mmap", 4);
}

/*
 * Memory that an allocator maps for itself (an arena, a chunk, much of it never touched) is
 * nobody's leak. Its blocks are listed themselves. Under sampling not all calls that it came from
 * are known. So the module that called mmap tells it.
 */
static bool survey_result_is_allocators_own(const struct report *r, const struct stack *stack,
					    const struct stack *const *all, size_t count)
{
	const struct stack_notes *notes = report_notes(r, stack);
	const char *caller = survey_result_module_at(notes, 1);

	if (!survey_result_is_mapping(notes) || !*caller)
		return false;
	if (!strcmp(caller, survey_result_module_at(notes, 0)))
		return true;
	for (size_t i = 0; i < count; i++) {
		const struct stack_notes *other = report_notes(r, all[i]);

		if (!survey_result_is_mapping(other) &&
		    !strcmp(caller, survey_result_module_at(other, 0)))
			return true;
	}
	return false;
}

/*
 * Cuts the allocators' own mappings out of the list and out of the sum; returns how many stacks are
 * left.
 */
static size_t survey_result_leave_out_own(struct survey_drill *result, const struct stack **top,
					  size_t count, bool *own)
{
	struct snapshot *s = result->snapshot;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++)
		own[i] = survey_result_is_allocators_own(result->report, top[i], top, count);
	for (size_t i = 0; i < count; i++) {
		struct stack *stack = &s->stacks[top[i] - s->stacks];

		if (!own[i]) {
			top[kept++] = top[i];
			continue;
		}
		s->live.bytes -= stack->live.bytes;
		s->live.count -= stack->live.count;
		/* Whoever adds up all stacks is to find the same. */
		s->alloc.bytes -= stack->alloc.bytes;
		s->alloc.count -= stack->alloc.count;
		s->free.bytes -= stack->free.bytes;
		s->free.count -= stack->free.count;
		stack->live = stack->alloc = stack->free = (struct amount){0};
	}
	return kept;
}

/* The frames outlive the trace. 0 or -errno. */
static int survey_result_name_and_keep(struct trace *trace, struct target *target,
				       struct frame_table *frames, struct report *report,
				       const struct stack *stack)
{
	struct stack_notes *notes = report_notes_to_fill(report, stack);
	int err = trace_name_stack(trace, target_number(target), stack->id, &notes->frames,
				   &notes->frame_count);

	return err ?: frame_table_keep(frames, &notes->frames, &notes->frame_count);
}

int survey_result_name(struct trace *trace, struct target *target, struct frame_table *frames,
		       size_t max, struct survey_drill *result)
{
	struct snapshot *s = result->snapshot;
	size_t room = s->stack_count < SPARE * max ? s->stack_count : SPARE * max, n;
	const struct stack **top = calloc(room + 1, sizeof(struct stack *));
	_cleanup_free_ bool *own = calloc(room + 1, sizeof(*own));
	int err = 0;

	result->shown = top;
	if (!top || !own)
		return -ENOMEM;
	/* By what has been kept for a while; what has not been is ranked below it, not left out. */
	for (size_t i = 0; i < s->stack_count; i++) {
		struct stack *stack = &s->stacks[i];

		stack->older.bytes += stack->live.bytes / YOUNG_WEIGHT;
		stack->older.count += stack->live.count != 0;
	}
	n = rank_top(result->report, RANK_LIVE, top, room);
	for (size_t i = 0; i < n && !err; i++)
		err = survey_result_name_and_keep(trace, target, frames, result->report, top[i]);
	if (err)
		return err;
	n = survey_result_leave_out_own(result, top, n, own);
	result->shown_count = n < max ? n : max;
	return 0;
}

int survey_result_name_all(struct trace *trace, struct target *target, struct frame_table *frames,
			   struct survey_drill *result)
{
	int err = 0;

	for (size_t i = 0; i < result->snapshot->stack_count && !err; i++)
		err = survey_result_name_and_keep(trace, target, frames, result->report,
						  &result->snapshot->stacks[i]);
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

const char *survey_result_refusal(const struct trace *trace, int err)
{
	switch (err) {
	case -ENOENT:
		if (trace_refused_go(trace))
			return "no probes: " TRACE_GO_REASON
			       "; its own net/http/pprof says who allocates";
		return "no probes: no allocator was found in it";
	case -EOPNOTSUPP:
		return "no probes: it runs under valgrind, or is a 32-bit or foreign program";
	default:
		return "no probes: they could not be placed";
	}
}
