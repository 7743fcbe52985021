// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Free memory of mimalloc, as mimalloc 2.0.7 to 2.0.9 lays it out on 64 bits without its secure
 * mode (include/mimalloc-types.h of its sources). Memory comes in segments at multiples of 32 MiB,
 * which begin with a struct, a row of descriptions of the pages behind it in it. A page has blocks
 * of one size; its free ones are on three lists.
 *
 * A segment's cookie is its address changed with a number that is the same for all: it is learnt
 * from a segment in which a tracked block lies where its page has one. A segment is believed only
 * if the row of pages leads over all of its slices, and a page only if its lists and its count of
 * used blocks make up its capacity.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/heap/walker.h"

#define SEGMENT	     (32ull << 20)
#define SLICE	     (64ull << 10)
#define SLICES	     512
#define SLICE_BYTES  80
#define HEADER_WORDS 33 /* then come the slices */
#define HUGE_BLOCK   (2ull << 30)
#define PROBES	     16 /* blocks of a segment that the key is asked for with */
#define BLOCKS_MAX   65536

/* Pages of smaller blocks begin a little behind their slice. */
#define OFFSET_UP_TO 1024
#define OFFSET	     384

struct mimalloc_page {
	uint64_t start, end;	 /* of its memory */
	uint64_t first, bytes;	 /* its blocks */
	uint64_t capacity, used; /* blocks that there have ever been; that are given out */
	uint64_t lists[3];
	bool aligned; /* some blocks begin behind where they were cut */
};

struct mimalloc_segment {
	uint64_t start, cookie;
	uint32_t info, entries; /* slices */
	bool huge;		/* it is one block */
};

struct mimalloc_books {
	struct heap_image *image;
	uint64_t key;  /* cookies are made with it */
	uint64_t left; /* blocks to be looked at: a target may lie to make us busy */
	uint64_t free[BLOCKS_MAX / 64]; /* blocks of the page at hand, by bit */
};

static bool mimalloc_read_segment(const struct heap_image *image, uint64_t start,
				  struct mimalloc_segment *s)
{
	const uint64_t *words = memory_image_words(image->memory, start, HEADER_WORDS);

	if (!words || !words[28] || words[28] > 1ull << 31 || !words[29] || words[29] > 16 ||
	    words[31] <= words[29] || words[31] > SLICES || (uint32_t)words[30] > 1)
		return false;
	*s = (struct mimalloc_segment){
		.start = start,
		.cookie = words[27],
		.info = (uint32_t)words[29],
		.entries = (uint32_t)words[31],
		.huge = (uint32_t)words[30],
	};
	return true;
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

	if (!count || count > s->entries - index)
		return 0;
	*bytes = (uint32_t)(words[3] >> 32);
	return count;
}

static bool mimalloc_read_page(const struct heap_image *image, const struct mimalloc_segment *s,
			       uint32_t index, uint32_t count, uint32_t bytes,
			       struct mimalloc_page *p)
{
	uint64_t at = s->start + 8 * HEADER_WORDS + SLICE_BYTES * (uint64_t)index;
	const uint64_t *words = memory_image_words(image->memory, at, SLICE_BYTES / 8);
	uint64_t reserved;

	if (!words || bytes < 8 || bytes >= HUGE_BLOCK)
		return false;
	p->start = s->start + index * SLICE;
	p->end = p->start + count * SLICE;
	p->first = p->start + (bytes <= OFFSET_UP_TO ? OFFSET : 0);
	p->bytes = bytes;
	p->capacity = words[1] >> 16 & 0xffff;
	reserved = words[1] >> 32 & 0xffff;
	p->used = (uint32_t)words[3];
	p->aligned = words[1] >> 49 & 1;
	p->lists[0] = words[2];
	p->lists[1] = words[4];
	p->lists[2] = words[5] & ~3ull;
	return p->capacity <= reserved && reserved * bytes <= p->end - p->first &&
	       p->used <= p->capacity;
}

/* The number that the segment's cookie is made with, if the block lies in it as it should. */
static bool mimalloc_learn_key(const struct heap_image *image, uint64_t block, uint64_t *key)
{
	uint64_t start = (block - 1) & ~(SEGMENT - 1);
	uint32_t count, bytes, index;
	struct mimalloc_segment s;
	struct mimalloc_page p;

	if (!mimalloc_read_segment(image, start, &s) || s.huge)
		return false;
	for (index = 0; index < s.entries; index += count) {
		count = mimalloc_read_span(image, &s, index, &bytes);
		if (!count)
			return false;
		if (block - start >= index * SLICE && block - start < (index + count) * SLICE &&
		    (index < s.info || !mimalloc_read_page(image, &s, index, count, bytes, &p) ||
		     block < p.first || (block - p.first) % p.bytes ||
		     (block - p.first) / p.bytes >= p.capacity))
			return false;
	}
	*key = s.cookie ^ start;
	return true;
}

