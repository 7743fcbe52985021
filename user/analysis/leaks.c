// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/leaks.h"

#include "user/base/util.h"

static struct amount leaks_of_stack(const struct snapshot *s, const struct stack *stack)
{
	static const enum verdict_class leaked[] = {VERDICT_DEFINITE, VERDICT_INDIRECT};
	struct amount sum = {0};

	if (s->verdict.state != VERDICT_TAKEN)
		return stack->suppressed ? sum : stack->live;
	for (size_t i = 0; i < ARRAY_SIZE(leaked); i++) {
		if (!(stack->suppressed & 1u << leaked[i]))
			amount_add(&sum, &stack->verdict[leaked[i]]);
	}
	return sum;
}

struct amount leaks_of(const struct snapshot *s)
{
	struct amount sum = {0};

	for (size_t i = 0; i < s->stack_count; i++) {
		const struct amount one = leaks_of_stack(s, &s->stacks[i]);

		amount_add(&sum, &one);
	}
	return sum;
}

void leaks_hide_others(struct snapshot *s)
{
	for (size_t i = 0; i < s->stack_count; i++) {
		if (!leaks_of_stack(s, &s->stacks[i]).count)
			s->stacks[i].hidden = true;
	}
}
