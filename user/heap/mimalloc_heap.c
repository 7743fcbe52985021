// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The memory of mimalloc, as mimalloc 2.0.9 to 2.1.2 lays it out on 64 bits without its secure
 * mode (include/mimalloc-types.h of its sources). Memory comes in segments at multiples of 32 MiB,
 * which begin with a struct, a row of descriptions of the pages behind it in it. A page has blocks
 * of one size; its free ones are on three lists, and what another thread has freed of a full page
 * is on a list of the heap that has the page.
 *
 * A segment's cookie is its address changed with a number that is the same for all: the cookie of
 * the first heap, a variable of the library. A number is believed when a variable of an object has
 * it or several segments agree on it, a segment only if the row of pages leads over all of its slices,
 * and a page only if its lists and its count of used blocks make up its capacity.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/heap/walker.h"

#define SEGMENT	     (32ull << 20)
#define SLICE	     (64ull << 10)
#define SLICES	     512
#define SLICE_BYTES  80
#define HEADER_WORDS 33 /* then come the slices */
#define HUGE_BLOCK   (2ull << 30)
#define BLOCKS_MAX   65536
#define KEYS_MAX     64 /* different ones that segments may lead to */

/* Rules of how far behind their slice pages of smaller blocks begin: until 2.0.9; from 2.1 on. */
enum mimalloc_rule { RULE_2_0, RULE_2_1 };

#define PROBES 256 /* pages that are looked at to find the rule */

/* Of a heap, behind its thread's data, 129 pages and 75 queues of them: blocks freed by others. */
#define HEAP_DELAYED (8 + 129 * 8 + 75 * 24)

struct mimalloc_page {
	uint64_t start, end;	 /* of its memory */
	uint64_t first, bytes;	 /* its blocks */
	uint64_t capacity, used; /* blocks that there have ever been; that are given out */
	uint64_t lists[3];
	uint64_t heap; /* 0: its thread has ended */
	bool aligned;  /* some blocks begin behind where they were cut */
};

struct mimalloc_segment {
	uint64_t start, end, cookie, used;
	uint64_t align, align_offset; /* of a huge block: what was asked for, 0: nothing */
	uint32_t info, entries;	      /* slices */
	bool huge;		      /* it is one block */
};

/* A number that cookies may be made with, and segments that have it. */
struct mimalloc_key {
	uint64_t key;
	size_t segments;
};

struct mimalloc_books {
	struct heap_image *image;
	struct inventory_allocator *allocator;
	uint64_t key;  /* cookies are made with it */
	uint64_t left; /* blocks to be looked at: a target may lie to make us busy */
	enum mimalloc_rule rule;
	struct mimalloc_segment *segments;
	size_t segment_count, segment_room;
	struct mimalloc_key keys[KEYS_MAX];
	size_t key_count;
	uint64_t *heaps; /* that pages name */
	size_t heap_count, heap_room;
	uint64_t *delayed; /* blocks that wait on the lists of heaps; by address */
	size_t delayed_count, delayed_room;
	uint64_t free[BLOCKS_MAX / 64]; /* blocks of the page at hand, by bit */
};

static bool mimalloc_read_segment(const struct heap_image *image, uint64_t start,
				  struct mimalloc_segment *s)
{
	const uint64_t *words = memory_image_words(image->memory, start, HEADER_WORDS);

	if (!words || !words[28] || words[28] > 1ull << 31 || !words[29] || words[29] > 16 ||
	    words[31] <= words[29] || words[31] > SLICES || words[31] > words[28] ||
	    (uint32_t)words[30] > 1)
		return false;
	*s = (struct mimalloc_segment){
		.start = start,
		.end = start + words[28] * SLICE,
		.cookie = words[27],
		.used = words[26],
		.align = words[2],
		.align_offset = words[3],
		.info = (uint32_t)words[29],
		.entries = (uint32_t)words[31],
		.huge = (uint32_t)words[30],
	};
	return s->huge || words[28] <= SLICES;
}

/*
 * How many slices belong together at the index, and the size of the blocks there (0: they are
 * free). 0: it is nobody's first.
 */
