// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The memory of musl's allocator, as mallocng of musl 1.2.1 to 1.2.5 lays it out on 64 bits
 * (src/malloc/mallocng/meta.h of its sources). Blocks are slots of groups. A group begins with the
 * address of its struct meta, which has the group's address and says which slots are free. The
 * metas lie in areas, pages that begin with a secret number; the list of areas begins in the
 * allocator's context, a variable of libc (of a static program: its own) that begins with the same
 * number.
 *
 * A group is a mapping, or what the dynamic linker has left of an object's pages, or it lies in a
 * slot of a larger group. A group is believed only if it and its meta name each other, and a block
 * only if what stands before it says where in its group it is, as free() demands.
 */
#include <stdlib.h>

#include "user/base/util.h"
#include "user/heap/walker.h"

#define AREA	   4096ull
#define UNIT	   16ull
#define HEADER	   4ull /* before a slot: the last bytes of the one before */
#define METAS_MAX  101	/* in an area: (4096 - 24) / 40 */
#define META_FIRST 24
#define META_BYTES 40
#define CLASSES	   48
#define OWN_CLASS  63 /* one block in a mapping of its own */

/* What three bits before a block say: how many bytes of it nobody asked for, or */
#define RESERVED_MANY  5 /* at its end */
#define RESERVED_GROUP 6 /* a group is in it */
#define RESERVED_MOVED 7 /* in the slot's first place: the block begins further on */

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
	bool nested;
};

/* A group that is to be gone through, and where the memory that it has ends. Without a meta: an area. */
struct musl_job {
	uint64_t start, end, meta;
};

struct musl_books {
	struct heap_image *image;
	struct inventory_allocator *allocator;
	uint64_t secret;
	const struct memory_region *region; /* where the last word was */
	struct musl_job *jobs;
	size_t count, room;
	size_t nested;		 /* groups in slots that have not been come by */
	uint64_t left;		 /* slots to be looked at: a target may lie to make us busy */
	struct walker_hand hand; /* addresses of metas that threads have in hand */
	bool changing;		 /* a thread was just about to give out a block */
};

/* Words of a group are near each other. */
static bool musl_word(struct musl_books *books, uint64_t address, uint64_t *word)
{
	return !(address % 8) &&
	       memory_image_word_near(books->image->memory, &books->region, address, word);
}

