// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/serve/profile_base.h"

#include <stdlib.h>

struct base_stack {
	uint64_t id;
	struct amount live, alloc;
};

struct profile_base {
	uint32_t target_id;
	uint64_t elapsed_ns;
	size_t count;
	struct base_stack stacks[]; /* by id */
};

static int base_compare(const void *a, const void *b)
{
	const struct base_stack *one = a, *other = b;

	return (one->id > other->id) - (one->id < other->id);
}

struct profile_base *profile_base_new(const struct report *report)
{
	const struct snapshot *s = report->snapshot;
	struct profile_base *base =
		malloc(sizeof(*base) + s->stack_count * sizeof(base->stacks[0]));

	if (!base)
		return NULL;
	base->target_id = s->target_id;
	base->elapsed_ns = s->elapsed_ns;
	base->count = s->stack_count;
	for (size_t i = 0; i < s->stack_count; i++)
		base->stacks[i] = (struct base_stack){
			.id = s->stacks[i].id, s->stacks[i].live, s->stacks[i].alloc};
	qsort(base->stacks, base->count, sizeof(base->stacks[0]), base_compare);
	return base;
}

void profile_base_free(struct profile_base *base)
{
	free(base);
}

size_t profile_base_bytes(const struct profile_base *base)
{
	return sizeof(*base) + base->count * sizeof(base->stacks[0]);
}

static void base_take_off(struct amount *amount, const struct amount *before)
{
	amount->bytes -= before->bytes;
	amount->count -= before->count;
}

bool profile_base_subtract(const struct profile_base *base, struct report *report)
{
	struct snapshot *s = (struct snapshot *)report->snapshot;

	if (s->target_id != base->target_id || s->elapsed_ns < base->elapsed_ns)
		return false;
	s->elapsed_ns -= base->elapsed_ns;
	for (size_t i = 0; i < s->stack_count; i++) {
		const struct base_stack key = {.id = s->stacks[i].id};
		const struct base_stack *before = bsearch(&key, base->stacks, base->count,
							  sizeof(base->stacks[0]), base_compare);

		if (!before)
			continue;
		base_take_off(&s->stacks[i].live, &before->live);
		base_take_off(&s->stacks[i].alloc, &before->alloc);
	}
	return true;
}
