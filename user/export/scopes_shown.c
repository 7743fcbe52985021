// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/scopes_shown.h"

#include <stdlib.h>
#include <string.h>

const struct scope *scope_of_stack(const struct snapshot *snapshot, const struct stack *stack)
{
	return stack->scope && stack->scope <= snapshot->scopes.count
		       ? &snapshot->scopes.items[stack->scope - 1]
		       : NULL;
}

static int scopes_by_rank(const void *a, const void *b)
{
	const struct scope *x = *(const struct scope *const *)a;
	const struct scope *y = *(const struct scope *const *)b;
	const uint64_t keys[][2] = {
		{x->live.bytes, y->live.bytes},
		{x->kept.bytes, y->kept.bytes},
		{x->calls, y->calls},
	};
	int names;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		if (keys[i][0] != keys[i][1])
			return keys[i][0] > keys[i][1] ? -1 : 1;
	}
	names = strcmp(x->function, y->function);
	return names ? names : strcmp(x->tag ?: "", y->tag ?: "");
}

const struct scope **scopes_ranked(const struct snapshot *snapshot)
{
	size_t count = snapshot->scopes.count;
	const struct scope **ranked = count ? calloc(count, sizeof(*ranked)) : NULL;

	if (!ranked)
		return NULL;
	for (size_t i = 0; i < count; i++)
		ranked[i] = &snapshot->scopes.items[i];
	qsort(ranked, count, sizeof(*ranked), scopes_by_rank);
	return ranked;
}

void json_put_scope_of(struct json *to, const struct snapshot *s, const struct stack *stack)
{
	const struct scope *scope = scope_of_stack(s, stack);

	if (!scope)
		return;
	json_text(to, "scope", scope->function);
	json_text(to, "scope_tag", scope->tag);
}
