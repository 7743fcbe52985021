// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Free memory of musl's allocator, as mallocng of musl 1.2.1 to 1.2.5 lays it out on 64 bits
 * (src/malloc/mallocng/meta.h of its sources). Blocks are slots of groups. A group begins with the
 * address of its struct meta, which has the group's address and says which slots are free. The
 * metas lie in areas, pages that begin with a secret number; the list of areas begins in the
 * allocator's context, a variable of libc that begins with the same number.
 *
 * The context is found by way of a tracked block: from its header to its group, meta and area,
 * checked as free() itself would. A group is believed only if it and its meta name each other.
 */
#include "user/heap/walker.h"

#define AREA	   4096ull
#define UNIT	   16ull
#define METAS_MAX  101 /* in an area: (4096 - 24) / 40 */
#define META_FIRST 24
#define META_BYTES 40
#define CLASSES	   48
#define OWN_CLASS  63 /* one block in a mapping of its own */
#define PROBES	   64 /* blocks that are looked at to find the context */

/* Sizes of slots, in units. */
static const uint16_t class_units[CLASSES] = {
	1,   2,	  3,   4,    5,	   6,	 7,    8,    9,	   10,	 12,   15,   18,   20,	 25,   31,
	36,  42,  50,  63,   72,   84,	 102,  127,  146,  170,	 204,  255,  292,  340,	 409,  511,
	584, 682, 818, 1023, 1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191,
};

struct musl_group {
	uint64_t start, size, stride;
	uint32_t slots, free; /* how many; which, by bit */
	unsigned size_class;
};

/* The group that the meta describes; false when there is none, or they do not agree. */
static bool musl_read_group(const struct heap_image *image, uint64_t meta, struct musl_group *g)
{
	const uint64_t *words = memory_image_words(image->memory, meta, META_BYTES / 8);
	uint64_t back, pages;
	uint32_t avail, freed, all;

	if (!words || !words[2] || words[2] % UNIT || words[2] >> 47 ||
	    !memory_image_word(image->memory, words[2], &back) || back != meta)
		return false;
	avail = (uint32_t)words[3];
	freed = (uint32_t)(words[3] >> 32);
	pages = words[4] >> 12;
	g->start = words[2];
	g->slots = (words[4] & 31) + 1;
	g->size_class = words[4] >> 6 & 63;
	g->free = avail | freed;
	all = (uint32_t)((2ull << (g->slots - 1)) - 1);
	if ((avail & freed) || (g->free & ~all) || pages >> 35)
		return false;
	if (g->size_class >= CLASSES && (g->size_class != OWN_CLASS || g->slots > 1 || !pages))
		return false;
	g->stride =
		g->slots == 1 && pages ? pages * AREA - UNIT : UNIT * class_units[g->size_class];
	g->size = pages ? pages * AREA : UNIT + g->slots * g->stride;
	return UNIT + g->slots * g->stride <= g->size;
}

/*
 * What stands before a block: which slot it is in, and how far it is from the group's first one in
 * units.
 */
static bool musl_read_header(const struct heap_image *image, uint64_t block, uint64_t *slot,
			     uint64_t *offset)
{
	uint64_t header;

	if (block % UNIT || !memory_image_word(image->memory, block - 8, &header))
		return false;
	*slot = header >> 40 & 31;
	*offset = header >> 48;
	if (!(header >> 32 & 0xff))
		return true;
	/* It did not fit there. */
	if (*offset)
		return false;
	*offset = header & 0xffffffff;
	return true;
}

/* The page of metas that the block leads to; 0: it is not musl's. */
static uint64_t musl_area_of(const struct heap_image *image, uint64_t block)
{
	uint64_t offset, start, meta, slot, first;
	struct musl_group g;

	if (!musl_read_header(image, block, &slot, &offset))
		return 0;
	start = block - UNIT * (offset + 1);
	if (!memory_image_word(image->memory, start, &meta) || meta % AREA < META_FIRST ||
	    (meta % AREA - META_FIRST) % META_BYTES || !musl_read_group(image, meta, &g) ||
	    g.start != start)
		return 0;
	first = slot * (g.stride / UNIT);
	if (slot >= g.slots || g.free >> slot & 1 || offset < first ||
	    offset >= first + g.stride / UNIT)
		return 0;
	return meta & ~(AREA - 1);
}

