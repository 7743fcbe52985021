// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/process/memory_image.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "user/base/util.h"

#define BYTES_MIN (1ull << 20)

struct memory_image *memory_image_new(void)
{
	return calloc(1, sizeof(struct memory_image));
}

void memory_image_free(struct memory_image *image)
{
	if (!image)
		return;
	for (size_t i = 0; i < image->thread_count; i++)
		free(image->threads[i].words);
	free(image->threads);
	free(image->regions);
	free(image->untouched);
	maps_free(image->maps);
	if (image->data)
		munmap(image->data, image->data_size);
	free(image);
}

static int memory_region_order(const void *a, const void *b)
{
	const struct memory_region *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

void memory_image_finish(struct memory_image *image)
{
	if (image->region_count)
		qsort(image->regions, image->region_count, sizeof(*image->regions),
		      memory_region_order);
	image->bytes = BYTES_MIN;
	for (size_t i = 0; i < image->region_count; i++) {
		const struct memory_region *r = &image->regions[i];

		image->bytes +=
			r->size - memory_image_untouched(image, r->start, r->start + r->size);
	}
}

const struct memory_region *memory_image_region(const struct memory_image *image, uint64_t address)
{
	size_t low = BISECT(i, 0, image->region_count, image->regions[i].start <= address);

	if (low && address - image->regions[low - 1].start < image->regions[low - 1].size)
		return &image->regions[low - 1];
	return low < image->region_count ? &image->regions[low] : NULL;
}

uint64_t memory_image_untouched(const struct memory_image *image, uint64_t start, uint64_t end)
{
	size_t i = BISECT(k, 0, image->untouched_count, image->untouched[k].end <= start);
	uint64_t bytes = 0;

	for (; i < image->untouched_count && image->untouched[i].start < end; i++) {
		uint64_t low = image->untouched[i].start, high = image->untouched[i].end;

		low = low > start ? low : start;
		high = high < end ? high : end;
		bytes += high - low;
	}
	return bytes;
}

const uint64_t *memory_image_words(const struct memory_image *image, uint64_t address, size_t count)
{
	const struct memory_region *region =
		address % 8 ? NULL : memory_image_region(image, address);

	if (!region || address < region->start ||
	    (region->start + region->size - address) / 8 < count)
		return NULL;
	return region->words + (address - region->start) / 8;
}

bool memory_image_word(const struct memory_image *image, uint64_t address, uint64_t *word)
{
	const uint64_t *found = memory_image_words(image, address, 1);

	if (found)
		*word = *found;
	return found != NULL;
}

bool memory_image_next_run(const struct memory_image *image, uint64_t *start, uint64_t end,
			   struct memory_run *run)
{
	while (*start < end && end - *start >= 8) {
		const struct memory_region *region = memory_image_region(image, *start);
		uint64_t stop;

		if (!region || region->start >= end)
			return false;
		run->address = *start > region->start ? *start : region->start;
		stop = region->start + region->size < end ? region->start + region->size : end;
		run->words = region->words + (run->address - region->start) / 8;
		run->count = (size_t)((stop - run->address) / 8);
		run->region = region;
		*start = stop;
		if (run->count)
			return true;
	}
	return false;
}

bool memory_image_has_stack(const struct memory_image *image, const struct mapping *mapping)
{
	for (size_t i = 0; i < image->thread_count; i++) {
		if (image->threads[i].sp >= mapping->start && image->threads[i].sp < mapping->end)
			return true;
	}
	return false;
}