/* The blocks of a list into the set; how many, or -1 when it leads astray. */
static int64_t mimalloc_walk_list(struct mimalloc_books *books, const struct mimalloc_page *p,
				  uint64_t block)
{
	int64_t count = 0;

	while (block) {
		uint64_t index = (block - p->first) / p->bytes;

		if (block < p->first || (block - p->first) % p->bytes || index >= p->capacity ||
		    books->free[index / 64] >> index % 64 & 1)
			return -1;
		books->free[index / 64] |= 1ull << index % 64;
		count++;
		if (!memory_image_word(books->image->memory, block, &block))
			return -1;
	}
	return count;
}

static int mimalloc_mark_page(struct mimalloc_books *books, const struct mimalloc_page *p)
{
	size_t block = heap_image_block(books->image, p->first);
	int64_t local, shared, count;
	int err;

	if (books->left < p->capacity)
		return 0;
	books->left -= p->capacity;
	memset(books->free, 0, sizeof(books->free));
	count = mimalloc_walk_list(books, p, p->lists[0]);
	local = mimalloc_walk_list(books, p, p->lists[1]);
	shared = mimalloc_walk_list(books, p, p->lists[2]);
	/* What other threads have freed is used until the page's own thread looks. */
	if (count < 0 || local < 0 || shared < 0 || shared > (int64_t)p->used ||
	    (uint64_t)(count + local) + p->used != p->capacity)
		return 0;
	err = heap_image_add_dead(books->image, p->start, p->first);
	for (uint64_t i = 0; err >= 0 && i < p->capacity; i++) {
		uint64_t start = p->first + i * p->bytes;

		err = walker_slot(books->image, &block, start, start + p->bytes, p->aligned);
		if (!err && books->free[i / 64] >> i % 64 & 1)
			err = heap_image_add_dead(books->image, start, start + p->bytes);
	}
	/* Never given out yet. */
	return err < 0 ? err
		       : heap_image_add_dead(books->image, p->first + p->capacity * p->bytes,
					     p->end);
}

static bool mimalloc_is_whole(const struct mimalloc_books *books, const struct mimalloc_segment *s)
{
	uint32_t index = 0, count, bytes;

	for (; index < s->entries; index += count) {
		count = mimalloc_read_span(books->image, s, index, &bytes);
		if (!count)
			return false;
	}
	return true;
}

static int mimalloc_mark_segment(struct mimalloc_books *books, const struct mimalloc_segment *s)
{
	uint32_t count, bytes;
	int err;

	if (s->cookie != (s->start ^ books->key) || (!s->huge && !mimalloc_is_whole(books, s)))
		return 0;
	err = heap_image_add_dead(books->image, s->start, s->start + s->info * SLICE);
	for (uint32_t index = s->info; !err && !s->huge && index < s->entries; index += count) {
		uint64_t start = s->start + index * SLICE;
		struct mimalloc_page p;

		count = mimalloc_read_span(books->image, s, index, &bytes);
		if (!count)
			return -EINVAL; /* mimalloc_is_whole() has been over all of them */
		if (!bytes)
			err = heap_image_add_dead(books->image, start, start + count * SLICE);
		else if (mimalloc_read_page(books->image, s, index, count, bytes, &p))
			err = mimalloc_mark_page(books, &p);
	}
	return err;
}

static int mimalloc_mark_mapping(struct mimalloc_books *books, const struct mapping *m)
{
	uint64_t at = (m->start + SEGMENT - 1) & ~(SEGMENT - 1);
	int err = 0;

	while (!err && at < m->end) {
		const struct memory_region *next = memory_image_region(books->image->memory, at);
		struct mimalloc_segment s;

		if (!next)
			break;
		if (next->start > at) {
			at = (next->start + SEGMENT - 1) & ~(SEGMENT - 1);
			continue;
		}
		if (mimalloc_read_segment(books->image, at, &s))
			err = mimalloc_mark_segment(books, &s);
		at += SEGMENT;
	}
	return err;
}

int mimalloc_heap_mark(struct heap_image *image)
{
	struct mimalloc_books *books;
	uint64_t last = 0, key = 0;
	unsigned tries = 0;
	bool found = false;
	int err = 0;

	for (size_t i = 0; !found && i < image->block_count; i++) {
		uint64_t block = image->blocks[i].address;

		tries = block / SEGMENT == last ? tries + 1 : 0;
		last = block / SEGMENT;
		found = tries < PROBES && mimalloc_learn_key(image, block, &key);
	}
	if (!found)
		return 0;
	books = calloc(1, sizeof(*books));
	if (!books)
		return -ENOMEM;
	books->image = image;
	books->left = image->memory->data_size / 4;
	books->key = key;
	for (size_t i = 0; !err && i < maps_count(image->memory->maps); i++) {
		const struct mapping *m = maps_at(image->memory->maps, i);

		if (m->write && !m->ino && m->end - m->start >= SLICE)
			err = mimalloc_mark_mapping(books, m);
	}
	free(books);
	return err;
}
