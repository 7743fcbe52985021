// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/figures/size_rows.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/config.h"
#include "user/base/hash.h"
#include "user/base/util.h"
#include "user/model/snapshot.h"
#include "user/figures/figures_internal.h"
#include "user/stacks/stacks.h"

struct size_row_key {
	uint64_t size;
	uint32_t stack;
	uint32_t pad;
};

struct size_row {
	struct size_row_key key;
	uint64_t weight; /* blocks, in 2^-16 */
	uint64_t seen;	 /* blocks that were recorded */
	uint64_t oldest_ns;
	UT_hash_handle hh;
};

int size_rows_add(struct size_rows *rows, uint32_t stack, uint64_t size, uint64_t weight,
		  uint64_t age_ns)
{
	const struct size_row_key key = {.size = size, .stack = stack};
	struct size_row *row;

	HASH_FIND(hh, rows->rows, &key, sizeof(key), row);
	if (!row) {
		row = calloc(1, sizeof(*row));
		if (!row)
			return -ENOMEM;
		row->key = key;
		HASH_ADD(hh, rows->rows, key, sizeof(row->key), row);
		if (!row->hh.tbl) {
			free(row);
			return -ENOMEM;
		}
		rows->count++;
	}
	row->weight += weight;
	row->seen++;
	if (age_ns > row->oldest_ns)
		row->oldest_ns = age_ns;
	return 0;
}

void size_rows_free(struct size_rows *rows)
{
	struct size_row *row, *next;

	HASH_ITER (hh, rows->rows, row, next) {
		HASH_DEL(rows->rows, row);
		free(row);
	}
	*rows = (struct size_rows){0};
}

/* The same of the same frames and size in every process, and in every run. Never 0. */
static uint64_t size_row_id(uint64_t stack_id, uint64_t size)
{
	uint64_t id = (stack_id ^ (size + 1) * 0x9e3779b97f4a7c15ull) * 0xc2b2ae3d27d4eb4full;

	return id ^ id >> 32 ?: 1;
}

/* Of so many blocks of one size, each of which stands for as many; as bpf/sample.h has the variance. */
static double size_row_error(const struct size_row *row)
{
	double weight = (double)row->weight / SAMPLE_ONE / (double)row->seen;

	return weight > 1 ? (double)row->key.size * sqrt((double)row->seen * weight * (weight - 1))
			  : 0;
}

static void size_row_fill(const struct size_row *row, const struct stack *from, struct stack *to,
			  struct stack_figures *figures)
{
	uint64_t count = (row->weight + SAMPLE_ONE / 2) / SAMPLE_ONE;
	double bytes = (double)row->key.size * (double)row->weight / SAMPLE_ONE;

	*to = (struct stack){.id = size_row_id(from->id, row->key.size),
			     .live = {saturate_u64(bytes + 0.5), count},
			     .error_bytes = size_row_error(row),
			     .oldest_ns = row->oldest_ns,
			     .truncated = from->truncated,
			     .end = from->end,
			     .index = from->index,
			     .scope = from->scope,
			     .figures = figures};
	to->alloc = to->older = to->live;
	sizes_add(&figures->sizes, row->key.size, count);
}

static void size_row_take(struct amount *from, const struct amount *what)
{
	from->bytes -= what->bytes < from->bytes ? what->bytes : from->bytes;
	from->count -= what->count < from->count ? what->count : from->count;
}

/* What is left to the stack itself; more than it had may have come while the table was read. */
static void size_row_leave(struct stack *stack, const struct stack *row)
{
	size_row_take(&stack->live, &row->live);
	stack->alloc = stack->older = stack->live;
	amount_add(&stack->alloc, &stack->free);
	if (!stack->live.count)
		stack->oldest_ns = 0;
	stack->error_bytes = 0;
	stack->figures->sizes = (struct stack_sizes){0};
}

/* The frames of the row are those of the stack, or of what that stands for itself. */
static bool size_row_name(struct figures *figures, uint32_t target_id, const struct stack *stack,
			  const struct stack *row)
{
	const struct stack_entry *entry = stack_table_find(figures->stacks, target_id, stack->id);
	uint64_t id = entry && entry->same_as ? entry->same_as : stack->id;

	return stack_table_finish(figures->stacks, target_id, row->id, id, (uint8_t)stack->end);
}

int size_rows_split(struct figures *figures, struct snapshot *s, struct size_rows *rows)
{
	size_t room = s->stack_count + rows->count + 1, count = s->stack_count;
	struct stack_figures *items = calloc(room, sizeof(*items));
	struct stack *stacks = calloc(room, sizeof(*stacks));
	struct size_row *row, *next;

	if (!items || !stacks) {
		free(items);
		free(stacks);
		size_rows_free(rows);
		return -ENOMEM;
	}
	memcpy(stacks, s->stacks, count * sizeof(*stacks));
	for (size_t i = 0; i < count; i++) {
		items[i] = *s->stacks[i].figures;
		stacks[i].figures = &items[i];
	}
	HASH_ITER (hh, rows->rows, row, next) {
		struct stack *from = &stacks[row->key.stack], *to = &stacks[count];

		/* What has no stack is one. */
		if (!from->id)
			continue;
		size_row_fill(row, &s->stacks[row->key.stack], to, &items[count]);
		if (!to->live.count || !size_row_name(figures, s->target_id, from, to))
			continue;
		size_row_leave(from, to);
		count++;
	}
	free(s->stacks);
	free(s->figures);
	s->stacks = stacks;
	s->figures = items;
	s->stack_count = count;
	size_rows_free(rows);
	return 0;
}
