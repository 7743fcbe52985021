// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/leaks.h"

static void add(struct amount *sum, struct amount part)
{
	sum->bytes += part.bytes;
	sum->count += part.count;
}

struct amount leaks_of_stack(const struct snapshot *s, const struct stack *stack)
{
	static const enum verdict_class leaked[] = {VERDICT_DEFINITE, VERDICT_INDIRECT};
	struct amount sum = {0};

	if (s->verdict.state != VERDICT_TAKEN)
		return stack->suppressed ? sum : stack->live;
	for (size_t i = 0; i < sizeof(leaked) / sizeof(leaked[0]); i++) {
		if (!(stack->suppressed & 1u << leaked[i]))
			add(&sum, stack->verdict[leaked[i]]);
	}
	return sum;
}

struct amount leaks_of(const struct snapshot *s)
{
	struct amount sum = {0};

	for (size_t i = 0; i < s->stack_count; i++)
		add(&sum, leaks_of_stack(s, &s->stacks[i]));
	return sum;
}

void leaks_hide_others(struct snapshot *s)
{
	for (size_t i = 0; i < s->stack_count; i++) {
		if (!leaks_of_stack(s, &s->stacks[i]).count)
			s->stacks[i].hidden = true;
	}
}
