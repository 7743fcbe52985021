// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libFuzzer: what blocks are, by memory of garbage: an object's data and constants, with tables, typeinfo
 * and types in them, and a heap. The input begins with a byte: how many blocks; each has two bytes for where it
 * begins in the heap and two for its size, in words. Then come the data, the constants and the heap.
 */
#include "tests/fuzz/fuzz.h"

#include "user/inspect/classes.h"

#define CODE	  0x10000ull
#define CONSTANTS 0x20000ull
#define DATA	  0x30000ull
#define HEAP	  0x40000ull
#define PART	  4096u

static const char maps[] = "10000-11000 r-xp 00000000 08:01 7 /f\n"
			   "20000-21000 r--p 00001000 08:01 7 /f\n"
			   "30000-31000 rw-p 00002000 08:01 7 /f\n"
			   "40000-50000 rw-p 00000000 00:00 0 [heap]\n";

static struct heap_image *make_image(const uint8_t **data, size_t *size)
{
	struct memory_image *memory = memory_image_new();
	struct heap_image *image = memory ? heap_image_new(memory) : NULL;
	size_t count = *size ? **data : 0;

	if (!image || maps_parse(maps, sizeof(maps) - 1, &memory->maps))
		abort();
	memory->regions = calloc(3, sizeof(*memory->regions));
	image->entered = calloc(count + 1, sizeof(*image->entered));
	if (!memory->regions || !image->entered)
		abort();
	*data += *size != 0;
	*size -= *size != 0;
	for (; count && *size >= 4; count--, *data += 4, *size -= 4)
		image->entered[image->block_count++] = (struct heap_block){
			.address = HEAP + 8ull * ((*data)[0] | (*data)[1] << 8),
			.size = 8ull * ((*data)[2] | (*data)[3] << 8),
			.stack = HEAP_OLD,
		};
	return image;
}

static void fill_memory(struct memory_image *memory, const uint8_t *data, size_t size)
{
	static const uint64_t starts[] = {DATA, CONSTANTS, HEAP};
	uint8_t *to;

	memory->data_size = size + 16;
	to = mmap(NULL, memory->data_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0);
	if (to == MAP_FAILED)
		abort();
	memory->data = to;
	for (size_t i = 0; i < 3; i++) {
		size_t part = i < 2 && size > PART ? PART : size;

		part &= ~7ull;
		if (!part)
			break;
		memcpy(to, data, part);
		memory->regions[memory->region_count++] = (struct memory_region){
			.start = starts[i],
			.size = part,
			.words = (const uint64_t *)to,
			.mapping = maps_find(memory->maps, starts[i]),
		};
		data += part;
		to += part;
		size -= part;
	}
	memory_image_finish(memory);
}

static void check_groups(const struct heap_image *image, const struct block_classes *classes)
{
	uint64_t blocks = 0;

	MUST(classes->block_count == image->block_count);
	for (size_t i = 0; i < classes->block_count; i++)
		MUST(packed_get(&classes->group, i) < classes->group_count);
	for (size_t i = 0; i < classes->group_count; i++) {
		const struct inspected_group *group = &classes->groups[i];

		MUST(group->live.count > 0);
		MUST((group->kind == GROUP_SIZE) == !group->name);
		fuzz_must_be_clean(group->name);
		fuzz_must_be_clean(group->module);
		blocks += group->live.count;
	}
	MUST(blocks == image->block_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct class_files files = {.object = NULL};
	struct block_classes *classes;
	struct heap_image *image;

	if (size > (1u << 16))
		return 0;
	image = make_image(&data, &size);
	fill_memory(image->memory, data, size);
	heap_image_finish(image);
	if (!block_classes_find(image, &files, &classes)) {
		check_groups(image, classes);
		block_classes_free(classes);
	}
	heap_image_free(image);
	return 0;
}
