// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/snapshot.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/text.h"

static const char *const end_names[] = {
	[STACK_END_COMPLETE] = "complete",     [STACK_END_TRUNCATED] = "truncated",
	[STACK_END_NO_ROWS] = "no_rows",       [STACK_END_NO_MAPPING] = "no_mapping",
	[STACK_END_READ_FAULT] = "read_fault", [STACK_END_BAD_CFA] = "bad_cfa",
	[STACK_END_BAD_PC] = "bad_pc",	       [STACK_END_UNSUPPORTED] = "unsupported",
};
_Static_assert(sizeof(end_names) / sizeof(end_names[0]) == STACK_ENDS, "a name for every end");

void snapshot_free(struct snapshot *snapshot)
{
	if (!snapshot)
		return;
	text_list_free(snapshot->cmdline);
	free(snapshot->maps);
	for (size_t i = 0; i < snapshot->stack_count; i++) {
		free(snapshot->stacks[i].held_by);
		free(snapshot->stacks[i].contents);
	}
	free(snapshot->growth.where);
	for (int i = 0; i < MISUSE_FINDERS; i++)
		free(snapshot->misuses[i].items);
	scopes_list_release(&snapshot->scopes);
	free(snapshot->figures);
	free(snapshot->stacks);
	free(snapshot);
}

void snapshot_to_peak(struct snapshot *s)
{
	uint64_t later = s->time_ns > s->peak.captured_ns ? s->time_ns - s->peak.captured_ns : 0;

	if (!s->figures_kept.peak || !s->peak.captured_ns)
		return;
	for (size_t i = 0; i < s->stack_count; i++) {
		struct stack *stack = &s->stacks[i];
		struct stack was = {.id = stack->id,
				    .truncated = stack->truncated,
				    .end = stack->end,
				    .frames = stack->frames,
				    .frame_count = stack->frame_count,
				    .index = stack->index,
				    .figures = stack->figures};

		was.error_bytes = stack->figures->at_peak_error;
		was.live = was.alloc = was.older = stack->figures->at_peak;
		free(stack->held_by);
		free(stack->contents);
		*stack = was;
		*stack->figures = (struct stack_figures){.at_peak = was.live,
							 .at_peak_error = was.error_bytes,
							 .peak_bytes = stack->figures->peak_bytes};
	}
	/* Each stack's scope is still known, but no scope's figures. */
	s->scoped = false;
	s->figures_kept = (struct figures_kept){.peak = true};
	s->time_ns = s->peak.captured_ns;
	s->elapsed_ns -= later < s->elapsed_ns ? later : s->elapsed_ns;
	s->interval_ns = 0;
	s->final = s->exited = s->execed = false;
	s->verdict = (struct verdict){0};
	s->memory = (struct memory_use){0};
	s->arenas = (struct amount){0};
	s->growth.untraced = 0;
	snapshot_total(s);
}

int snapshot_add_figures(struct snapshot *s)
{
	s->figures = calloc(s->stack_count ? s->stack_count : 1, sizeof(*s->figures));
	if (!s->figures)
		return -ENOMEM;
	for (size_t i = 0; i < s->stack_count; i++)
		s->stacks[i].figures = &s->figures[i];
	return 0;
}

void snapshot_total(struct snapshot *snapshot)
{
	snapshot->live = snapshot->alloc = snapshot->free = (struct amount){0};
	for (size_t i = 0; i < snapshot->stack_count; i++)
		snapshot_count(snapshot, &snapshot->stacks[i]);
}

/* It may be asked with a number from a recording of a newer version. */
const char *stack_end_name(enum stack_end end)
{
	return (unsigned)end < STACK_ENDS ? end_names[end] : "unknown";
}

void snapshot_ends(const struct snapshot *s, struct stack_ends *out)
{
	*out = (struct stack_ends){0};
	for (size_t i = 0; i < s->stack_count; i++) {
		const struct stack *stack = &s->stacks[i];
		size_t end =
			stack->id && (unsigned)stack->end < STACK_ENDS ? stack->end : STACK_ENDS;

		out->stacks[end]++;
		out->allocs[end] += stack->alloc.count;
	}
}

const char *snapshot_end_name(size_t index)
{
	return index < STACK_ENDS ? end_names[index] : "not_recorded";
}

const char *attached_by_name(uint64_t attached)
{
	static const char *const names[ATTACHED_BY_KINDS] = {
		[ATTACHED_BY_SESSION] = "session", [ATTACHED_BY_MULTI] = "multi",
		[ATTACHED_BY_SINGLE] = "single",   [ATTACHED_BY_USDT] = "usdt",
		[ATTACHED_BY_GATE] = "gate",	   [ATTACHED_BY_GATE_AND_PROBES] = "gate+probes",
	};

	return attached < ATTACHED_BY_KINDS ? names[attached] : NULL;
}
