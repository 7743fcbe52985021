// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/analysis/inspection_order.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/clock.h"
#include "user/base/util.h"

static int growth_compare(const void *a, const void *b)
{
	return inspected_group_compare(*(const struct inspected_group *const *)a,
				       *(const struct inspected_group *const *)b);
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
	return 0;
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
