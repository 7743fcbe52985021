// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/session/merged.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "user/analysis/merge.h"
#include "user/base/util.h"
#include "user/model/frame_table.h"

struct program {
	struct snapshot *name;	       /* without stacks: tells which program it is */
	struct report *ended;	       /* sum of the ended processes; NULL: none */
	const struct report **members; /* living processes in the report to come */
	size_t count, room;
	struct program *next;
};

struct merged {
	struct program *programs;
	struct frame_table *frames;    /* of ended processes: the trace forgets its own */
	const struct program *current; /* while it is reported */
};

struct merged *merged_new(void)
{
	struct merged *merged = calloc(1, sizeof(*merged));

	if (!merged)
		return NULL;
	merged->frames = frame_table_new();
	if (!merged->frames) {
		free(merged);
		return NULL;
	}
	return merged;
}

static void merged_program_free(struct program *program)
{
	snapshot_free(program->name);
	report_free(program->ended);
	free(program->members);
	free(program);
}

void merged_free(struct merged *merged)
{
	if (!merged)
		return;
	while (merged->programs) {
		struct program *next = merged->programs->next;

		merged_program_free(merged->programs);
		merged->programs = next;
	}
	frame_table_free(merged->frames);
	free(merged);
}

/* NULL when out of memory. */
static struct program *merged_program_of(struct merged *merged, const struct snapshot *s)
{
	struct program *program;

	for (program = merged->programs; program; program = program->next) {
		if (merge_same_program(program->name, s))
			return program;
	}
	program = calloc(1, sizeof(*program));
	if (!program)
		return NULL;
	program->name = calloc(1, sizeof(*program->name));
	if (!program->name) {
		merged_program_free(program);
		return NULL;
	}
	program->name->target_id = s->target_id;
	program->name->pid = s->pid;
	memcpy(program->name->comm, s->comm, sizeof(s->comm));
	LL_APPEND(merged->programs, program);
	return program;
}

int merged_add(struct merged *merged, const struct report *now)
{
	struct program *program = merged_program_of(merged, now->snapshot);

	if (!program)
		return -ENOMEM;
	if (!RESERVE_ITEM(program->members, program->count, program->room, 8))
		return -ENOMEM;
	program->members[program->count++] = now;
	return 0;
}

/* Calls kept already are found again. */
static int merged_keep_calls(struct merged *merged, struct report *sum)
{
	struct misuse_list *list = &sum->misuses[MISUSE_BY_GUARD];
	int err = 0;

	for (size_t i = 0; i < list->count; i++) {
		for (int call = 0; call < MISUSE_CALLS && !err; call++) {
			struct reported_call *c = &list->items[i].calls[call];

			if (c->frames)
				err = frame_table_keep(merged->frames, &c->frames, &c->frame_count);
		}
	}
	return err;
}

/*
 * For a sum that begins with the process that has just ended: its stacks still have the trace's
 * frames.
 */
static int merged_keep_frames(struct merged *merged, struct report *sum)
{
	int err = 0;

	for (size_t i = 0; i < sum->snapshot->stack_count && !err; i++) {
		if (sum->snapshot->stacks[i].index == 0)
			err = frame_table_keep(merged->frames, &sum->notes[i].frames,
					       &sum->notes[i].frame_count);
	}
	return err ?: merged_keep_calls(merged, sum);
}

int merged_add_ended(struct merged *merged, const struct report *last)
{
	struct program *program = merged_program_of(merged, last->snapshot);
	const struct report *both[] = {last, program ? program->ended : NULL};
	struct report *sum;
	int err = program ? merge_reports(both, both[1] ? 2 : 1, NULL, &sum) : -ENOMEM;

	if (err)
		return err;
	err = merged_keep_frames(merged, sum);
	if (err) {
		report_free(sum);
		return err;
	}
	report_free(program->ended);
	program->ended = sum;
	return 0;
}

static int merged_report_program(struct merged *merged, struct program *program, bool final,
				 merged_fn fn, void *ctx)
{
	size_t count = program->count + (final && program->ended);
	_cleanup_free_ const struct report **list = calloc(count + 1, sizeof(struct report *));
	/* The order of snapshots is chance. */
	const struct merge_identity as = {program->name->target_id, program->name->pid, final};
	struct report *sum;
	int err;

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < program->count; i++)
		list[i] = program->members[i];
	if (final && program->ended)
		list[program->count] = program->ended;
	if (!count)
		return 0;
	err = merge_reports(list, count, &as, &sum);
	if (err)
		return err;
	merged->current = program;
	err = fn(ctx, sum);
	merged->current = NULL;
	return err;
}

int merged_report(struct merged *merged, bool final, merged_fn fn, void *ctx)
{
	struct program *program;
	int err = 0;

	for (program = merged->programs; program; program = program->next) {
		if (!err)
			err = merged_report_program(merged, program, final, fn, ctx);
		program->count = 0;
	}
	return err;
}

bool merged_member(const struct merged *merged, const struct stack *stack, uint32_t *target_id)
{
	const struct program *program = merged->current;

	if (!program || stack->index >= program->count)
		return false;
	*target_id = program->members[stack->index]->snapshot->target_id;
	return true;
}