/* The group that the meta describes; false when there is none, or they do not agree. */
static bool musl_read_group(struct musl_books *books, uint64_t meta, struct musl_group *g)
{
	const uint64_t *words = memory_image_words(books->image->memory, meta, META_BYTES / 8);
	uint64_t back, pages;
	uint32_t avail, freed, all;

	if (!words || !words[2] || words[2] % UNIT || words[2] >> 47 ||
	    !musl_word(books, words[2], &back) || back != meta)
		return false;
	avail = (uint32_t)words[3];
	freed = (uint32_t)(words[3] >> 32);
	pages = words[4] >> 12;
	g->start = words[2];
	g->slots = (words[4] & 31) + 1;
	g->size_class = words[4] >> 6 & 63;
	g->free = avail | freed;
	/* The dynamic linker's gifts can't be freed. */
	g->nested = !pages && words[4] >> 5 & 1;
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

static bool musl_is_area(const struct heap_image *image, uint64_t area, uint64_t secret)
{
	const uint64_t *words =
		area % AREA || !area ? NULL : memory_image_words(image->memory, area, 3);

	return words && words[0] == secret && (uint32_t)words[2] <= METAS_MAX;
}

/*
 * The first area, if the context begins at the words: their seventh and eighth are the first and the
 * last one, behind which there is none; where libc asks for the size of pages, all but the secret is
 * one further on.
 */
static uint64_t musl_read_context(const struct heap_image *image, const uint64_t *words)
{
	for (size_t shift = 0; shift < 2; shift++) {
		uint64_t first = words[7 + shift], last = words[8 + shift], next;

		if ((uint32_t)words[1 + shift] == 1 && musl_is_area(image, first, words[0]) &&
		    musl_is_area(image, last, words[0]) &&
		    memory_image_word(image->memory, last + 8, &next) && !next)
			return first;
	}
	return 0;
}

static uint64_t musl_find_context(const struct heap_image *image, uint64_t *secret)
{
	for (size_t i = 0; i < image->memory->region_count; i++) {
		const struct memory_region *r = &image->memory->regions[i];

		if (!walker_is_data(image, r))
			continue;
		for (size_t w = 0; w + 10 <= r->size / 8; w++) {
			uint64_t first = r->words[w] ? musl_read_context(image, r->words + w) : 0;

			*secret = r->words[w];
			if (first)
				return first;
		}
	}
	return 0;
}

/* ---- blocks ------------------------------------------------------------------------------- */

/*
 * What stands before a block at the address, if it is one: in the slot of that index, and as far from
 * the group's beginning as it says.
 */
static bool musl_read_header(struct musl_books *books, const struct musl_group *g, uint32_t index,
			     uint64_t block, unsigned *reserved)
{
	uint64_t header, units = (block - g->start) / UNIT - 1;

	if (!musl_word(books, block - 8, &header) || (header >> 40 & 31) != index)
		return false;
	*reserved = header >> 45 & 7;
	if (*reserved == RESERVED_MOVED)
		return false;
	/* What does not fit there stands before it. */
	if (header >> 32 & 0xff)
		return !(header >> 48) && (uint32_t)header == units;
	return header >> 48 == units;
}

/* The block in the slot that is in use; 0: it can't be told. */
static uint64_t musl_find_block(struct musl_books *books, const struct musl_group *g,
				uint32_t index, unsigned *reserved)
{
	uint64_t slot = g->start + UNIT + index * g->stride, end = slot + g->stride, header;

	if (musl_read_header(books, g, index, slot, reserved))
		return slot;
	if (!musl_word(books, slot - 8, &header) || (header >> 40 & 0xff) != RESERVED_MOVED << 5)
		return 0;
	/* Of a large alignment only the lower bits are there. */
	for (uint64_t at = slot + UNIT * (header >> 48); at < end && books->left;
	     at += UNIT << 16, books->left--) {
		if (at > slot && musl_read_header(books, g, index, at, reserved))
			return at;
	}
	return 0;
}

/*
 * The group has the slot as in use; is it on its way from one to another, nobody's, and holds nothing? free() says before
 * the block that it is free, then in the meta; malloc() takes it from the meta, lets others go on, and then writes
 * what stands before it (enframe()). What has never been given out has zeros there.
 */
static bool musl_is_on_its_way(struct musl_books *books, const struct musl_group *g, uint32_t index)
{
	uint64_t block = g->start + UNIT + index * g->stride, header;

	if (!musl_word(books, block - 8, &header))
		return false;
	if ((header >> 40 & 0xff) == RESERVED_MOVED << 5 &&
	    (!musl_word(books, block + UNIT * (header >> 48) - 8, &header) || header >> 40 != 0xff))
		return false;
	return header >> 40 == 0xff || (!(header >> 40) && index);
}

/*
 * A group's first slot has zeros before it when all of it was asked for, too. Where malloc() has its meta in hand it may
 * be on its way: then nothing else need lead to it.
 */
static int musl_hold_first(struct musl_books *books, const struct musl_group *g, uint64_t meta)
{
	uint64_t block = g->start + UNIT, header;

	if (!walker_is_in_hand(&books->hand, meta, meta + META_BYTES) ||
	    !musl_word(books, block - 8, &header) || header >> 40)
		return 0;
	books->changing = true;
	return heap_image_hold(books->image, block);
}

/* How many bytes of the block were asked for; `end`: of the slot, less the next one's header. */
static bool musl_read_asked(struct musl_books *books, uint64_t block, uint64_t end,
			    unsigned reserved, uint64_t *asked)
{
	uint64_t word = reserved;

	if (reserved == RESERVED_MANY && !musl_word(books, end - HEADER, &word))
		return false;
	*asked = end - block - (uint32_t)word;
	return (uint32_t)word <= end - block;
}

static int musl_push(struct musl_books *books, uint64_t start, uint64_t end, uint64_t meta)
{
	if (!RESERVE_ITEM(books->jobs, books->count, books->room, 256))
		return -ENOMEM;
	books->jobs[books->count++] = (struct musl_job){start, end, meta};
	return 0;
}

static int musl_own(struct musl_books *books, uint64_t start, uint64_t end)
{
	return walker_report(books->image, books->allocator, INVENTORY_BOOKS, start, end,
			     UINT64_MAX);
}

/*
 * One that is in use; *at is where what has been reported ends. What is in use and no block that we
 * know may be libc's own, even when the program has been traced from its first instruction: the
 * dynamic linker takes memory for the first thread's TLS past the functions that have probes.
 */
static int musl_report_slot(struct musl_books *books, const struct musl_group *g, uint32_t index,
			    uint64_t *at)
{
	uint64_t slot = g->start + UNIT + index * g->stride, end = slot + g->stride, asked, meta;
	unsigned reserved;
	uint64_t block = musl_find_block(books, g, index, &reserved);
	struct musl_group inner;
	int err;

	if (block && reserved == RESERVED_GROUP && musl_word(books, block, &meta) &&
	    musl_is_area(books->image, meta & ~(AREA - 1), books->secret) &&
	    musl_read_group(books, meta, &inner) && inner.start == block && inner.nested &&
	    inner.size <= end - block) {
		books->nested -= books->nested ? 1 : 0;
		err = musl_own(books, *at, block);
		*at = end;
		return err ?: musl_push(books, block, end, meta);
	}
	if (!block || reserved > RESERVED_MANY ||
	    !musl_read_asked(books, block, end - HEADER, reserved, &asked)) {
		walker_doubt(books->allocator,
			     "what stands before some blocks does not fit their places");
		err = musl_own(books, *at, slot);
		*at = end;
		return err
			       ?: walker_report(books->image, books->allocator,
						INVENTORY_UNBELIEVED, slot, end, UINT64_MAX);
	}
	err = musl_own(books, *at, block);
	*at = end - HEADER;
	err = err
		      ?: walker_report(books->image, books->allocator, INVENTORY_IN_USE, block,
				       end - HEADER, asked);
	/* What nobody asked for holds nothing: malloc_usable_size() does not give it away. */
	return err ?: heap_image_add_dead(books->image, (block + asked + 7) & ~7ull, end);
}

/* All of its memory up to the end, each piece once. */
static int musl_report_group(struct musl_books *books, const struct musl_group *g, uint64_t meta,
			     uint64_t end)
{
	uint64_t at = g->start;
	int err = 0;

	walker_unit(books->image, books->allocator, "group", g->start, end);
	for (uint32_t i = 0; !err && i < g->slots && books->left; i++, books->left--) {
		uint64_t slot = g->start + UNIT + i * g->stride;

		if (!(g->free >> i & 1) && !musl_is_on_its_way(books, g, i)) {
			err = i ? 0 : musl_hold_first(books, g, meta);
			err = err ?: musl_report_slot(books, g, i, &at);
			continue;
		}
		err = musl_own(books, at, slot);
		at = slot + g->stride;
		err = err
			      ?: walker_report(books->image, books->allocator, INVENTORY_CACHED,
					       slot, at, UINT64_MAX);
	}
	if (!books->left)
		walker_doubt(books->allocator, "it has more groups than there is memory");
	return err
		       ?: books->left ? musl_own(books, at, end)
				      : walker_report(books->image, books->allocator,
						      INVENTORY_UNBELIEVED, at, end, UINT64_MAX);
}

/* ---- groups ------------------------------------------------------------------------------- */

/* The area and all groups that it has, but for those in slots of others, which are only counted. */
static int musl_read_area(struct musl_books *books, uint64_t area)
{
	int err = musl_push(books, area, area + AREA, 0);

	for (uint64_t i = 0; !err && i < METAS_MAX; i++) {
		uint64_t meta = area + META_FIRST + META_BYTES * i, mem;
		struct musl_group g;

		if (!musl_word(books, meta + 16, &mem) || !mem)
			continue;
		if (!musl_read_group(books, meta, &g))
			walker_doubt(books->allocator,
				     "some groups and their descriptions disagree");
		else if (g.nested)
			books->nested++;
		else
			err = musl_push(books, g.start, g.start + g.size, meta);
	}
	return err;
}

/* A list that comes back to where it was is a circle: looked for at each power of two (Brent). */
static int musl_read_areas(struct musl_books *books, uint64_t area)
{
	uint64_t before = 0;
	int err = 0;

	for (size_t i = 1;
	     !err && area != before && musl_is_area(books->image, area, books->secret); i++) {
		if (!(i & (i - 1)))
			before = area;
		err = musl_read_area(books, area);
		if (!musl_word(books, area + 8, &area))
			break;
	}
	if (area == before)
		walker_doubt(books->allocator, "its list of areas is a circle");
	return err;
}

/* Metas are all in areas. */
static int musl_find_hand(struct musl_books *books)
{
	struct heap_range range = {UINT64_MAX, 0};

	for (size_t i = 0; i < books->count; i++) {
		const struct musl_job *job = &books->jobs[i];

		if (job->meta)
			continue;
		range.start = job->start < range.start ? job->start : range.start;
		range.end = job->end > range.end ? job->end : range.end;
	}
	return range.end ? walker_find_in_hand(books->image, &range, &books->hand) : 0;
}

static int musl_job_order(const void *a, const void *b)
{
	const struct musl_job *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* First those that stand alone; those in their slots come behind as they are met. */
static int musl_report_all(struct musl_books *books, uint64_t first_area)
{
	uint64_t end = 0;
	size_t alone;
	int err = musl_read_areas(books, first_area);

	err = err ?: musl_find_hand(books);
	alone = books->count;
	if (alone)
		qsort(books->jobs, alone, sizeof(*books->jobs), musl_job_order);
	for (size_t i = 0; !err && i < books->count; i++) {
		struct musl_job job = books->jobs[i];
		struct musl_group g;

		if (i < alone && job.start < end) {
			walker_doubt(books->allocator, "some groups lie in each other");
			continue;
		}
		if (i < alone)
			end = job.end;
		if (!job.meta)
			err = musl_own(books, job.start, job.end);
		else if (musl_read_group(books, job.meta, &g))
			err = musl_report_group(books, &g, job.meta, job.end);
	}
	if (books->changing)
		walker_doubt(books->allocator,
			     "a thread was allocating at that moment: some blocks "
			     "may be on their way");
	if (books->nested)
		walker_doubt(books->allocator, "some groups lie in no slot of another");
	return err;
}

int musl_heap_mark(struct heap_image *image)
{
	struct musl_books books = {.image = image, .left = image->memory->bytes / UNIT};
	uint64_t first = musl_find_context(image, &books.secret);
	int err;

	if (!first)
		return 0;
	books.allocator = walker_allocator(image, "musl");
	err = musl_report_all(&books, first);
	free(books.jobs);
	free(books.hand.words);
	return err;
}
