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
	struct memory_image *memory = memory_image_new();
	struct heap_image *image = memory ? heap_image_new(memory) : NULL;

	if (!image || maps_parse(maps, strlen(maps), &memory->maps))
		abort();
	image->entered = calloc(FAKE_MAX, sizeof(*image->entered));
	memory->regions = calloc(FAKE_MAX, sizeof(*memory->regions));
	memory->threads = calloc(16, sizeof(*memory->threads));
	memory->data_size = 64 << 20;
	memory->data = mmap(NULL, memory->data_size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!image->entered || !memory->regions || !memory->threads || memory->data == MAP_FAILED)
		abort();
	return image;
}

/* Resident memory, zeros. */
static inline void fake_region(struct heap_image *image, uint64_t start, uint64_t size)
{
	struct memory_image *memory = image->memory;
	uint64_t used = 0;

	for (size_t i = 0; i < memory->region_count; i++)
		used += memory->regions[i].size;
	memory->regions[memory->region_count++] = (struct memory_region){
		.start = start,
		.size = size,
		.words = (const uint64_t *)((char *)memory->data + used),
		.mapping = maps_find(memory->maps, start),
	};
}

static inline void fake_word(struct heap_image *image, uint64_t address, uint64_t word)
{
	for (size_t i = 0; i < image->memory->region_count; i++) {
		struct memory_region *r = &image->memory->regions[i];

		if (address - r->start < r->size) {
			((uint64_t *)r->words)[(address - r->start) / 8] = word;
#ifdef FAKE_WORD_WRITTEN
			FAKE_WORD_WRITTEN(address);
#endif
			return;
		}
	}
	abort();
}

/* Where the block ends that was found as that one of those from before the attach. */
static inline uint64_t fake_old_end(const struct heap_image *image, size_t i)
{
	const struct block_place old = block_list_at(&image->old, i);

	return old.address + old.size;
}

/* Its index once the image is finished is that of its address among the others. */
static inline void fake_block(struct heap_image *image, uint64_t address, uint64_t size)
{
	image->entered[image->block_count++] =
		(struct heap_block){.address = address, .size = size, .stack = 0};
}

static inline void fake_thread(struct heap_image *image, uint64_t sp, uint64_t tls, uint64_t word)
{
	struct memory_thread *thread = &image->memory->threads[image->memory->thread_count++];

	*thread = (struct memory_thread){.tid = 1, .sp = sp, .tls = tls, .word_count = 1};
	thread->words = malloc(sizeof(word));
	if (!thread->words)
		abort();
	thread->words[0] = word;
}

/* Once all is entered. */
static inline void fake_finish(struct heap_image *image)
{
	memory_image_finish(image->memory);
	heap_image_finish(image);
}

static inline void fake_find_dead(struct heap_image *image)
{
	fake_finish(image);
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
