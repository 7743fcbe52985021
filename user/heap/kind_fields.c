// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/kind_fields.h"

#include <errno.h>
#include <stdlib.h>

/* So many words of a block are told apart; what is behind them counts as a field: of tables each is one. */
#define FIELDS_MAX 64

/* Kinds beyond that have no fields that are known. */
#define KINDS_MAX 16384

/* A field is a pointer in one of so many blocks of its kind; of fewer blocks nothing can be said. */
#define FIELD_SHARE 8
#define FIELD_LEAST 16

struct fields {
	const struct heap_image *image;
	struct fields_kinds kinds;
	uint32_t (
		*pointers)[FIELDS_MAX]; /* by kind and word: in how many blocks it points to one */
	uint32_t *blocks;		/* by kind: how many there are */
	uint64_t low, span;		/* all blocks are in [low, low + span] */
};

static void fields_look_at(struct fields *f, uint32_t block)
{
	const uint32_t kind = f->kinds.kind(f->kinds.ctx, block);
	const uint64_t start = (heap_block_address(f->image, block) + 7) & ~7ull;
	uint64_t at = start, end = heap_block_room_end(f->image, block);
	struct memory_run run;

	if (kind >= f->kinds.count)
		return;
	f->blocks[kind]++;
	if (end > start + 8 * FIELDS_MAX)
		end = start + 8 * FIELDS_MAX;
	while (memory_image_next_run(f->image->memory, &at, end, &run)) {
		uint32_t *pointers = &f->pointers[kind][(run.address - start) / 8];

		for (size_t i = 0; i < run.count; i++)
			pointers[i] += run.words[i] - f->low <= f->span;
	}
}

int fields_new(const struct heap_image *image, const struct fields_kinds *kinds,
	       struct fields **out)
{
	struct fields *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->image = image;
	f->kinds = *kinds;
	if (f->kinds.count > KINDS_MAX)
		f->kinds.count = KINDS_MAX;
	f->pointers = calloc(f->kinds.count + 1, sizeof(*f->pointers));
	f->blocks = calloc(f->kinds.count + 1, sizeof(*f->blocks));
	if (!f->pointers || !f->blocks) {
		fields_free(f);
		return -ENOMEM;
	}
	if (image->block_count) {
		f->low = heap_block_address(image, 0);
		f->span = heap_block_end(image, image->block_count - 1) - f->low;
	}
	for (size_t i = 0; i < image->block_count; i++)
		fields_look_at(f, (uint32_t)i);
	*out = f;
	return 0;
}

void fields_free(struct fields *f)
{
	if (!f)
		return;
	free(f->pointers);
	free(f->blocks);
	free(f);
}

bool fields_is_weak(void *fields, uint32_t block, uint64_t address)
{
	const struct fields *f = fields;
	const uint64_t start = (heap_block_address(f->image, block) + 7) & ~7ull;
	const uint64_t word = (address - start) / 8;
	uint32_t kind;

	if (word >= FIELDS_MAX)
		return false;
	kind = f->kinds.kind(f->kinds.ctx, block);
	return kind < f->kinds.count && f->blocks[kind] >= FIELD_LEAST &&
	       (uint64_t)f->pointers[kind][word] * FIELD_SHARE < f->blocks[kind];
}
