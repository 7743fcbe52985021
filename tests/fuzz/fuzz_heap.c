// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libFuzzer: allocators' books that a process has forged. The first byte says which heap it begins with
 * and what is wanted of it; then each 10 bytes change a word of the books.
 */
#include "tests/fuzz/fuzz_books.h"

#include "tests/unit/heap/fake_jemalloc.h"
#include "tests/unit/heap/fake_tcmalloc.h"

#define RECORD 10

static struct heap_image *make_heap(uint8_t kind)
{
	struct jemalloc_parts parts;

	written_count = 0;
	if (kind % 3 == 2)
		return fake_tcmalloc();
	jemalloc_old = kind % 3 == 1;
	return fake_jemalloc(&parts);
}

/* A byte how, one for a shift, two that choose a word, and more. */
static void change_word(struct heap_image *image, const uint8_t *record, size_t original)
{
	uint16_t which, other;
	uint64_t word = 0, raw, at;

	memcpy(&which, record + 2, 2);
	memcpy(&other, record + 4, 2);
	memcpy(&raw, record + 2, 8);
	at = written[which % original] + 8ull * (record[1] & 3);
	if (!memory_image_word(image->memory, at, &word))
		return;
	switch (record[0] % 6) {
	case 0: /* another place of the books, or near it */
		word = written[other % original] + 8ull * (record[1] >> 2);
		break;
	case 1: /* what there is elsewhere */
		memory_image_word(image->memory, written[other % original], &word);
		break;
	case 2:
		word ^= 1ull << (record[1] >> 2);
		break;
	case 3:
		word += (uint64_t)(int8_t)record[6] << (record[7] & 63);
		break;
	case 4:
		word = (uint64_t)record[6] << (record[7] & 63);
		break;
	default:
		word = raw;
		break;
	}
	fake_word(image, at, word);
}

/* Whatever they say: each piece of memory counts once for each allocator. */
static void check(const struct heap_image *image, const struct inventory *inventory)
{
	uint64_t there = 0;

	for (size_t i = 0; i < image->memory->region_count; i++)
		there += image->memory->regions[i].size;
	for (size_t i = 0; i < inventory->count; i++) {
		const struct inventory_allocator *a = &inventory->allocators[i];
		uint64_t counted = 0;

		for (size_t part = 0; part < INVENTORY_PARTS; part++)
			counted += a->resident[part];
		MUST(counted <= there);
		MUST(a->shown.cached_bytes <= a->shown.free_bytes);
		MUST(!a->shown.unbelieved_bytes || *a->shown.why);
	}
	for (size_t i = 1; i < image->dead_count; i++)
		MUST(image->dead[i - 1].end < image->dead[i].start);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct inventory inventory = {0};
	struct heap_image *image;
	size_t original;

	if (!size)
		return 0;
	image = make_heap(data[0] & 0xf);
	original = written_count;
	for (size_t at = 1; at + RECORD <= size; at += RECORD)
		change_word(image, data + at, original);
	if (data[0] & 0x10)
		image->block_count = 0;
	image->all_known = data[0] & 0x20;
	if (!(data[0] & 0x40))
		image->inventory = &inventory;
	fake_finish(image);
	MUST(!dead_memory_find(image));
	check(image, &inventory);
	MUST(!heap_image_take_old(image));
	heap_image_free(image);
	return 0;
}