static uint32_t mimalloc_read_span(const struct heap_image *image, const struct mimalloc_segment *s,
				   uint32_t index, uint32_t *bytes)
{
	uint64_t at = s->start + 8 * HEADER_WORDS + SLICE_BYTES * (uint64_t)index;
	const uint64_t *words = memory_image_words(image->memory, at, 4);
	uint32_t count = words && !(words[0] >> 32) ? (uint32_t)words[0] : 0;
	/* A huge block has more slices than are described. */
	uint64_t room = s->huge && index ? (s->end - s->start) / SLICE : s->entries;

	if (!count || count > room - index)
		return 0;
	*bytes = (uint32_t)(words[3] >> 32);
	return count;
}

static uint64_t mimalloc_offset(enum mimalloc_rule rule, uint64_t bytes)
{
	if (rule == RULE_2_0)
		return bytes <= 1024 ? 384 : 0;
	return bytes <= 64 ? 3 * bytes : bytes <= 512 ? bytes : 0;
}

static bool mimalloc_read_page(const struct mimalloc_books *books, const struct mimalloc_segment *s,
			       uint32_t index, struct mimalloc_page *p)
{
	uint64_t at = s->start + 8 * HEADER_WORDS + SLICE_BYTES * (uint64_t)index, reserved;
	const uint64_t *words = memory_image_words(books->image->memory, at, SLICE_BYTES / 8);
	uint32_t bytes;

	if (!words)
		return false;
	bytes = (uint32_t)(words[3] >> 32);
	p->start = s->start + index * SLICE;
	p->end = p->start + (uint32_t)words[0] * SLICE;
	p->first = p->start + mimalloc_offset(books->rule, bytes);
	p->bytes = bytes < HUGE_BLOCK ? bytes : p->end - p->first;
	p->capacity = words[1] >> 16 & 0xffff;
	reserved = words[1] >> 32 & 0xffff;
	p->used = (uint32_t)words[3];
	p->aligned = words[1] >> 49 & 1;
	p->lists[0] = words[2];
	p->lists[1] = words[4];
	p->lists[2] = words[5] & ~3ull;
	p->heap = words[6];
	return bytes >= 8 && (bytes < HUGE_BLOCK || s->huge) && p->capacity <= reserved &&
	       reserved * p->bytes <= p->end - p->first && p->used <= p->capacity;
}

/* ---- blocks ------------------------------------------------------------------------------- */

/* Its index in the page; -1: none begins at the address. */
static int64_t mimalloc_index(const struct mimalloc_page *p, uint64_t block)
{
	uint64_t index = (block - p->first) / p->bytes;

	return block < p->first || (block - p->first) % p->bytes || index >= p->capacity
		       ? -1
		       : (int64_t)index;
}

/* The blocks of a list into the set; how many, or -1 when it leads astray. */
static int64_t mimalloc_walk_list(struct mimalloc_books *books, const struct mimalloc_page *p,
				  uint64_t block)
{
	int64_t count = 0;

	while (block) {
		int64_t index = mimalloc_index(p, block);

		if (index < 0 || books->free[index / 64] >> index % 64 & 1)
			return -1;
		books->free[index / 64] |= 1ull << index % 64;
		count++;
		if (!memory_image_word(books->image->memory, block, &block))
			return -1;
	}
	return count;
}

/* Those of the page that wait on the list of its heap, too. */
static int64_t mimalloc_take_delayed(struct mimalloc_books *books, const struct mimalloc_page *p)
{
	size_t i = BISECT(i, 0, books->delayed_count, books->delayed[i] < p->first);
	int64_t count = 0;

	for (; i < books->delayed_count && books->delayed[i] < p->end; i++) {
		int64_t index = mimalloc_index(p, books->delayed[i]);

		if (index < 0 || books->free[index / 64] >> index % 64 & 1)
			return -1;
		books->free[index / 64] |= 1ull << index % 64;
		count++;
	}
	return count;
}

/*
 * Fills in the set of the page's free blocks. False when its lists and counts disagree. What other
 * threads have freed is used until the page's own thread looks.
 */
static bool mimalloc_find_free(struct mimalloc_books *books, const struct mimalloc_page *p)
{
	int64_t count, local, shared, delayed;

	memset(books->free, 0, (p->capacity + 63) / 64 * sizeof(*books->free));
	count = mimalloc_walk_list(books, p, p->lists[0]);
	local = mimalloc_walk_list(books, p, p->lists[1]);
	shared = mimalloc_walk_list(books, p, p->lists[2]);
	delayed = mimalloc_take_delayed(books, p);
	return count >= 0 && local >= 0 && shared >= 0 && delayed >= 0 &&
	       (uint64_t)(shared + delayed) <= p->used &&
	       (uint64_t)(count + local) + p->used == p->capacity;
}

