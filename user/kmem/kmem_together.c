// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which objects come together: a socket is four of them. */
#include <math.h>
#include <string.h>

#include "user/kmem/kmem_rows.h"

#define TOGETHER_ROWS	200 /* are looked at: the largest */
#define TOGETHER_FRAMES 3   /* that both stacks begin with: the system call, and how it came */
#define TOGETHER_LEAST	8   /* blocks: fewer say nothing */

static bool together_same_begin(const struct kernel_stack *x, const struct kernel_stack *y)
{
	if (x->frame_count < TOGETHER_FRAMES || y->frame_count < TOGETHER_FRAMES)
		return false;
	for (size_t i = 1; i <= TOGETHER_FRAMES; i++) {
		const char *one = x->frames[x->frame_count - i].function;
		const char *other = y->frames[y->frame_count - i].function;

		if (!one || !other || strcmp(one, other) != 0)
			return false;
	}
	return true;
}

static double together_error(const struct kernel_stack *row)
{
	return row->object_bytes ? (double)row->error_bytes / (double)row->object_bytes : 0;
}

/* As many, but for 1 %, or for what sampling makes of it where that is small. */
static bool together_as_many(const struct kernel_stack *x, const struct kernel_stack *y)
{
	const double many = (double)x->blocks, error = hypot(together_error(x), together_error(y));

	return error <= many / 4 && fabs(many - (double)y->blocks) <= fmax(many / 100, 3 * error);
}

/* Nearly all of them are this task's. */
static bool together_one_task(const struct kernel_stack *row)
{
	return row->task_count && row->tasks[0].bytes >= row->bytes - row->bytes / 50;
}

static bool together_fit(const struct kernel_stack *x, const struct kernel_stack *y)
{
	return !y->with && !y->companions && !y->frees_unseen && together_one_task(x) &&
	       together_one_task(y) && x->tasks[0].pid == y->tasks[0].pid &&
	       together_as_many(x, y) && together_same_begin(x, y);
}

void kmem_rows_unite(struct kernel_stack *stacks, size_t count)
{
	const size_t some = count < TOGETHER_ROWS ? count : TOGETHER_ROWS;

	for (size_t i = 0; i < some; i++) {
		struct kernel_stack *row = &stacks[i];

		if (row->with || row->frees_unseen || row->blocks < TOGETHER_LEAST)
			continue;
		for (size_t j = i + 1; j < some; j++) {
			if (!together_fit(row, &stacks[j]))
				continue;
			stacks[j].with = i + 1;
			row->companions++;
		}
	}
}
