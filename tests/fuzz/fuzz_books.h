/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the harnesses of walkers share: an allocator's books, made by hand and right, of which the input changes
 * words. It is a row of records of 12 bytes: how far from a word of them, how, which one (2 bytes), a value.
 * Include before the header that makes the books.
 */
#ifndef MEMLEAKBPF_TESTS_FUZZ_BOOKS_H
#define MEMLEAKBPF_TESTS_FUZZ_BOOKS_H

#include "tests/fuzz/fuzz.h"

#define WRITTEN_MAX 4096

/* What the books are: the words that make the heap. */
static uint64_t written[WRITTEN_MAX];
static size_t written_count;

#define FAKE_WORD_WRITTEN(address)                            \
	do {                                                  \
		if (written_count < WRITTEN_MAX)              \
			written[written_count++] = (address); \
	} while (0)

/* In place of cmocka's. */
#define assert_true(condition)	      MUST(condition)
#define assert_int_equal(left, right) MUST((left) == (right))

#include "tests/unit/heap/fake_image.h"

#define FUZZ_RECORD 12

static inline void fuzz_change(struct heap_image *image, const uint8_t *record)
{
	const struct memory_image *memory = image->memory;
	size_t which = (record[2] | (size_t)record[3] << 8) % written_count;
	const struct memory_region *r;
	uint64_t at = written[which] + 8 * (int64_t)(int8_t)record[0], value, *word;

	r = memory_image_region(memory, at);
	if (!r || r->start > at)
		return;
	word = (uint64_t *)r->words + (at - r->start) / 8;
	memcpy(&value, record + 4, sizeof(value));
	switch (record[1] % 4) {
	case 0:
		*word = value;
		break;
	case 1:
		*word += value;
		break;
	case 2:
		*word ^= value;
		break;
	default: /* a pointer to something of them, or near it */
		*word = written[(value & 0xffff) % written_count] +
			(uint64_t)((int64_t)value >> 48);
		break;
	}
}

/*
 * Whatever the books say: each byte of the memory counts once at most, no block lies in another, and what is
 * in use is what is counted. The image has no blocks of ours; it is freed.
 */
static inline void fuzz_books(struct heap_image *image, const uint8_t *data, size_t size)
{
	struct inventory inventory = {0};
	uint64_t resident = 0, counted = 0, count = 0;

	image->block_count = 0;
	fake_finish(image);
	for (; size >= FUZZ_RECORD; size -= FUZZ_RECORD, data += FUZZ_RECORD)
		fuzz_change(image, data);
	image->inventory = &inventory;
	MUST(!dead_memory_find(image));
	for (size_t i = 0; i < image->memory->region_count; i++)
		resident += image->memory->regions[i].size;
	for (size_t i = 0; i < inventory.count; i++) {
		for (int part = 0; part < INVENTORY_PARTS; part++)
			counted += inventory.allocators[i].resident[part];
		count += inventory.allocators[i].shown.in_use.count;
	}
	MUST(counted <= resident);
	MUST(count == image->old.count);
	MUST(!heap_image_take_old(image));
	for (size_t i = 1; i < image->block_count; i++) {
		const struct heap_block before = heap_block_at(image, i - 1);

		MUST(before.address + before.size <= heap_block_address(image, i));
	}
	for (size_t i = 1; i < image->claimed_count; i++)
		MUST(image->claimed[i - 1].end <= image->claimed[i].start);
	heap_image_free(image);
	written_count = 0;
}

#endif