static int mimalloc_report(struct mimalloc_books *books, enum inventory_part part, uint64_t start,
			   uint64_t end)
{
	return walker_report(books->image, books->allocator, part, start, end, UINT64_MAX);
}

static int mimalloc_disbelieve(struct mimalloc_books *books, uint64_t start, uint64_t end,
			       const char *why)
{
	walker_doubt(books->allocator, why);
	return mimalloc_report(books, INVENTORY_UNBELIEVED, start, end);
}

static int mimalloc_report_page(struct mimalloc_books *books, const struct mimalloc_page *p)
{
	enum inventory_part unused = p->used ? INVENTORY_CACHED : INVENTORY_FREE;
	size_t block = heap_image_block(books->image, p->first);
	int err;

	if (books->left < p->capacity || !mimalloc_find_free(books, p))
		return mimalloc_disbelieve(
			books, p->start, p->end,
			"some pages' lists of free blocks do not fit their counts");
	books->left -= p->capacity;
	walker_unit(books->image, books->allocator, "page", p->start, p->end);
	err = mimalloc_report(books, INVENTORY_BOOKS, p->start, p->first);
	if (p->aligned && err >= 0)
		err = heap_image_add_aligned(books->image, p->first, p->end);
	for (uint64_t i = 0; err >= 0 && i < p->capacity; i++) {
		uint64_t start = p->first + i * p->bytes, end = start + p->bytes;
		bool is_free = books->free[i / 64] >> i % 64 & 1;

		err = walker_slot(books->image, &block, start, end, p->aligned);
		if (err >= 0)
			err = mimalloc_report(books, is_free ? unused : INVENTORY_IN_USE, start,
					      end);
	}
	/* Never given out yet. */
	return err < 0 ? err
		       : mimalloc_report(books, INVENTORY_FREE, p->first + p->capacity * p->bytes,
					 p->end);
}

/* One block. Where it was to be aligned to more than a segment is, it begins there. */
static int mimalloc_report_huge(struct mimalloc_books *books, const struct mimalloc_segment *s)
{
	struct mimalloc_page p;
	uint64_t first;
	size_t block;
	int err;

	if (!mimalloc_read_page(books, s, s->info, &p) || p.capacity > 1 ||
	    !mimalloc_find_free(books, &p))
		return mimalloc_disbelieve(books, s->start + s->info * SLICE, s->end,
					   "some huge blocks' descriptions do not fit them");
	if (!p.capacity || books->free[0] & 1)
		return mimalloc_report(books, INVENTORY_FREE, p.start, s->end);
	first = p.first;
	if (s->align_offset && s->align >= SEGMENT && !(s->align & (s->align - 1)))
		first = (first + s->align - 1) & ~(s->align - 1);
	if (first >= p.end)
		first = p.first;
	block = heap_image_block(books->image, p.first);
	err = walker_slot(books->image, &block, p.first, p.end, true);
	err = err < 0 ? err : mimalloc_report(books, INVENTORY_BOOKS, p.start, first);
	err = err ?: mimalloc_report(books, INVENTORY_IN_USE, first, p.end);
	return err ?: mimalloc_report(books, INVENTORY_BOOKS, p.end, s->end);
}

/* ---- segments ----------------------------------------------------------------------------- */

static bool mimalloc_is_whole(const struct heap_image *image, const struct mimalloc_segment *s)
{
	uint32_t index = 0, count, bytes;

	for (; index < s->entries; index += count) {
		count = mimalloc_read_span(image, s, index, &bytes);
		if (!count)
			return false;
		/* The first ones are the description's own. */
		if (!index && (count != s->info || bytes != s->info * SLICE))
			return false;
		if (index && s->huge)
			return true;
	}
	return true;
}

