// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libFuzzer: what the child that reads DWARF answers, and what becomes of it in a heap. The input begins with
 * the length of the answer (2 bytes) and the answer. Then comes a byte: how many blocks; each has two bytes for
 * where it begins in the heap and two for its size, in words. Then come 1 KiB of an object's data, and the heap.
 */
#include "tests/fuzz/fuzz.h"

#include "user/inspect/class_types.h"
#include "user/symbol/type_table.h"

#define DATA 0x30000ull
#define HEAP 0x40000ull
#define PART 1024u

static const char maps[] = "30000-31000 rw-p 00002000 08:01 7 /f\n"
			   "40000-50000 rw-p 00000000 00:00 0 [heap]\n";

struct input {
	const uint8_t *data;
	size_t size;
};

static const uint8_t *take(struct input *input, size_t size)
{
	const uint8_t *data = input->data;

	if (size > input->size)
		return NULL;
	input->data += size;
	input->size -= size;
	return data;
}

/* What is in a table stays in it. */
static void must_be_a_table(const struct type_table *table)
{
	struct type_table *again, *merged = type_table_new();
	uint32_t *ids = calloc(table->count, sizeof(*ids));
	struct bytes_writer bytes = {.failed = false}, bytes_again = bytes;

	MUST(merged && ids);
	MUST(table->count >= 1 && table->count <= TYPES_MAX + 1);
	for (size_t i = 1; i < table->count; i++) {
		const struct type *type = &table->types[i];

		MUST(type->name && *type->name && strlen(type->name) <= TYPE_NAME_MAX);
		MUST(type->size <= TYPE_SIZE_MAX && type->begins < table->count);
		MUST(type->first + type->count <= table->pointer_count);
		for (size_t k = 0; k < type->count; k++) {
			const struct type_pointer *p = &table->pointers[type->first + k];

			MUST(p->to < table->count && p->offset <= type->size);
			MUST(!p->count ||
			     p->offset + (uint64_t)(p->count - 1) * p->stride + 8 <= type->size);
		}
	}
	type_table_pack(table, &bytes);
	MUST(!bytes.failed && bytes.len <= TYPE_BYTES_MAX);
	MUST(!type_table_parse(bytes.bytes, bytes.len, &again));
	type_table_pack(again, &bytes_again);
	MUST(bytes.len == bytes_again.len && !memcmp(bytes.bytes, bytes_again.bytes, bytes.len));
	MUST(!type_table_merge(merged, table, ids) && !type_table_merge(merged, again, ids));
	MUST(merged->count == table->count);
	type_table_free(again);
	type_table_free(merged);
	free(bytes.bytes);
	free(bytes_again.bytes);
	free(ids);
}

static void add_region(struct memory_image *memory, uint64_t start, struct input *input, size_t max)
{
	size_t size = (input->size < max ? input->size : max) & ~7ul;
	uint8_t *to = (uint8_t *)memory->data + (start == HEAP ? PART : 0);

	if (!size)
		return;
	memcpy(to, take(input, size), size);
	memory->regions[memory->region_count++] = (struct memory_region){
		.start = start,
		.size = size,
		.words = (const uint64_t *)to,
		.mapping = maps_find(memory->maps, start),
	};
}

static struct heap_image *make_image(struct input *input)
{
	struct memory_image *memory = memory_image_new();
	struct heap_image *image = memory ? heap_image_new(memory) : NULL;
	const uint8_t *count = take(input, 1), *block;

	MUST(image && !maps_parse(maps, sizeof(maps) - 1, &memory->maps));
	memory->regions = calloc(2, sizeof(*memory->regions));
	memory->data_size = 1u << 17;
	memory->data = mmap(NULL, memory->data_size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	image->entered = calloc(256, sizeof(*image->entered));
	MUST(memory->regions && memory->data != MAP_FAILED && image->entered);
	for (size_t i = 0; count && i < *count && (block = take(input, 4)); i++)
		image->entered[image->block_count++] = (struct heap_block){
			.address = HEAP + 8ull * (block[0] | block[1] << 8),
			.size = 8ull * (block[2] | block[3] << 8),
			.stack = HEAP_OLD,
		};
	add_region(memory, DATA, input, PART);
	add_region(memory, HEAP, input, 1u << 16);
	memory_image_finish(memory);
	heap_image_finish(image);
	return image;
}

static void must_fit(const struct heap_image *image, const struct type_table *table)
{
	const size_t known_bytes = packed_bytes(image->block_count, CLASS_KNOWN_BITS);
	const struct packed known = {malloc(known_bytes), CLASS_KNOWN_BITS};
	struct class_groups *groups = class_groups_new();
	struct class_types *types;
	uint32_t group;

	MUST(known.bytes && groups);
	memset(known.bytes, 0xff, known_bytes);
	types = class_types_new(image, groups, &known);
	MUST(types && !class_types_take(types, table, 0, "/f"));
	MUST(!class_types_take(types, table, 8, "/g") && !class_types_run(types));
	for (size_t i = 0; i < image->block_count; i++) {
		MUST(!class_types_group(types, i, &group));
		if (group == CLASS_NO_GROUP)
			continue;
		MUST(class_groups_at(groups, group)->kind == GROUP_TYPE);
		fuzz_must_be_clean(class_groups_at(groups, group)->name);
		MUST(heap_block_at(image, i).size >= 2);
	}
	class_types_free(types);
	class_groups_free(groups);
	free(known.bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input input = {data, size};
	const uint8_t *len = take(&input, 2), *bytes;
	struct type_table *table;
	struct heap_image *image;

	if (!len || size > (1u << 17))
		return 0;
	bytes = take(&input, len[0] | (size_t)len[1] << 8);
	if (!bytes || type_table_parse(bytes, len[0] | (size_t)len[1] << 8, &table))
		return 0;
	must_be_a_table(table);
	image = make_image(&input);
	must_fit(image, table);
	heap_image_free(image);
	type_table_free(table);
	return 0;
}
