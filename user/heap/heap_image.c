// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/heap_image.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

/*
 * So many blocks from before the attach are believed, and one more for so many bytes of the memory. No
 * allocator has smaller ones; of memory that is not there it may have some.
 */
#define OLD_MIN	  (1u << 20)
#define OLD_BYTES 8

struct heap_image *heap_image_new(struct memory_image *memory)
{
	struct heap_image *image = calloc(1, sizeof(*image));

	if (image)
		image->memory = memory;
	return image;
}

void heap_image_free(struct heap_image *image)
{
	if (!image)
		return;
	memory_image_free(image->memory);
	free(image->entered);
	free(image->room);
	free(image->weights);
	free(image->dead);
	free(image->ended);
	block_list_free(&image->old);
	free(image->claimed);
	free(image->aligned);
	free(image->arenas);
	free(image->in_hand);
	free(image);
}

static int heap_block_order(const void *a, const void *b)
{
	const struct heap_block *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->size < y->size ? -1 : x->size > y->size;
}

int heap_range_order(const void *a, const void *b)
{
	const struct heap_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Often they are in order already, and sorting may take as much memory again. */
static void heap_image_sort(struct heap_block *blocks, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		if (heap_block_order(&blocks[i - 1], &blocks[i]) > 0) {
			qsort(blocks, count, sizeof(*blocks), heap_block_order);
			return;
		}
	}
}

static void heap_image_finish_blocks(struct heap_image *image)
{
	size_t kept = 0;

	heap_image_sort(image->entered, image->block_count);
	for (size_t i = 0; i < image->block_count; i++) {
		const struct heap_block block = image->entered[i];

		if (block.address + block.size >= block.address)
			image->entered[kept++] = block;
	}
	image->block_count = kept;
}

/* Overlapping ranges become one. */
static void heap_image_finish_dead(struct heap_image *image)
{
	size_t kept = 0;

	if (!image->dead_count)
		return;
	qsort(image->dead, image->dead_count, sizeof(*image->dead), heap_range_order);
	for (size_t i = 1; i < image->dead_count; i++) {
		struct heap_range *last = &image->dead[kept];
		const struct heap_range *next = &image->dead[i];

		if (next->start <= last->end)
			last->end = next->end > last->end ? next->end : last->end;
		else
			image->dead[++kept] = *next;
	}
	image->dead_count = kept + 1;
}

