// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct report *report_begin(struct snapshot *snapshot)
{
	struct report *r = calloc(1, sizeof(*r));

	if (r)
		r->snapshot = snapshot;
	else
		snapshot_free(snapshot);
	return r;
}

static void report_release_misuses(struct report *r)
{
	for (int i = 0; i < MISUSE_FINDERS; i++)
		free(r->misuses[i].items);
	memset(r->misuses, 0, sizeof(r->misuses));
}

/* 0 or -ENOMEM. */
static int report_take_misuses(struct report *r)
{
	for (int i = 0; i < MISUSE_FINDERS; i++) {
		const struct misuse_list *from = &r->snapshot->misuses[i];
		struct misuse *copy = calloc(from->count + 1, sizeof(*copy));

		if (!copy)
			return -ENOMEM;
		if (from->count)
			memcpy(copy, from->items, from->count * sizeof(*copy));
		r->misuses[i] = (struct misuse_list){copy, from->count};
	}
	return 0;
}

int report_reserve(struct report *r)
{
	if (r->notes)
		return 0;
	/* Each one will be written: clearing them first would write them twice. */
	r->notes = reallocarray(NULL, r->snapshot->stack_count + 1, sizeof(*r->notes));
	if (r->notes && !report_take_misuses(r))
		return 0;
	free(r->notes);
	r->notes = NULL;
	report_release_misuses(r);
	return -ENOMEM;
}

int report_complete(struct report *r)
{
	const struct snapshot *s = r->snapshot;

	if (report_reserve(r))
		return -ENOMEM;
	for (size_t i = 0; i < s->stack_count; i++) {
		r->notes[i] = report_first_notes(&s->stacks[i]);
		/* Modulo 2^64: a forged recording may hold any numbers. */
		r->delta_bytes = (int64_t)((uint64_t)r->delta_bytes + s->stacks[i].live.bytes);
		r->delta_count = (int64_t)((uint64_t)r->delta_count + s->stacks[i].live.count);
	}
	return 0;
}

struct report *report_new(struct snapshot *snapshot)
{
	struct report *r = report_begin(snapshot);

	if (!r || !report_complete(r))
		return r;
	report_free(r);
	return NULL;
}

void report_rows_free(struct report_rows *rows)
{
	if (!rows)
		return;
	report_free(rows->sums);
	free(rows->members);
	free(rows->begins);
	free(rows);
}

void report_free(struct report *r)
{
	if (!r)
		return;
	report_rows_free(r->rows);
	/* Const for all others. */
	snapshot_free((struct snapshot *)r->snapshot);
	free(r->notes);
	report_release_misuses(r);
	free(r->suppressed);
	findings_free(r->findings);
	free(r);
}
