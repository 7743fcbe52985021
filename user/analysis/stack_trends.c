// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/stack_trends.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "user/base/hash.h"
#include "user/analysis/rank.h"
#include "user/analysis/trend_series.h"
#include "user/base/util.h"

#define MAX_FOLLOWED 1024
/*
 * The counters are exact, so any growth is growth; from here on it is worth a word. Estimates must
 * exceed their own error.
 */
#define FLOOR_BYTES  4096
#define FLOOR_ERRORS 3

struct followed {
	uint64_t id; /* of the stack; the key */
	uint64_t last_bytes;
	struct trend_series *series;
	bool judged; /* judgement holds, for this floor */
	uint64_t floor;
	struct trend judgement;
	UT_hash_handle hh;
};

struct stack_trends {
	struct followed *stacks;
};

struct stack_trends *stack_trends_new(void)
{
	return calloc(1, sizeof(struct stack_trends));
}

static void stack_trends_forget(struct stack_trends *trends, struct followed *stack)
{
	HASH_DEL(trends->stacks, stack);
	trend_series_free(stack->series);
	free(stack);
}

void stack_trends_free(struct stack_trends *trends)
{
	struct followed *stack, *next;

	if (!trends)
		return;
	HASH_ITER (hh, trends->stacks, stack, next)
		stack_trends_forget(trends, stack);
	free(trends);
}

static struct followed *stack_trends_follow(struct stack_trends *trends, uint64_t id)
{
	struct followed *stack = calloc(1, sizeof(*stack));

	if (!stack)
		return NULL;
	stack->id = id;
	stack->series = trend_series_new();
	if (!stack->series) {
		free(stack);
		return NULL;
	}
	HASH_ADD(hh, trends->stacks, id, sizeof(stack->id), stack);
	if (stack->hh.tbl)
		return stack;
	trend_series_free(stack->series);
	free(stack);
	return NULL;
}

/*
 * The live bytes that a stack needs to be followed. Makes room by forgetting stacks that have less.
 */
static int stack_trends_make_room(struct stack_trends *trends, const struct report *report,
				  uint64_t *least)
{
	_cleanup_free_ const struct stack **top = NULL;
	struct followed *stack, *next;
	size_t n;

	*least = 1;
	if (report->snapshot->stack_count <= MAX_FOLLOWED)
		return 0;
	top = calloc(MAX_FOLLOWED, sizeof(struct stack *));
	if (!top)
		return -ENOMEM;
	n = rank_top(report, RANK_LIVE, top, MAX_FOLLOWED);
	if (n == MAX_FOLLOWED)
		*least = top[n - 1]->live.bytes;
	HASH_ITER (hh, trends->stacks, stack, next) {
		if (stack->last_bytes < *least && HASH_COUNT(trends->stacks) > MAX_FOLLOWED / 2)
			stack_trends_forget(trends, stack);
	}
	return 0;
}

int stack_trends_update(struct stack_trends *trends, const struct report *report)
{
	const struct snapshot *snapshot = report->snapshot;
	uint64_t least;
	int err = stack_trends_make_room(trends, report, &least);

	for (size_t i = 0; !err && i < snapshot->stack_count; i++) {
		const struct stack *stack = &snapshot->stacks[i];
		struct followed *known;

		HASH_FIND(hh, trends->stacks, &stack->id, sizeof(stack->id), known);
		if (!known) {
			if (stack->live.bytes < least || HASH_COUNT(trends->stacks) >= MAX_FOLLOWED)
				continue;
			known = stack_trends_follow(trends, stack->id);
		}
		if (!known)
			return -ENOMEM;
		known->last_bytes = stack->live.bytes;
		err = trend_add(known->series, snapshot->elapsed_ns, stack->live.bytes);
		/* In a long watch not every sample changes the judgement. */
		known->judged &= !trend_changed(known->series);
	}
	return err;
}

void stack_trends_judge(struct stack_trends *trends, struct report *report,
			const struct stack *stack)
{
	uint64_t floor = FLOOR_BYTES + saturate_u64(FLOOR_ERRORS * stack->error_bytes);
	struct followed *known;

	HASH_FIND(hh, trends->stacks, &stack->id, sizeof(stack->id), known);
	if (!known)
		return;
	if (!known->judged || known->floor != floor) {
		trend_judge(known->series, floor, &known->judgement);
		known->floor = floor;
		known->judged = true;
	}
	report_notes_to_fill(report, stack)->trend = known->judgement;
}

void stack_trends_judge_all(struct stack_trends *trends, struct report *report)
{
	for (size_t i = 0; i < report->snapshot->stack_count; i++)
		stack_trends_judge(trends, report, &report->snapshot->stacks[i]);
}
