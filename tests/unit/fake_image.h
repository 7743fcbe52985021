/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Images of processes that never were, for the tests of reachability. Include after cmocka.h. */
#ifndef MEMLEAKBPF_TESTS_FAKE_IMAGE_H
#define MEMLEAKBPF_TESTS_FAKE_IMAGE_H

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "user/heap/dead_memory.h"
#include "user/heap/heap_image.h"

#define FAKE_MAX 4096 /* regions, blocks */

/* An image with these mappings; its memory comes by fake_region(). */
static inline struct heap_image *fake_image(const char *maps)
{
	struct heap_image *image = heap_image_new();

	if (!image || maps_parse(maps, strlen(maps), &image->maps))
		abort();
	image->blocks = calloc(FAKE_MAX, sizeof(*image->blocks));
	image->regions = calloc(FAKE_MAX, sizeof(*image->regions));
	image->threads = calloc(16, sizeof(*image->threads));
	image->data_size = 64 << 20;
	image->data = mmap(NULL, image->data_size, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!image->blocks || !image->regions || !image->threads || image->data == MAP_FAILED)
		abort();
	return image;
}

/* Resident memory, zeros. */
static inline void fake_region(struct heap_image *image, uint64_t start, uint64_t size)
{
	uint64_t used = 0;

	for (size_t i = 0; i < image->region_count; i++)
		used += image->regions[i].size;
	image->regions[image->region_count++] = (struct heap_region){
		.start = start,
		.size = size,
		.words = (const uint64_t *)((char *)image->data + used),
		.mapping = maps_find(image->maps, start),
	};
}

static inline void fake_word(struct heap_image *image, uint64_t address, uint64_t word)
{
	for (size_t i = 0; i < image->region_count; i++) {
		struct heap_region *r = &image->regions[i];

		if (address - r->start < r->size) {
			((uint64_t *)r->words)[(address - r->start) / 8] = word;
			return;
		}
	}
	abort();
}

/* Its index once the image is finished is that of its address among the others. */
static inline void fake_block(struct heap_image *image, uint64_t address, uint64_t size)
{
	image->blocks[image->block_count++] =
		(struct heap_block){.address = address, .size = size, .stack = 0};
}

static inline void fake_thread(struct heap_image *image, uint64_t sp, uint64_t tls, uint64_t word)
{
	struct heap_thread *thread = &image->threads[image->thread_count++];

	*thread = (struct heap_thread){.tid = 1, .sp = sp, .tls = tls, .word_count = 1};
	thread->words = malloc(sizeof(word));
	if (!thread->words)
		abort();
	thread->words[0] = word;
}

static inline void fake_find_dead(struct heap_image *image)
{
	heap_image_finish(image);
	assert_int_equal(dead_memory_find(image), 0);
}

static inline bool fake_dead(const struct heap_image *image, uint64_t address)
{
	for (size_t i = 0; i < image->dead_count; i++) {
		if (address >= image->dead[i].start && address < image->dead[i].end)
			return true;
	}
	return false;
}

#endif
