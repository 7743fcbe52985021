// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/leaks.h"

#include "user/base/util.h"

static struct amount leaks_of_stack(const struct report *r, size_t number)
{
	static const enum verdict_class leaked[] = {VERDICT_DEFINITE, VERDICT_INDIRECT};
	const struct stack *stack = &r->snapshot->stacks[number];
	unsigned suppressed = r->notes[number].suppressed;
	struct amount sum = {0};

	if (r->snapshot->verdict.state != VERDICT_TAKEN)
		return suppressed ? sum : stack->live;
	for (size_t i = 0; i < ARRAY_SIZE(leaked); i++) {
		if (!(suppressed & 1u << leaked[i]))
			amount_add(&sum, &stack->verdict[leaked[i]]);
	}
	return sum;
}

struct amount leaks_of(const struct report *r)
{
	struct amount sum = {0};

	for (size_t i = 0; i < r->snapshot->stack_count; i++) {
		const struct amount one = leaks_of_stack(r, i);

		amount_add(&sum, &one);
	}
	return sum;
}

void leaks_find_hanging(struct report *r)
{
	const struct snapshot *s = r->snapshot;

	if (s->verdict.state != VERDICT_TAKEN)
		return;
	for (size_t i = 0; i < s->stack_count; i++) {
		if (s->stacks[i].kept.count && r->notes[i].suppressed & 1u << VERDICT_DEFINITE)
			return;
	}
	for (size_t i = 0; i < s->stack_count; i++)
		r->notes[i].hangs = stack_only_hangs(&s->stacks[i]);
}

void leaks_hide_others(struct report *r)
{
	for (size_t i = 0; i < r->snapshot->stack_count; i++) {
		if (!leaks_of_stack(r, i).count)
			r->notes[i].hidden = true;
	}
}