static int heap_weight_order(const void *a, const void *b)
{
	const struct heap_weight *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

void heap_image_finish(struct heap_image *image)
{
	if (image->entered && image->block_count)
		heap_image_finish_blocks(image);
	if (image->weight_count)
		qsort(image->weights, image->weight_count, sizeof(*image->weights),
		      heap_weight_order);
	if (image->arena_count)
		qsort(image->arenas, image->arena_count, sizeof(*image->arenas), heap_block_order);
	heap_image_finish_dead(image);
	if (image->aligned_count)
		qsort(image->aligned, image->aligned_count, sizeof(*image->aligned),
		      heap_range_order);
}

double heap_image_weight(uint64_t size, uint64_t sample_bytes)
{
	return sample_bytes && size ? 1 / -expm1(-(double)size / (double)sample_bytes) : 1;
}

double heap_image_weight_of(const struct heap_image *image, const struct heap_block *block)
{
	const struct heap_weight key = {.address = block->address}, *own = NULL;

	if (image->weight_count)
		own = bsearch(&key, image->weights, image->weight_count, sizeof(key),
			      heap_weight_order);
	return own ? own->weight : heap_image_weight(block->size, image->sample_bytes);
}

int heap_image_add_dead(struct heap_image *image, uint64_t start, uint64_t end)
{
	if (start >= end)
		return 0;
	if (image->dead_count && image->dead[image->dead_count - 1].end == start) {
		image->dead[image->dead_count - 1].end = end;
		return 0;
	}
	if (!RESERVE_ITEM(image->dead, image->dead_count, image->dead_room, 64))
		return -ENOMEM;
	image->dead[image->dead_count++] = (struct heap_range){start, end};
	return 0;
}

size_t heap_image_first_dead(const struct heap_image *image, uint64_t address)
{
	return BISECT(i, 0, image->dead_count, image->dead[i].end <= address);
}

uint64_t heap_block_room_end(const struct heap_image *image, size_t block)
{
	const struct heap_block b = heap_block_at(image, block);

	return image->room && image->room[block] ? b.address + b.size + image->room[block]
						 : heap_block_end(image, block);
}

int heap_image_set_room(struct heap_image *image, size_t block, uint64_t end)
{
	const struct heap_block b = heap_block_at(image, block);
	uint64_t room = end - b.address - b.size;

	if (end <= b.address + b.size)
		return 0;
	if (!image->room)
		image->room = calloc(image->block_count, sizeof(*image->room));
	if (!image->room)
		return -ENOMEM;
	image->room[block] = room < UINT32_MAX ? (uint32_t)room : UINT32_MAX;
	return 0;
}

int heap_image_add_arena(struct heap_image *image, const struct heap_block *arena)
{
	if (!RESERVE_ITEM(image->arenas, image->arena_count, image->arena_room, 16))
		return -ENOMEM;
	image->arenas[image->arena_count++] = *arena;
	return 0;
}

int heap_image_hold(struct heap_image *image, uint64_t block)
{
	if (!RESERVE_ITEM(image->in_hand, image->in_hand_count, image->in_hand_room, 16))
		return -ENOMEM;
	image->in_hand[image->in_hand_count++] = block;
	return 0;
}

int heap_image_add_old(struct heap_image *image, uint64_t start, uint64_t size)
{
	if (start + size < start)
		return 0;
	if (image->old.count >= OLD_MIN + image->memory->bytes / OLD_BYTES)
		return -E2BIG;
	return block_list_add(&image->old, start, size);
}

/* From the last on, into where they will be: the blocks' memory has room for all of them. */
static void heap_image_merge_old(struct heap_image *image)
{
	size_t blocks = image->block_count, old = image->old.count, at = blocks + old;

	while (old) {
		const struct block_place place = block_list_at(&image->old, old - 1);
		const struct heap_block block = {
			.address = place.address, .size = place.size, .stack = HEAP_OLD};
		bool ours = blocks && heap_block_order(&image->entered[blocks - 1], &block) > 0;

		at--;
		if (image->room)
			image->room[at] = ours ? image->room[blocks - 1] : 0;
		image->entered[at] = ours ? image->entered[--blocks] : block;
		old -= !ours;
	}
	image->block_count += image->old.count;
	block_list_free(&image->old);
}

int heap_image_take_old(struct heap_image *image)
{
	size_t count = image->block_count + image->old.count;
	struct heap_block *blocks;
	uint32_t *room;

	if (block_list_sort(&image->old))
		return -ENOMEM;
	if (!image->entered || !image->block_count) {
		free(image->entered);
		image->entered = NULL;
		image->block_count = image->old.count;
	} else if (image->old.count) {
		blocks = reallocarray(image->entered, count, sizeof(*blocks));
		if (!blocks)
			return -ENOMEM;
		image->entered = blocks;
		room = image->room ? reallocarray(image->room, count, sizeof(*room)) : NULL;
		if (image->room && !room)
			return -ENOMEM;
		image->room = room;
		heap_image_merge_old(image);
	}
	return 0;
}

size_t heap_image_block(const struct heap_image *image, uint64_t address)
{
	return BISECT(i, 0, image->block_count, heap_block_address(image, i) < address);
}

int heap_image_claim(struct heap_image *image, const struct heap_range *ranges, size_t count)
{
	size_t all = image->claimed_count + count;
	struct heap_range *claimed;

	if (!count)
		return 0;
	claimed = reallocarray(image->claimed, all, sizeof(*claimed));
	if (!claimed)
		return -ENOMEM;
	memcpy(claimed + image->claimed_count, ranges, count * sizeof(*claimed));
	qsort(claimed, all, sizeof(*claimed), heap_range_order);
	image->claimed = claimed;
	image->claimed_count = all;
	return 0;
}

int heap_image_add_aligned(struct heap_image *image, uint64_t start, uint64_t end)
{
	if (!RESERVE_ITEM(image->aligned, image->aligned_count, image->aligned_room, 16))
		return -ENOMEM;
	image->aligned[image->aligned_count++] = (struct heap_range){start, end};
	return 0;
}

bool heap_image_is_aligned(const struct heap_image *image, uint64_t address)
{
	size_t i = BISECT(i, 0, image->aligned_count, image->aligned[i].end <= address);

	return i < image->aligned_count && image->aligned[i].start <= address;
}

const struct heap_range *heap_image_claimed(const struct heap_image *image, uint64_t address)
{
	size_t i = BISECT(i, 0, image->claimed_count, image->claimed[i].end <= address);

	return i < image->claimed_count ? &image->claimed[i] : NULL;
}
