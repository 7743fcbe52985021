// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/keeping.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/page.h"
#include "user/base/util.h"

void keeping_open(struct keeping *k, uint64_t start, uint64_t end)
{
	/* Larger ones are one block: they have nothing free beside it. */
	k->open_start = start;
	k->open_end = end - start > UINT32_MAX ? start : end;
}

/* The unit of that place, made where it is not the last one. NULL when out of memory. */
static struct keeping_unit *keeping_get(struct keeping *k, uint64_t start, uint64_t bytes,
					uint8_t allocator)
{
	struct keeping_unit *last = k->count ? &k->units[k->count - 1] : NULL;

	if (last && last->start == start && last->allocator == allocator)
		return last;
	if (!RESERVE_ITEM(k->units, k->count, k->room, 256))
		return NULL;
	last = &k->units[k->count++];
	*last = (struct keeping_unit){
		.start = start,
		.bytes = (uint32_t)bytes,
		.allocator = allocator,
		.reached = k->reached == start,
	};
	return last;
}

/* Of the unit [unit, unit + bytes) what of it the piece [start, end) is. */
static int keeping_add(struct keeping *k, const struct keeping_piece *piece, uint64_t unit,
		       uint64_t bytes, uint64_t there)
{
	struct keeping_unit *to;

	if (!piece->unknown && !there)
		return 0;
	to = keeping_get(k, unit, bytes, piece->allocator);
	if (!to)
		return -ENOMEM;
	to->unknown |= piece->unknown;
	if (piece->unknown)
		return 0;
	to->free += (uint32_t)there;
	to->cached |= piece->cached;
	return 0;
}

int keeping_note(struct keeping *k, const struct keeping_piece *piece, keeping_look look, void *ctx)
{
	const uint64_t first = page_down(piece->start, piece->page);
	const uint64_t last = page_down(piece->end, piece->page);
	int err = 0;

	if (piece->start >= piece->end)
		return 0;
	if (piece->start >= k->open_start && piece->end <= k->open_end)
		return piece->in_use
			       ? 0
			       : keeping_add(k, piece, k->open_start, k->open_end - k->open_start,
					     look(ctx, piece->start, piece->end));
	if (piece->in_use) {
		if (last > piece->start && piece->end > last)
			k->reached = last;
		return 0;
	}
	/* Pages that are all of one piece are nobody's but its own. */
	if (piece->start > first || piece->end < first + piece->page)
		err = keeping_add(
			k, piece, first, piece->page,
			look(ctx, piece->start,
			     piece->end < first + piece->page ? piece->end : first + piece->page));
	if (!err && last > first && piece->end > last)
		err = keeping_add(k, piece, last, piece->page, look(ctx, last, piece->end));
	return err;
}

static int keeping_order(const void *a, const void *b)
{
	const struct keeping_unit *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return (int)x->allocator - (int)y->allocator;
}

void keeping_finish(struct keeping *k)
{
	size_t kept = 0;
	bool ordered = true;

	for (size_t i = 1; i < k->count; i++)
		ordered = ordered && keeping_order(&k->units[i - 1], &k->units[i]) < 0;
	if (ordered)
		return;
	qsort(k->units, k->count, sizeof(*k->units), keeping_order);
	for (size_t i = 0; i < k->count; i++) {
		struct keeping_unit *before = kept ? &k->units[kept - 1] : NULL;
		const struct keeping_unit *u = &k->units[i];

		if (!before || before->start != u->start || before->allocator != u->allocator) {
			k->units[kept++] = *u;
			continue;
		}
		before->free += u->free;
		before->reached |= u->reached;
		before->unknown |= u->unknown;
		before->cached |= u->cached;
	}
	k->count = kept;
}

void keeping_release(struct keeping *k)
{
	free(k->units);
	*k = (struct keeping){0};
}
