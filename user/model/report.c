// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/report.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/model/bad_free.h"

struct report *report_begin(struct snapshot *snapshot)
{
	struct report *r = calloc(1, sizeof(*r));

	if (r)
		r->snapshot = snapshot;
	else
		snapshot_free(snapshot);
	return r;
}

int report_reserve(struct report *r)
{
	if (r->notes)
		return 0;
	/* Every one will be written: cleared first, they would be written twice. */
	r->notes = reallocarray(NULL, r->snapshot->stack_count + 1, sizeof(*r->notes));
	r->bad_frees = calloc(r->snapshot->bad_free_count + 1, sizeof(*r->bad_frees));
	r->bad_accesses = calloc(r->snapshot->bad_access_count + 1, sizeof(*r->bad_accesses));
	if (!r->notes || !r->bad_frees || !r->bad_accesses) {
		free(r->notes);
		free(r->bad_frees);
		free(r->bad_accesses);
		r->notes = NULL;
		r->bad_frees = NULL;
		r->bad_accesses = NULL;
		return -ENOMEM;
	}
	if (r->snapshot->bad_free_count)
		memcpy(r->bad_frees, r->snapshot->bad_frees,
		       r->snapshot->bad_free_count * sizeof(*r->bad_frees));
	if (r->snapshot->bad_access_count)
		memcpy(r->bad_accesses, r->snapshot->bad_accesses,
		       r->snapshot->bad_access_count * sizeof(*r->bad_accesses));
	return 0;
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

void report_free(struct report *r)
{
	if (!r)
		return;
	/* Const for all others. */
	snapshot_free((struct snapshot *)r->snapshot);
	free(r->notes);
	free(r->bad_frees);
	free(r->bad_accesses);
	free(r->suppressed);
	free(r);
}
