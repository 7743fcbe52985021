// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/heap_image.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

/* 64 MiB of them. */
#define OLD_MAX (4u << 20)

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
	free(image->blocks);
	free(image->weights);
	free(image->dead);
	free(image->old);
	free(image->claimed);
	free(image);
}

static int heap_block_order(const void *a, const void *b)
{
	const struct heap_block *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->size < y->size ? -1 : x->size > y->size;
}

static int heap_range_order(const void *a, const void *b)
{
	const struct heap_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static void heap_image_finish_blocks(struct heap_image *image)
{
	size_t kept = 0;

	if (image->block_count)
		qsort(image->blocks, image->block_count, sizeof(*image->blocks), heap_block_order);
	for (size_t i = 0; i < image->block_count; i++) {
		struct heap_block *block = &image->blocks[i];

		if (block->address + block->size < block->address)
			continue;
		block->end = block->address + block->size;
		if (kept && image->blocks[kept - 1].end > block->address)
			image->blocks[kept - 1].end = block->address;
		if (block->room_end < block->end)
			block->room_end = block->end;
		image->blocks[kept++] = *block;
	}
	image->block_count = kept;
}

/* Overlapping ranges become one. */
static void heap_image_finish_dead(struct heap_image *image)
{
	size_t kept = 0;

	if (!image->dead_count)
		return;
	if (image->dead_count)
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
	if (image->block_count)
		heap_image_finish_blocks(image);
	if (image->weight_count)
		qsort(image->weights, image->weight_count, sizeof(*image->weights),
		      heap_weight_order);
	heap_image_finish_dead(image);
	if (image->old_count)
		qsort(image->old, image->old_count, sizeof(*image->old), heap_range_order);
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

int heap_image_add_old(struct heap_image *image, uint64_t start, uint64_t end)
{
	if (start >= end || image->old_count == OLD_MAX)
		return 0;
	if (!RESERVE_ITEM(image->old, image->old_count, image->old_room, 64))
		return -ENOMEM;
	image->old[image->old_count++] = (struct heap_range){start, end};
	return 0;
}

const struct heap_range *heap_image_old(const struct heap_image *image, uint64_t address)
{
	size_t i = BISECT(i, 0, image->old_count, image->old[i].end <= address);

	return i < image->old_count && image->old[i].start <= address ? &image->old[i] : NULL;
}

struct heap_image *heap_view_with_old(const struct heap_image *image)
{
	struct heap_image *view = calloc(1, sizeof(*view));

	if (!view)
		return NULL;
	*view = *image;
	view->blocks = calloc(image->block_count + image->old_count + 1, sizeof(*view->blocks));
	if (!view->blocks) {
		free(view);
		return NULL;
	}
	if (image->block_count)
		memcpy(view->blocks, image->blocks, image->block_count * sizeof(*view->blocks));
	for (size_t i = 0; i < image->old_count; i++)
		view->blocks[view->block_count++] = (struct heap_block){
			.address = image->old[i].start,
			.size = image->old[i].end - image->old[i].start,
			.stack = HEAP_NO_STACK,
		};
	heap_image_finish_blocks(view);
	return view;
}

int heap_image_take_old(struct heap_image *image)
{
	size_t count = image->block_count + image->old_count;
	struct heap_block *blocks = reallocarray(image->blocks, count + 1, sizeof(*blocks));

	if (!blocks)
		return -ENOMEM;
	image->blocks = blocks;
	for (size_t i = 0; i < image->old_count; i++)
		blocks[image->block_count++] = (struct heap_block){
			.address = image->old[i].start,
			.size = image->old[i].end - image->old[i].start,
			.stack = HEAP_NO_STACK,
		};
	free(image->old);
	image->old = NULL;
	image->old_count = image->old_room = 0;
	heap_image_finish_blocks(image);
	return 0;
}

void heap_view_free(struct heap_image *view)
{
	if (!view)
		return;
	free(view->blocks);
	free(view);
}

size_t heap_image_block(const struct heap_image *image, uint64_t address)
{
	return BISECT(i, 0, image->block_count, image->blocks[i].address < address);
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

const struct heap_range *heap_image_claimed(const struct heap_image *image, uint64_t address)
{
	size_t i = BISECT(i, 0, image->claimed_count, image->claimed[i].end <= address);

	return i < image->claimed_count ? &image->claimed[i] : NULL;
}
