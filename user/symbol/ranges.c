// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/symbol/ranges.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

/* The first position whose bound is >= value. */
static size_t ranges_lower_bound(const uint64_t *bounds, size_t count, uint64_t value)
{
	return BISECT(i, 0, count, bounds[i] < value);
}

/*
 * The first interval at or after i that nobody owns yet; halves the path on the way (union-find).
 */
static uint32_t next_unowned(uint32_t *next, uint32_t i)
{
	while (next[i] != i) {
		next[i] = next[next[i]];
		i = next[i];
	}
	return i;
}

static size_t collect_bounds(uint64_t *bounds, const struct range *ranges, size_t count)
{
	size_t used = 0;
	size_t unique = 0;

	for (size_t i = 0; i < count; i++) {
		if (ranges[i].start >= ranges[i].end)
			continue;
		bounds[used++] = ranges[i].start;
		bounds[used++] = ranges[i].end;
	}
	if (used)
		qsort(bounds, used, sizeof(*bounds), compare_u64);
	for (size_t i = 0; i < used; i++)
		if (!unique || bounds[unique - 1] != bounds[i])
			bounds[unique++] = bounds[i];
	return unique;
}

int range_index_build(struct range_index *index, const struct range *ranges, size_t count)
{
	_cleanup_free_ uint64_t *bounds = NULL;
	_cleanup_free_ uint32_t *owner = NULL;
	_cleanup_free_ uint32_t *next = NULL;
	size_t unique;

	*index = (struct range_index){0};
	if (count >= UINT32_MAX / 2)
		return -E2BIG;
	bounds = malloc((2 * count + 1) * sizeof(*bounds));
	if (!bounds)
		return -ENOMEM;
	unique = collect_bounds(bounds, ranges, count);
	owner = malloc((unique + 1) * sizeof(*owner));
	next = malloc((unique + 1) * sizeof(*next));
	if (!owner || !next)
		return -ENOMEM;
	for (size_t i = 0; i <= unique; i++) {
		owner[i] = RANGE_NONE;
		next[i] = (uint32_t)i;
	}
	for (size_t i = 0; i < count; i++) {
		size_t end;

		if (ranges[i].start >= ranges[i].end)
			continue;
		end = ranges_lower_bound(bounds, unique, ranges[i].end);
		for (uint32_t at = next_unowned(
			     next, (uint32_t)ranges_lower_bound(bounds, unique, ranges[i].start));
		     at < end; at = next_unowned(next, at)) {
			owner[at] = (uint32_t)i;
			next[at] = at + 1;
		}
	}
	index->bounds = TAKE_PTR(bounds);
	index->owner = TAKE_PTR(owner);
	index->count = unique;
	return 0;
}

uint32_t range_index_find(const struct range_index *index, uint64_t address)
{
	size_t above = ranges_lower_bound(index->bounds, index->count, address);

	if (above < index->count && index->bounds[above] == address)
		return index->owner[above];
	return above ? index->owner[above - 1] : RANGE_NONE;
}

void range_index_release(struct range_index *index)
{
	free(index->bounds);
	free(index->owner);
	*index = (struct range_index){0};
}
