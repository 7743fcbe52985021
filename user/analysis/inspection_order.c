// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/inspection_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/clock.h"
#include "user/base/util.h"

static int growth_compare(const void *a, const void *b)
{
	return inspected_group_compare(*(const struct inspected_group *const *)a,
				       *(const struct inspected_group *const *)b);
}

static int kind_order(const void *a, const void *b)
{
	return managed_kind_compare(*(const struct managed_kind *const *)a,
				    *(const struct managed_kind *const *)b);
}

static int threads_order(const void *a, const void *b)
{
	return managed_threads_compare(*(const struct managed_threads *const *)a,
				       *(const struct managed_threads *const *)b);
}

static int growth_of_kinds(struct managed_heap *now, const struct managed_heap *before,
			   double seconds)
{
	_cleanup_free_ const struct managed_kind **old =
		calloc(before->kind_count + 1, sizeof(*old));

	if (!old)
		return -ENOMEM;
	for (size_t i = 0; i < before->kind_count; i++)
		old[i] = &before->kinds[i];
	qsort(old, before->kind_count, sizeof(*old), kind_order);
	for (size_t i = 0; i < now->kind_count; i++) {
		struct managed_kind *kind = &now->kinds[i];
		const struct managed_kind *key = kind, **same;

		same = bsearch(&key, old, before->kind_count, sizeof(*old), kind_order);
		kind->growth_known = true;
		kind->growth_bytes_per_s =
			((double)kind->live.bytes - (same ? (double)(*same)->live.bytes : 0)) /
			seconds;
	}
	return 0;
}

static int growth_of_threads(struct managed_heap *now, const struct managed_heap *before,
			     double seconds)
{
	_cleanup_free_ const struct managed_threads **old =
		calloc(before->thread_group_count + 1, sizeof(*old));

	if (!old)
		return -ENOMEM;
	for (size_t i = 0; i < before->thread_group_count; i++)
		old[i] = &before->threads[i];
	qsort(old, before->thread_group_count, sizeof(*old), threads_order);
	for (size_t i = 0; i < now->thread_group_count; i++) {
		struct managed_threads *threads = &now->threads[i];
		const struct managed_threads *key = threads, **same;

		same = bsearch(&key, old, before->thread_group_count, sizeof(*old), threads_order);
		threads->growth_known = true;
		threads->growth_per_s =
			((double)threads->count - (same ? (double)(*same)->count : 0)) / seconds;
	}
	return 0;
}

/* Of each runtime that was read both times. */
static int growth_of_managed(struct inspection *now, const struct inspection *before,
			     double seconds)
{
	int err = 0;

	for (size_t i = 0; !err && i < now->managed_count; i++) {
		struct managed_heap *heap = &now->managed[i];

		for (size_t n = 0; !err && n < before->managed_count; n++) {
			const struct managed_heap *old = &before->managed[n];

			if (strcmp(heap->runtime, old->runtime) != 0 || !heap->read || !old->read)
				continue;
			err = growth_of_kinds(heap, old, seconds);
			err = err ?: growth_of_threads(heap, old, seconds);
		}
	}
	return err;
}

int inspection_find_growth(struct inspection *now, const struct inspection *before)
{
	_cleanup_free_ const struct inspected_group **old =
		calloc(before->group_count + 1, sizeof(*old));
	double seconds = ((double)now->time_ns - (double)before->time_ns) / NS_PER_S;

	if (!old)
		return -ENOMEM;
	/* The wall clock may have been set back. */
	if (seconds <= 0)
		return 0;
	for (size_t i = 0; i < before->group_count; i++)
		old[i] = &before->groups[i];
	qsort(old, before->group_count, sizeof(*old), growth_compare);
	for (size_t i = 0; i < now->group_count; i++) {
		struct inspected_group *group = &now->groups[i];
		const struct inspected_group *key = group, **same;
		uint64_t bytes = 0;

		same = bsearch(&key, old, before->group_count, sizeof(*old), growth_compare);
		if (same)
			bytes = (*same)->live.bytes;
		group->growth_known = true;
		group->growth_bytes_per_s = ((double)group->live.bytes - (double)bytes) / seconds;
	}
	return growth_of_managed(now, before, seconds);
}