static int mimalloc_report_segment(struct mimalloc_books *books, const struct mimalloc_segment *s)
{
	uint64_t pages = s->start + s->info * SLICE;
	uint32_t count, bytes;
	int err;

	if (!s->used) /* kept for the next one that is needed */
		return mimalloc_report(books, INVENTORY_FREE, s->start, s->end);
	if (!mimalloc_is_whole(books->image, s))
		return mimalloc_disbelieve(books, s->start, s->end,
					   "some segments' rows of pages lead nowhere");
	err = mimalloc_report(books, INVENTORY_BOOKS, s->start, pages);
	if (err || s->huge)
		return err ?: mimalloc_report_huge(books, s);
	for (uint32_t index = s->info; !err && index < s->entries; index += count) {
		uint64_t start = s->start + index * SLICE;
		struct mimalloc_page p;

		count = mimalloc_read_span(books->image, s, index, &bytes);
		if (!count)
			return -EINVAL; /* mimalloc_is_whole() has been over all of them */
		if (!bytes)
			err = mimalloc_report(books, INVENTORY_FREE, start, start + count * SLICE);
		else if (mimalloc_read_page(books, s, index, &p))
			err = mimalloc_report_page(books, &p);
		else
			err = mimalloc_disbelieve(books, start, start + count * SLICE,
						  "some pages' counts are none");
	}
	return err ?: mimalloc_report(books, INVENTORY_FREE, s->start + s->entries * SLICE, s->end);
}

/* All that look like segments. What is behind one's end does not begin before it. */
static int mimalloc_find_segments(struct mimalloc_books *books, const struct mapping *m)
{
	uint64_t at = (m->start + SEGMENT - 1) & ~(SEGMENT - 1);

	while (at >= m->start && at < m->end) {
		const struct memory_region *next = memory_image_region(books->image->memory, at);
		struct mimalloc_segment s;

		if (!next)
			break;
		if (next->start > at) {
			at = (next->start + SEGMENT - 1) & ~(SEGMENT - 1);
			continue;
		}
		if (mimalloc_read_segment(books->image, at, &s)) {
			if (!RESERVE_ITEM(books->segments, books->segment_count,
					  books->segment_room, 64))
				return -ENOMEM;
			books->segments[books->segment_count++] = s;
		}
		at += SEGMENT;
	}
	return 0;
}

/* Does a variable have it? The first heap is one, and the number its cookie. */
static bool mimalloc_is_variable(const struct heap_image *image, uint64_t key)
{
	for (size_t i = 0; i < image->memory->region_count; i++) {
		const struct memory_region *r = &image->memory->regions[i];

		for (size_t w = 0; walker_is_data(image, r) && w < r->size / 8; w++) {
			if (r->words[w] == key)
				return true;
		}
	}
	return false;
}

/* The number that most segments agree on whose rows lead over all of them. */
static bool mimalloc_find_key(struct mimalloc_books *books)
{
	const struct mimalloc_key *best = NULL;

	for (size_t i = 0; i < books->segment_count; i++) {
		const struct mimalloc_segment *s = &books->segments[i];
		uint64_t key = s->cookie ^ s->start;
		size_t k = 0;

		if (!mimalloc_is_whole(books->image, s))
			continue;
		while (k < books->key_count && books->keys[k].key != key)
			k++;
		if (k == KEYS_MAX)
			continue;
		if (k == books->key_count)
			books->keys[books->key_count++] = (struct mimalloc_key){key, 0};
		books->keys[k].segments++;
		if (!best || books->keys[k].segments > best->segments)
			best = &books->keys[k];
	}
	if (!best || (best->segments < 2 && !mimalloc_is_variable(books->image, best->key)))
		return false;
	books->key = best->key;
	return true;
}

/* Only those with the right cookie stay, and of two that lie in each other the first. */
static void mimalloc_sift_segments(struct mimalloc_books *books)
{
	size_t kept = 0;

	for (size_t i = 0; i < books->segment_count; i++) {
		const struct mimalloc_segment *s = &books->segments[i];

		if (s->cookie == (s->start ^ books->key) &&
		    (!kept || books->segments[kept - 1].end <= s->start))
			books->segments[kept++] = *s;
	}
	books->segment_count = kept;
}

/* ---- heaps -------------------------------------------------------------------------------- */

