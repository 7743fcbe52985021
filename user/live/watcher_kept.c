// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The watcher's memory of a moment: the last verdict, the mark. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/live/watcher_internal.h"

struct report *watcher_report(const struct watcher *w)
{
	return w->target_id ? pipeline_last(session_pipeline(w->session), w->target_id) : NULL;
}

/* ---- the verdict -------------------------------------------------------------------------- */

void judged_release(struct judged *judged)
{
	for (size_t i = 0; i < judged->count; i++)
		free(judged->stacks[i].held_by);
	free(judged->stacks);
	id_map_free(&judged->index);
	*judged = (struct judged){0};
}

const struct judged_stack *judged_find(const struct judged *judged, uint64_t stack_id)
{
	uint32_t at;

	return judged->time_ns && id_map_get(&judged->index, stack_id, &at) ? &judged->stacks[at]
									    : NULL;
}

uint64_t judged_lost(const struct amount classes[static VERDICT_CLASSES])
{
	return classes[VERDICT_DEFINITE].bytes + classes[VERDICT_INDIRECT].bytes;
}

static int judged_add(struct judged *judged, const struct stack *stack)
{
	struct judged_stack *to;

	if (!RESERVE_ITEM(judged->stacks, judged->count, judged->room, 64) ||
	    id_map_put(&judged->index, stack->id, (uint32_t)judged->count))
		return -ENOMEM;
	to = &judged->stacks[judged->count++];
	memcpy(to->classes, stack->verdict, sizeof(to->classes));
	to->held_by = stack->held_by ? strdup(stack->held_by) : NULL;
	return stack->held_by && !to->held_by ? -ENOMEM : 0;
}

int judged_take(struct judged *judged, const struct report *report)
{
	const struct snapshot *s = report->snapshot;
	int err = 0;

	judged_release(judged);
	judged->time_ns = s->time_ns;
	memcpy(judged->classes, s->verdict.classes, sizeof(judged->classes));
	for (size_t i = 0; !err && i < s->stack_count; i++) {
		if (s->stacks[i].live.count)
			err = judged_add(judged, &s->stacks[i]);
	}
	return err;
}

/* ---- the mark ----------------------------------------------------------------------------- */

void marked_release(struct marked *marked)
{
	free(marked->bytes);
	id_map_free(&marked->index);
	*marked = (struct marked){0};
}

int marked_take(struct marked *marked, const struct snapshot *snapshot)
{
	int err = 0;

	marked_release(marked);
	marked->bytes = calloc(snapshot->stack_count + 1, sizeof(*marked->bytes));
	if (!marked->bytes)
		return -ENOMEM;
	for (size_t i = 0; !err && i < snapshot->stack_count; i++) {
		const struct stack *stack = &snapshot->stacks[i];

		marked->bytes[i] = stack->live.bytes;
		err = id_map_put(&marked->index, stack->id, (uint32_t)i);
	}
	if (err) {
		marked_release(marked);
		return err;
	}
	marked->count = snapshot->stack_count;
	marked->time_ns = snapshot->time_ns;
	marked->live = snapshot->live.bytes;
	return 0;
}

uint64_t marked_bytes(const struct marked *marked, uint64_t stack_id)
{
	uint32_t at;

	return id_map_get(&marked->index, stack_id, &at) ? marked->bytes[at] : 0;
}