static int kinds_by_growth(const void *a, const void *b)
{
	const struct managed_kind *x = a, *y = b;

	if (x->growth_known && y->growth_known && x->growth_bytes_per_s != y->growth_bytes_per_s)
		return x->growth_bytes_per_s > y->growth_bytes_per_s ? -1 : 1;
	if (x->live.bytes != y->live.bytes)
		return x->live.bytes > y->live.bytes ? -1 : 1;
	return managed_kind_compare(x, y);
}

static int kinds_by_count(const void *a, const void *b)
{
	const struct managed_kind *x = a, *y = b;

	if (x->live.count != y->live.count)
		return x->live.count > y->live.count ? -1 : 1;
	return managed_kind_compare(x, y);
}

static int threads_by_growth(const void *a, const void *b)
{
	const struct managed_threads *x = a, *y = b;

	if (x->growth_known && y->growth_known && x->growth_per_s != y->growth_per_s)
		return x->growth_per_s > y->growth_per_s ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return managed_threads_compare(x, y);
}

static int kinds_by_bytes(const void *a, const void *b)
{
	const struct managed_kind *x = a, *y = b;

	if (x->live.bytes != y->live.bytes)
		return x->live.bytes > y->live.bytes ? -1 : 1;
	return managed_kind_compare(x, y);
}

static int threads_by_count(const void *a, const void *b)
{
	const struct managed_threads *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return managed_threads_compare(x, y);
}

static void sort_managed(struct managed_heap *heap, enum inspection_order order)
{
	bool growth = order == INSPECTION_BY_GROWTH;

	if (heap->kind_count)
		qsort(heap->kinds, heap->kind_count, sizeof(*heap->kinds),
		      growth			     ? kinds_by_growth
		      : order == INSPECTION_BY_COUNT ? kinds_by_count
						     : kinds_by_bytes);
	if (heap->thread_group_count)
		qsort(heap->threads, heap->thread_group_count, sizeof(*heap->threads),
		      growth ? threads_by_growth : threads_by_count);
}

struct growth_sort {
	const struct inspected_group *groups;
	enum inspection_order order;
};

static int growth_order(const void *a, const void *b, void *ctx)
{
	const struct growth_sort *sort = ctx;
	const struct inspected_group *x = &sort->groups[*(const size_t *)a],
				     *y = &sort->groups[*(const size_t *)b];

	if (sort->order == INSPECTION_BY_GROWTH && x->growth_known && y->growth_known &&
	    x->growth_bytes_per_s != y->growth_bytes_per_s)
		return x->growth_bytes_per_s > y->growth_bytes_per_s ? -1 : 1;
	if (sort->order == INSPECTION_BY_COUNT && x->live.count != y->live.count)
		return x->live.count > y->live.count ? -1 : 1;
	if (x->live.bytes != y->live.bytes)
		return x->live.bytes > y->live.bytes ? -1 : 1;
	return inspected_group_compare(x, y);
}

int inspection_sort(struct inspection *inspection, enum inspection_order order)
{
	size_t n = inspection->group_count;
	struct growth_sort sort = {inspection->groups, order};
	_cleanup_free_ size_t *at = calloc(n + 1, sizeof(*at));
	_cleanup_free_ size_t *place = calloc(n + 1, sizeof(*place));
	struct inspected_group *sorted = calloc(n + 1, sizeof(*sorted));

	if (!at || !place || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		at[i] = i;
	for (size_t i = 0; i < inspection->managed_count; i++)
		sort_managed(&inspection->managed[i], order);
	qsort_r(at, n, sizeof(*at), growth_order, &sort);
	for (size_t i = 0; i < n; i++) {
		sorted[i] = inspection->groups[at[i]];
		place[at[i]] = i;
	}
	free(inspection->groups);
	inspection->groups = sorted;
	for (size_t i = 0; i < inspection->loss_count; i++)
		inspection->losses[i].group = place[inspection->losses[i].group];
	for (size_t i = 0; i < inspection->keeper_count; i++) {
		struct inspected_keeper *keeper = &inspection->keepers[i];

		if (keeper->group != SIZE_MAX)
			keeper->group = place[keeper->group];
		if (keeper->with != SIZE_MAX)
			keeper->with = place[keeper->with];
	}
	return 0;
}
