// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/walker.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "user/base/page.h"
#include "user/base/util.h"
#include "user/heap/dead_memory.h"

/* Other anonymous memory may have become one mapping with an object's .bss. */
#define DATA_MAX  (64ull << 20)
#define TLS_REACH (64ull << 10)
/* Of a stack: the frames of an allocator, and of what it calls, are the last ones. */
#define FRAMES_REACH (16ull << 10)
/* What an allocator has asked for at once may have become so many. */
#define MAPPINGS_MAX 64

/* Before each of a million blocks a range of its own would be what costs most. */
#define HEADER_MAX 16

bool walker_is_data(const struct heap_image *image, const struct memory_region *region)
{
	const struct mapping *m = region->mapping, *below;

	if (!m || !m->write || m->shared || region->start - m->start > DATA_MAX)
		return false;
	if (m->apart)
		return false;
	below = m->ino || !m->start ? m : maps_find(image->memory->maps, m->start - 1);
	return below && below->ino;
}

bool walker_is_mapped(const struct heap_image *image, uint64_t start, uint64_t end)
{
	for (unsigned i = 0; i < MAPPINGS_MAX && start < end; i++) {
		const struct mapping *m = maps_find(image->memory->maps, start);

		if (!m || !m->write || m->shared)
			return false;
		start = m->end;
	}
	return start >= end;
}

int walker_slot(struct heap_image *image, size_t *block, uint64_t start, uint64_t end, bool inner)
{
	uint64_t address;

	while (*block < image->block_count && heap_block_address(image, *block) < start)
		(*block)++;
	if (*block == image->block_count)
		return 0;
	address = heap_block_address(image, *block);
	if (address >= end)
		return 0;
	/* One with others inside is a pool's, and let be. */
	if ((!inner && address != start) || heap_block_end(image, *block) > end ||
	    (*block + 1 < image->block_count && heap_block_address(image, *block + 1) < end))
		return 1;
	return heap_image_set_room(image, *block, end) ?: heap_image_add_dead(image, start, end) ?: 1;
}

struct inventory_allocator *walker_allocator(struct heap_image *image, const char *name)
{
	return image->inventory ? inventory_add_allocator(image->inventory, name) : NULL;
}

void walker_doubt(struct inventory_allocator *allocator, const char *why)
{
	if (allocator && !*allocator->shown.why)
		snprintf(allocator->shown.why, sizeof(allocator->shown.why), "%s", why);
}

/* ---- units -------------------------------------------------------------------------------- */

void walker_unit(struct heap_image *image, struct inventory_allocator *allocator, const char *name,
		 uint64_t start, uint64_t end)
{
	if (!allocator || !image->inventory->keeping)
		return;
	snprintf(allocator->shown.unit, sizeof(allocator->shown.unit), "%s", name);
	allocator->shown.units++;
	keeping_open(image->inventory->keeping, start, end);
}

static uint64_t walker_look(void *ctx, uint64_t start, uint64_t end)
{
	const struct heap_image *image = ctx;

	return inventory_resident(image->inventory, image->memory, start, end);
}

static int walker_note(struct heap_image *image, const struct inventory_allocator *allocator,
		       enum inventory_part part, uint64_t start, uint64_t end)
{
	const struct keeping_piece piece = {
		.start = start,
		.end = end,
		.allocator = (uint8_t)(allocator - image->inventory->allocators),
		.in_use = part == INVENTORY_IN_USE,
		.unknown = part == INVENTORY_UNBELIEVED,
		.cached = part == INVENTORY_CACHED,
		.page = page_size(),
	};

	if (!image->inventory->keeping || part == INVENTORY_BOOKS)
		return 0;
	return keeping_note(image->inventory->keeping, &piece, walker_look, image);
}

/* ---- pieces ------------------------------------------------------------------------------- */

/* A block that is none, for another allocator has made its own of it: what is around those. */
static int walker_report_around(struct heap_image *image, struct inventory_allocator *allocator,
				uint64_t start, uint64_t end)
{
	const struct heap_range *claimed = heap_image_claimed(image, start);
	int err = 0;

	while (!err && start < end) {
		uint64_t stop = claimed && claimed->start < end ? claimed->start : end;

		if (allocator && stop > start)
			inventory_count(image->inventory, allocator, image->memory, INVENTORY_BOOKS,
					start, stop, UINT64_MAX);
		err = heap_image_add_dead(image, start, stop);
		start = stop < end ? claimed->end : end;
		claimed = heap_image_claimed(image, start);
	}
	return err;
}

/* The first block that does not begin before the address. Mostly pieces come in the order of addresses. */
static size_t walker_next_block(struct heap_image *image, uint64_t address)
{
	size_t i = image->reported < image->block_count ? image->reported : 0, steps = 0;

	if (!image->block_count)
		return 0;
	while (i < image->block_count && heap_block_address(image, i) < address && steps++ < 8)
		i++;
	if ((i < image->block_count && heap_block_address(image, i) < address) ||
	    (i && heap_block_address(image, i - 1) >= address))
		i = heap_image_block(image, address);
	image->reported = i;
	return i;
}

/* Which known blocks lie in the piece: their bytes have been counted with it. Returns how many. */
static size_t walker_see(struct heap_image *image, uint64_t start, uint64_t end)
{
	size_t first = walker_next_block(image, start), block = first;

	for (; block < image->block_count && heap_block_address(image, block) < end; block++) {
		if (image->inventory && image->inventory->seen)
			image->inventory->seen[block] = true;
	}
	return block - first;
}