static bool musl_is_area(const struct heap_image *image, uint64_t area, uint64_t secret)
{
	const uint64_t *words =
		area % AREA || !area ? NULL : memory_image_words(image->memory, area, 3);

	return words && words[0] == secret && (uint32_t)words[2] <= METAS_MAX;
}

/*
 * The first area, which the context names: its words 7 and 8 are the first and the last; where libc
 * asks for the size of pages, one further on.
 */
static uint64_t musl_first_area(const struct heap_image *image, uint64_t secret)
{
	for (size_t i = 0; i < image->memory->region_count; i++) {
		const struct memory_region *r = &image->memory->regions[i];

		if (!walker_is_data(image, r))
			continue;
		for (size_t w = 0; w + 10 <= r->size / 8; w++) {
			if (r->words[w] != secret)
				continue;
			for (size_t shift = 0; shift < 2; shift++) {
				const uint64_t *at = r->words + w + 7 + shift;
				uint64_t next;

				if (musl_is_area(image, at[0], secret) &&
				    musl_is_area(image, at[1], secret) &&
				    memory_image_word(image->memory, at[1] + 8, &next) && !next)
					return at[0];
			}
		}
	}
	return 0;
}

/*
 * Is all of the slot one block that we know? What is left of it is then nobody's:
 * malloc_usable_size() says what was asked for.
 */
static bool musl_is_known(const struct heap_image *image, const struct musl_group *g,
			  uint32_t index, size_t *block)
{
	uint64_t start = g->start + UNIT + index * g->stride, slot, offset, address;

	while (*block < image->block_count && image->blocks[*block].address < start)
		(*block)++;
	if (*block == image->block_count || image->blocks[*block].address >= start + g->stride)
		return false;
	address = image->blocks[*block].address;
	/* Not one with others inside (a pool's). */
	return musl_read_header(image, address, &slot, &offset) && slot == index &&
	       offset == (address - g->start) / UNIT - 1 &&
	       (*block + 1 == image->block_count ||
		image->blocks[*block + 1].address >= start + g->stride);
}

/*
 * What is in use and no block that we know may be libc's own, even when the program has been traced
 * from its first instruction: the dynamic linker takes memory for the first thread's TLS past the
 * functions that have probes.
 */
static int musl_mark_group(struct heap_image *image, const struct musl_group *g)
{
	size_t block = heap_image_block(image, g->start);
	int err = 0;

	for (uint32_t i = 0; !err && i < g->slots; i++) {
		uint64_t start = g->start + UNIT + i * g->stride;

		if (g->free >> i & 1 || musl_is_known(image, g, i, &block))
			err = heap_image_add_dead(image, start, start + g->stride);
	}
	return err;
}

static int musl_mark_areas(struct heap_image *image, uint64_t area, uint64_t secret)
{
	int err = 0;

	/* A list that is longer than there are pages is a circle. */
	for (size_t left = image->memory->data_size / AREA;
	     !err && left && musl_is_area(image, area, secret); left--) {
		for (uint64_t i = 0; !err && i < METAS_MAX; i++) {
			struct musl_group g;

			if (musl_read_group(image, area + META_FIRST + META_BYTES * i, &g))
				err = musl_mark_group(image, &g);
		}
		if (!memory_image_word(image->memory, area + 8, &area))
			break;
	}
	return err;
}

int musl_heap_mark(struct heap_image *image)
{
	size_t step = image->block_count / PROBES + 1;
	uint64_t last = 0;

	for (size_t i = 0; i < image->block_count; i += step) {
		uint64_t area = musl_area_of(image, image->blocks[i].address), secret, first;

		if (!area || area == last || !memory_image_word(image->memory, area, &secret) ||
		    !secret)
			continue;
		last = area;
		first = musl_first_area(image, secret);
		if (first)
			return musl_mark_areas(image, first, secret);
	}
	return 0;
}
