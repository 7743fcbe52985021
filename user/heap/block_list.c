// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/block_list.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"

void block_list_free(struct block_list *list)
{
	free(list->chunks);
	free(list->wide);
	*list = (struct block_list){0};
}

int block_place_order(const struct block_place *a, const struct block_place *b)
{
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

/* Of the list's last chunk, with `count` places in it. */
static int block_list_widen(struct block_list *list, struct block_chunk *chunk, size_t count)
{
	struct block_wide *wide;

	if (!RESERVE_ITEM(list->wide, list->wide_count, list->wide_room, 16))
		return -ENOMEM;
	wide = &list->wide[list->wide_count];
	for (size_t i = 0; i < count; i++)
		wide->places[i] = block_list_at(list, list->count - count + i);
	chunk->base = 8ull * list->wide_count++ | BLOCK_WIDE;
	return 0;
}

static bool block_chunk_fits(const struct block_chunk *chunk, uint64_t address, uint64_t size)
{
	return !(address % 8) && address >= chunk->base &&
	       (address - chunk->base) / 8 <= UINT16_MAX && size <= UINT16_MAX;
}

int block_list_add(struct block_list *list, uint64_t address, uint64_t size)
{
	const struct block_place place = {address, size};
	size_t number = list->count / BLOCK_CHUNK, at = list->count % BLOCK_CHUNK;
	struct block_chunk *chunk;

	if (!RESERVE_ITEM(list->chunks, number, list->chunk_room, 64))
		return -ENOMEM;
	chunk = &list->chunks[number];
	if (!at)
		chunk->base = address & ~7ull;
	if (!(chunk->base & BLOCK_WIDE) && !block_chunk_fits(chunk, address, size) &&
	    block_list_widen(list, chunk, at))
		return -ENOMEM;
	if (chunk->base & BLOCK_WIDE) {
		list->wide[chunk->base / 8].places[at] = place;
	} else {
		chunk->at[at] = (uint16_t)((address - chunk->base) / 8);
		chunk->size[at] = (uint16_t)size;
	}
	list->unordered |= list->count && block_place_order(&list->last, &place) > 0;
	list->last = place;
	list->count++;
	return 0;
}

/* ---- order -------------------------------------------------------------------------------- */

/* Places that are in order, of those that are still to be taken. */
struct block_run {
	struct block_place first;
	size_t next, end;
};

static size_t block_list_count_runs(const struct block_list *list)
{
	struct block_place last = {0};
	size_t count = 0;

	for (size_t i = 0; i < list->count; i++) {
		const struct block_place place = block_list_at(list, i);

		count += !i || block_place_order(&last, &place) > 0;
		last = place;
	}
	return count;
}

static struct block_run *block_list_runs(const struct block_list *list, size_t count)
{
	struct block_run *runs = calloc(count + 1, sizeof(*runs));
	struct block_place last = {0};
	size_t made = 0;

	for (size_t i = 0; runs && i < list->count; i++) {
		const struct block_place place = block_list_at(list, i);

		if (!i || block_place_order(&last, &place) > 0)
			runs[made++] = (struct block_run){place, i, i};
		runs[made - 1].end = i + 1;
		last = place;
	}
	return runs;
}

/* The run at the root of a heap's part goes down to where none below it begins earlier. */
static void block_runs_sift(struct block_run *runs, size_t count, size_t root)
{
	const struct block_run moved = runs[root];

	for (;;) {
		size_t child = 2 * root + 1;

		if (child + 1 < count &&
		    block_place_order(&runs[child + 1].first, &runs[child].first) < 0)
			child++;
		if (child >= count || block_place_order(&runs[child].first, &moved.first) >= 0)
			break;
		runs[root] = runs[child];
		root = child;
	}
	runs[root] = moved;
}

int block_list_sort(struct block_list *list)
{
	struct block_list sorted = {0};
	_cleanup_free_ struct block_run *runs = NULL;
	size_t count;
	int err = 0;

	if (!list->unordered)
		return 0;
	count = block_list_count_runs(list);
	runs = block_list_runs(list, count);
	if (!runs)
		return -ENOMEM;
	for (size_t i = count / 2; i-- > 0;)
		block_runs_sift(runs, count, i);
	while (!err && count) {
		err = block_list_add(&sorted, runs[0].first.address, runs[0].first.size);
		if (++runs[0].next < runs[0].end)
			runs[0].first = block_list_at(list, runs[0].next);
		else
			runs[0] = runs[--count];
		block_runs_sift(runs, count, 0);
	}
	block_list_free(err ? &sorted : list);
	if (!err)
		*list = sorted;
	return err;
}