static int mimalloc_add_heaps(struct mimalloc_books *books, const struct mimalloc_segment *s)
{
	uint32_t count, bytes;

	for (uint32_t index = s->info; index < s->entries; index += count) {
		struct mimalloc_page p;

		count = mimalloc_read_span(books->image, s, index, &bytes);
		if (!count)
			break;
		if (!bytes || !mimalloc_read_page(books, s, index, &p) || !p.heap ||
		    (books->heap_count && books->heaps[books->heap_count - 1] == p.heap))
			continue;
		if (!RESERVE_ITEM(books->heaps, books->heap_count, books->heap_room, 64))
			return -ENOMEM;
		books->heaps[books->heap_count++] = p.heap;
	}
	return 0;
}

/* A list that is longer than there can be blocks is a circle. */
static int mimalloc_add_delayed(struct mimalloc_books *books, uint64_t heap, uint64_t *left)
{
	uint64_t block;

	if (!memory_image_word(books->image->memory, heap + HEAP_DELAYED, &block))
		return 0;
	while (block && *left) {
		(*left)--;
		if (!RESERVE_ITEM(books->delayed, books->delayed_count, books->delayed_room, 64))
			return -ENOMEM;
		books->delayed[books->delayed_count++] = block;
		if (!memory_image_word(books->image->memory, block, &block))
			break;
	}
	return 0;
}

static size_t mimalloc_sort(uint64_t *values, size_t count)
{
	size_t kept = 0;

	if (count)
		qsort(values, count, sizeof(*values), compare_u64);
	for (size_t i = 0; i < count; i++) {
		if (!kept || values[kept - 1] != values[i])
			values[kept++] = values[i];
	}
	return kept;
}

static int mimalloc_read_heaps(struct mimalloc_books *books)
{
	uint64_t left = books->left;
	int err = 0;

	for (size_t i = 0; !err && i < books->segment_count; i++)
		err = mimalloc_add_heaps(books, &books->segments[i]);
	books->heap_count = mimalloc_sort(books->heaps, books->heap_count);
	for (size_t i = 0; !err && i < books->heap_count; i++)
		err = mimalloc_add_delayed(books, books->heaps[i], &left);
	books->delayed_count = mimalloc_sort(books->delayed, books->delayed_count);
	if (books->allocator)
		books->allocator->shown.arenas = books->heap_count;
	return err;
}

/* In how many of the first pages with free blocks the lists fit the counts. */
static size_t mimalloc_try_rule(struct mimalloc_books *books, enum mimalloc_rule rule)
{
	size_t fits = 0, tried = 0;
	uint32_t count, bytes;

	books->rule = rule;
	for (size_t i = 0; i < books->segment_count; i++) {
		const struct mimalloc_segment *s = &books->segments[i];

		for (uint32_t index = s->info; index < s->entries && tried < PROBES;
		     index += count) {
			struct mimalloc_page p;

			count = mimalloc_read_span(books->image, s, index, &bytes);
			if (!count)
				break;
			if (!bytes || !mimalloc_read_page(books, s, index, &p) ||
			    p.used == p.capacity)
				continue;
			tried++;
			fits += mimalloc_find_free(books, &p);
		}
	}
	return fits;
}

static void mimalloc_find_rule(struct mimalloc_books *books)
{
	size_t fits = mimalloc_try_rule(books, RULE_2_0);

	if (mimalloc_try_rule(books, RULE_2_1) <= fits)
		books->rule = RULE_2_0;
}

static int mimalloc_report_all(struct mimalloc_books *books)
{
	int err = 0;

	for (size_t i = 0; !err && i < maps_count(books->image->memory->maps); i++) {
		const struct mapping *m = maps_at(books->image->memory->maps, i);

		if (m->write && !m->ino && m->end - m->start >= SLICE)
			err = mimalloc_find_segments(books, m);
	}
	if (err || !mimalloc_find_key(books))
		return err;
	books->allocator = walker_allocator(books->image, "mimalloc");
	mimalloc_sift_segments(books);
	err = mimalloc_read_heaps(books);
	mimalloc_find_rule(books);
	for (size_t i = 0; !err && i < books->segment_count; i++)
		err = mimalloc_report_segment(books, &books->segments[i]);
	return err;
}

int mimalloc_heap_mark(struct heap_image *image)
{
	struct mimalloc_books *books = calloc(1, sizeof(*books));
	int err;

	if (!books)
		return -ENOMEM;
	books->image = image;
	books->left = image->memory->bytes / 4;
	err = mimalloc_report_all(books);
	free(books->segments);
	free(books->heaps);
	free(books->delayed);
	free(books);
	return err;
}
