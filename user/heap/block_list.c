// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/block_list.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"

void block_list_free(struct block_list *list)
{
	free(list->chunks);
	free(list->near);
	free(list->wide);
	*list = (struct block_list){0};
}

int block_place_order(const struct block_place *a, const struct block_place *b)
{
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return a->size < b->size ? -1 : a->size > b->size;
}

/* ---- chunks ------------------------------------------------------------------------------- */

static enum block_kept block_chunk_kept(const struct block_chunk *chunk)
{
	return (enum block_kept)(chunk->base & BLOCKS_KEPT);
}

static uint64_t block_chunk_base(const struct block_chunk *chunk)
{
	return chunk->base & ~(uint64_t)BLOCKS_KEPT;
}

/* As the one behind `count` others. The second one says what the distance is. */
static bool block_chunk_takes_even(struct block_chunk *chunk, size_t count,
				   const struct block_place *place)
{
	const uint64_t from_base = place->address - chunk->base;

	if (place->address % 8)
		return false;
	if (!count && place->size <= UINT32_MAX) {
		chunk->even.size = (uint32_t)place->size;
		return true;
	}
	if (!count || place->size != chunk->even.size)
		return false;
	if (count == 1 && from_base <= UINT32_MAX) {
		chunk->even.step = (uint32_t)from_base;
		return true;
	}
	return count > 1 && from_base == count * chunk->even.step;
}

static bool block_chunk_takes_near(const struct block_chunk *chunk, const struct block_place *place)
{
	const uint64_t base = block_chunk_base(chunk);

	return !(place->address % 8) && place->address >= base &&
	       (place->address - base) / 8 <= UINT16_MAX && place->size <= UINT16_MAX;
}

/* Of the list's last chunk, with `count` places in it, which may have been near ones. */
static int block_list_widen(struct block_list *list, struct block_chunk *chunk, size_t count)
{
	struct block_wide *wide;

	if (!RESERVE_ITEM(list->wide, list->wide_count, list->wide_room, 16))
		return -ENOMEM;
	wide = &list->wide[list->wide_count];
	for (size_t i = 0; i < count; i++)
		wide->places[i] = block_list_at(list, list->count - count + i);
	list->near_count -= block_chunk_kept(chunk) == BLOCKS_NEAR;
	*chunk = (struct block_chunk){.base = BLOCKS_WIDE, .index = list->wide_count++};
	return 0;
}

/* The same of even ones, which become near ones if they can. */
static int block_list_loosen(struct block_list *list, struct block_chunk *chunk, size_t count)
{
	struct block_near *near;

	for (size_t i = 0; i < count; i++) {
		const struct block_place place = block_list_at(list, list->count - count + i);

		if (!block_chunk_takes_near(chunk, &place))
			return block_list_widen(list, chunk, count);
	}
	if (!RESERVE_ITEM(list->near, list->near_count, list->near_room, 64))
		return -ENOMEM;
	near = &list->near[list->near_count];
	for (size_t i = 0; i < count; i++) {
		near->at[i] = (uint16_t)(i * chunk->even.step / 8);
		near->size[i] = (uint16_t)chunk->even.size;
	}
	*chunk = (struct block_chunk){.base = chunk->base | BLOCKS_NEAR,
				      .index = list->near_count++};
	return 0;
}

static int block_list_put(struct block_list *list, struct block_chunk *chunk, size_t at,
			  const struct block_place *place)
{
	struct block_near *near;
	int err = 0;

	if (!at)
		*chunk = (struct block_chunk){.base = place->address & ~(uint64_t)BLOCKS_KEPT};
	if (block_chunk_kept(chunk) == BLOCKS_EVEN) {
		if (block_chunk_takes_even(chunk, at, place))
			return 0;
		err = block_list_loosen(list, chunk, at);
	}
	if (!err && block_chunk_kept(chunk) == BLOCKS_NEAR && !block_chunk_takes_near(chunk, place))
		err = block_list_widen(list, chunk, at);
	if (err)
		return err;
	if (block_chunk_kept(chunk) == BLOCKS_WIDE) {
		list->wide[chunk->index].places[at] = *place;
		return 0;
	}
	near = &list->near[chunk->index];
	near->at[at] = (uint16_t)((place->address - block_chunk_base(chunk)) / 8);
	near->size[at] = (uint16_t)place->size;
	return 0;
}

int block_list_add(struct block_list *list, uint64_t address, uint64_t size)
{
	const struct block_place place = {address, size};
	size_t number = list->count / BLOCK_CHUNK;

	if (!RESERVE_ITEM(list->chunks, number, list->chunk_room, 64) ||
	    block_list_put(list, &list->chunks[number], list->count % BLOCK_CHUNK, &place))
		return -ENOMEM;
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