/* Of the one known block in it, which has it alone. */
static void walker_note_usable(struct heap_image *image, uint64_t start, uint64_t end)
{
	const struct heap_block block = heap_block_at(image, walker_next_block(image, start));
	struct heap_usable *usable;
	double weight;

	if (block.stack >= image->usable_stacks || block.size > end - block.address)
		return;
	usable = &image->usable[block.stack];
	weight = heap_image_weight_of(image, &block);
	usable->bytes += weight * (double)(end - block.address);
	usable->asked += weight * (double)block.size;
	usable->count += weight;
}

/* What was asked for of a piece with one known block in it. */
static uint64_t walker_asked(struct heap_image *image, uint64_t start, uint64_t end)
{
	size_t block = walker_next_block(image, start);
	uint64_t block_end = heap_block_end(image, block);

	return block_end <= end ? block_end - start : UINT64_MAX;
}

/* A block in use that is none of ours. */
static int walker_report_block(struct heap_image *image, struct inventory_allocator *allocator,
			       uint64_t start, uint64_t end, uint64_t asked)
{
	int err = heap_image_add_old(image, start, asked < end - start ? asked : end - start);

	if (err != -E2BIG)
		return err;
	walker_doubt(allocator, "it has more blocks than its memory could hold");
	return 0;
}

int walker_report(struct heap_image *image, struct inventory_allocator *allocator,
		  enum inventory_part part, uint64_t start, uint64_t end, uint64_t asked)
{
	const struct heap_range *claimed =
		part == INVENTORY_IN_USE ? heap_image_claimed(image, start) : NULL;
	size_t known =
		part == INVENTORY_IN_USE || image->inventory ? walker_see(image, start, end) : 0;

	if (claimed && claimed->start < end)
		return walker_report_around(image, allocator, start, end);
	if (image->usable && known == 1 && part == INVENTORY_IN_USE)
		walker_note_usable(image, start, end);
	if (allocator && known == 1 && part == INVENTORY_IN_USE && asked == UINT64_MAX)
		asked = walker_asked(image, start, end);
	if (allocator)
		inventory_count(image->inventory, allocator, image->memory, part, start, end,
				asked);
	if (allocator && walker_note(image, allocator, part, start, end))
		return -ENOMEM;
	switch (part) {
	case INVENTORY_FREE:
	case INVENTORY_CACHED:
		return heap_image_add_dead(image, start, end);
	case INVENTORY_BOOKS: /* a block's header has its size, and is no pointer to a block */
		return end - start <= HEADER_MAX ? 0 : heap_image_add_dead(image, start, end);
	case INVENTORY_IN_USE:
		return known ? 0 : walker_report_block(image, allocator, start, end, asked);
	default: /* it may hold anything: roots */
		return 0;
	}
}

/* What a thread has in hand, one word after the other: its registers, then its last frames. */
struct walker_words {
	const struct memory_thread *thread;
	size_t next; /* register */
	uint64_t at, end;
	struct memory_run run;
};

static struct walker_words walker_words(const struct memory_thread *thread, uint64_t own)
{
	uint64_t at = (thread->sp - STACK_RED_ZONE) & ~7ull, end = at + FRAMES_REACH;

	return (struct walker_words){
		.thread = thread,
		.at = at,
		.end = own > at && own < end ? own : end,
	};
}

static bool walker_next_word(const struct heap_image *image, struct walker_words *w, uint64_t *word)
{
	if (w->next < w->thread->word_count) {
		*word = w->thread->words[w->next++];
		return true;
	}
	if (!w->run.count && !memory_image_next_run(image->memory, &w->at, w->end, &w->run))
		return false;
	*word = *w->run.words++;
	w->run.count--;
	return true;
}

bool walker_has_in_hand(const struct heap_image *image, const struct memory_thread *thread,
			const struct heap_range *range, uint64_t own)
{
	struct walker_words words = walker_words(thread, own);
	uint64_t word;

	while (walker_next_word(image, &words, &word)) {
		if (word - range->start < range->end - range->start)
			return true;
	}
	return false;
}

int walker_find_in_hand(const struct heap_image *image, const struct heap_range *range,
			struct walker_hand *out)
{
	*out = (struct walker_hand){.count = 0};
	for (size_t i = 0; i < image->memory->thread_count; i++) {
		struct walker_words words = walker_words(&image->memory->threads[i], 0);
		uint64_t word;

		while (walker_next_word(image, &words, &word)) {
			if (word - range->start >= range->end - range->start)
				continue;
			if (!RESERVE_ITEM(out->words, out->count, out->room, 64))
				return -ENOMEM;
			out->words[out->count++] = word;
		}
	}
	if (out->count)
		qsort(out->words, out->count, sizeof(*out->words), compare_u64);
	return 0;
}

bool walker_is_in_hand(const struct walker_hand *hand, uint64_t start, uint64_t end)
{
	size_t i = BISECT(i, 0, hand->count, hand->words[i] < start);

	return i < hand->count && hand->words[i] < end;
}

struct heap_range walker_tls(const struct memory_thread *thread)
{
	uint64_t tls = thread->tls & ~7ull;

	return (struct heap_range){tls - TLS_REACH, tls + TLS_REACH};
}
