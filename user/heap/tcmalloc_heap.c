// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Free memory of gperftools' tcmalloc, as gperftools 2.8 to 2.10 lays it out on 64 bits with pages
 * of 8 KiB and addresses of 48 bits (span.h, pagemap.h, thread_cache.h, central_freelist.h of its
 * sources). All memory is in spans, runs of pages. A map of two levels, a variable of the library,
 * leads from the first and the last page of a span (where it holds small objects: from each) to its
 * description. What map and description do not agree on is not believed.
 *
 * Free objects of a span hang on a list of the span's, on one of a thread's cache, or on one of the
 * transfer cache between the two. A list is believed if all of it lies where objects of its class
 * do, and it is as long as is said elsewhere. The transfer cache's slots keep addresses of objects
 * that were handed out long ago, and hold nothing.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/heap/page_tree.h"
#include "user/heap/walker.h"

#define PAGE_SHIFT 13

#define CLASSES	   128
#define LARGEST	   (256u << 10) /* object that is small */
#define LIST_WORDS 4 /* of a thread's list: its head, its length, …, the size of its objects */

/*
 * The central list of a class, in words: a lock, the class, two spans that head lists of spans, two
 * counts, the transfer cache.
 */
#define CENTRAL_CLASS 1
#define CENTRAL_EMPTY 2
#define CENTRAL_FULL  8
#define CENTRAL_SLOTS 16
#define CENTRAL_USED  144
#define CENTRAL_WORDS 146
#define TRIES	      4 /* spans of a class by which its central list is looked for */

enum { IN_USE = PAGE_SPAN_IN_USE, FREE, RETURNED };

struct tcmalloc_books {
	struct heap_image *image;
	struct page_tree tree;	 /* its map */
	uint32_t sizes[CLASSES]; /* of objects; 0: not known */
	/* how often a class's central list has been looked for; TRIES: it is found */
	uint8_t central[CLASSES];
	uint64_t *free; /* objects */
	size_t free_count, free_room;
};

/* ---- spans -------------------------------------------------------------------------------- */

/* As struct page_tree_kind has it. */
static bool tcmalloc_read_span(const struct page_tree *map, uint64_t entry, struct page_span *out)
{
	const uint64_t *words = memory_image_words(map->image->memory, entry, 6);

	if (!words || words[0] >> 34 || !words[1] || words[1] >> 34 || (words[0] + words[1]) >> 34)
		return false;
	*out = (struct page_span){
		.start = words[0] << PAGE_SHIFT,
		.end = (words[0] + words[1]) << PAGE_SHIFT,
		.words = words,
		.size_class = words[5] >> 16 & 0xff,
		.state = words[5] >> 24 & 3,
	};
	return out->state <= RETURNED && out->size_class < CLASSES &&
	       page_tree_entry(map, out->start) == entry &&
	       page_tree_entry(map, out->end - 1) == entry;
}

static const struct page_tree_kind tcmalloc_tree = {
	.page_shift = PAGE_SHIFT,
	.leaf_align = 16,
	.read = tcmalloc_read_span,
};

/* ---- lists of free objects ---------------------------------------------------------------- */

static bool tcmalloc_is_object(const struct tcmalloc_books *books, uint64_t address,
			       unsigned size_class)
{
	const struct page_span *span = page_tree_find(&books->tree, address);
	uint32_t size = books->sizes[size_class];

	return size && span && span->state == IN_USE && span->size_class == size_class &&
	       !((address - span->start) % size) && address + size <= span->end;
}

static int tcmalloc_add_free(struct tcmalloc_books *books, uint64_t object)
{
	if (!RESERVE_ITEM(books->free, books->free_count, books->free_room, 1024))
		return -ENOMEM;
	books->free[books->free_count++] = object;
	return 0;
}

/*
 * A list that ends after `length` objects of the class; any number when that is 0. What is not so
 * is not taken.
 */
static int tcmalloc_take_list(struct tcmalloc_books *books, uint64_t object, unsigned size_class,
			      uint64_t length)
{
	size_t before = books->free_count;
	uint64_t count = 0;
	int err = 0;

	for (; !err && object && books->tree.left; count++, books->tree.left--) {
		if ((length && count == length) || !tcmalloc_is_object(books, object, size_class))
			break;
		err = tcmalloc_add_free(books, object);
		if (!memory_image_word(books->image->memory, object, &object))
			object = 1; /* no object */
	}
	if (object || (length && count != length))
		books->free_count = before;
	return err;
}

static int tcmalloc_take_span(struct tcmalloc_books *books, const struct page_span *span)
{
	uint64_t capacity, used = span->words[5] & 0xffff;

	if (!books->sizes[span->size_class])
		return 0;
	capacity = (span->end - span->start) / books->sizes[span->size_class];
	if (used >= capacity)
		return 0;
	return tcmalloc_take_list(books, span->words[4], span->size_class, capacity - used);
}

/* ---- the caches of threads ---------------------------------------------------------------- */

/* A row of lists, whose objects are larger from one to the next. */
static bool tcmalloc_read_cache(const struct tcmalloc_books *books, uint64_t at, uint32_t *sizes)
{
	const uint64_t *words = memory_image_words(books->image->memory, at, CLASSES * LIST_WORDS);
	uint32_t last = 0;
	unsigned i = 1;

	if (!words || (uint32_t)words[3] || (uint32_t)words[7] != 8)
		return false;
	for (; i < CLASSES && last != LARGEST; i++) {
		sizes[i] = (uint32_t)words[LIST_WORDS * i + 3];
		if (sizes[i] <= last || sizes[i] > LARGEST || sizes[i] % 8)
			return false;
		last = sizes[i];
	}
	for (; i < CLASSES; i++) {
		if (words[LIST_WORDS * i] || words[LIST_WORDS * i + 3])
			return false;
	}
	return last == LARGEST;
}

static int tcmalloc_take_cache(struct tcmalloc_books *books, uint64_t at)
{
	const uint64_t *words = memory_image_words(books->image->memory, at, CLASSES * LIST_WORDS);
	int err = 0;

	for (unsigned i = 1; !err && words && i < CLASSES; i++) {
		uint64_t length = (uint32_t)words[LIST_WORDS * i + 1];

		if (length && books->sizes[i])
			err = tcmalloc_take_list(books, words[LIST_WORDS * i], i, length);
	}
	return err;
}

/* The thread's static TLS has the address of its cache, and has it twice. */
static int tcmalloc_take_thread(struct tcmalloc_books *books, const struct memory_thread *thread)
{
	struct heap_range tls = walker_tls(thread);
	struct memory_run run;

	while (memory_image_next_run(books->image->memory, &tls.start, tls.end, &run)) {
		for (size_t i = 0; i < run.count; i++) {
			uint64_t cache = run.words[i];
			uint32_t sizes[CLASSES] = {0};

			if (!cache || cache % 64 || !tcmalloc_read_cache(books, cache, sizes))
				continue;
			memcpy(books->sizes, sizes, sizeof(books->sizes));
			return tcmalloc_take_cache(books, cache);
		}
	}
	return 0;
}

/* ---- the transfer cache ------------------------------------------------------------------- */

static int tcmalloc_take_central(struct tcmalloc_books *books, uint64_t at, unsigned size_class)
{
	const uint64_t *words = memory_image_words(books->image->memory, at, CENTRAL_WORDS);
	uint32_t used = words ? (uint32_t)words[CENTRAL_USED] : 0;
	int err;

	if (!words || words[CENTRAL_CLASS] != size_class || 2 * used > CENTRAL_USED - CENTRAL_SLOTS)
		return 0;
	books->central[size_class] = TRIES;
	err = heap_image_add_dead(books->image, at + 8ull * CENTRAL_SLOTS,
				  at + 8ull * CENTRAL_USED);
	for (uint32_t i = 0; !err && i < used; i++)
		err = tcmalloc_take_list(books, words[CENTRAL_SLOTS + 2 * i], size_class, 0);
	return err;
}

/*
 * The spans of a class are in one of two rings; what leads the ring is no span but part of the
 * class's central list.
 */
static int tcmalloc_find_central(struct tcmalloc_books *books, const struct page_span *span)
{
	uint64_t at = span->words[2];

	books->central[span->size_class]++;
	for (; books->tree.left; books->tree.left--) {
		const uint64_t *words = memory_image_words(books->image->memory, at, 6);
		const struct memory_region *r = memory_image_region(books->image->memory, at);
		int err;

		if (!words || !r)
			return 0;
		if (words[0] && !(words[0] >> 35) &&
		    page_tree_entry(&books->tree, words[0] << PAGE_SHIFT) == at) {
			at = words[2];
			continue;
		}
		if (!walker_is_data(books->image, r))
			return 0;
		err = tcmalloc_take_central(books, at - 8 * CENTRAL_EMPTY, span->size_class);
		return err || books->central[span->size_class] == TRIES
			       ? err
			       : tcmalloc_take_central(books, at - 8 * CENTRAL_FULL,
						       span->size_class);
	}
	return 0;
}

/* ---- all of it ---------------------------------------------------------------------------- */

/* *next is the first free object that does not lie before the span. */
static int tcmalloc_mark_objects(struct tcmalloc_books *books, const struct page_span *span,
				 size_t *next)
{
	size_t block = heap_image_block(books->image, span->start);
	uint32_t size = books->sizes[span->size_class];
	int err = 0;

	for (uint64_t at = span->start; err >= 0 && size && at + size <= span->end; at += size) {
		while (*next < books->free_count && books->free[*next] < at)
			(*next)++;
		err = walker_slot(books->image, &block, at, at + size, false);
		if (!err && *next < books->free_count && books->free[*next] == at)
			err = heap_image_add_dead(books->image, at, at + size);
	}
	return err < 0 ? err : 0;
}

static int tcmalloc_mark_spans(struct tcmalloc_books *books)
{
	size_t next = 0;
	int err = 0;

	if (books->free_count)
		qsort(books->free, books->free_count, sizeof(*books->free), compare_u64);
	for (size_t i = 0; !err && i < books->tree.count; i++) {
		const struct page_span *span = &books->tree.spans[i];
		size_t block = heap_image_block(books->image, span->start);

		if (span->state != IN_USE) {
			err = heap_image_add_dead(books->image, span->start, span->end);
		} else if (span->size_class) {
			err = tcmalloc_mark_objects(books, span, &next);
		} else {
			err = walker_slot(books->image, &block, span->start, span->end, false);
			err = err < 0 ? err : 0;
		}
	}
	return err;
}

static int tcmalloc_mark_books(struct tcmalloc_books *books)
{
	int err = page_tree_read(&books->tree);

	for (size_t i = 0; !err && i < books->image->memory->thread_count; i++)
		err = tcmalloc_take_thread(books, &books->image->memory->threads[i]);
	for (size_t i = 0; !err && i < books->tree.count; i++) {
		const struct page_span *span = &books->tree.spans[i];

		if (span->state != IN_USE || !span->size_class)
			continue;
		err = tcmalloc_take_span(books, span);
		if (!err && books->central[span->size_class] < TRIES)
			err = tcmalloc_find_central(books, span);
	}
	return err ?: tcmalloc_mark_spans(books);
}

int tcmalloc_heap_mark(struct heap_image *image)
{
	struct tcmalloc_books *books = calloc(1, sizeof(*books));
	int err = 0;

	if (!books)
		return -ENOMEM;
	books->image = image;
	books->tree = (struct page_tree){
		.kind = &tcmalloc_tree, .image = image, .left = image->memory->data_size / 2};
	if (page_tree_roots(image, &tcmalloc_tree, &books->tree.root, 1))
		err = tcmalloc_mark_books(books);
	page_tree_clear(&books->tree);
	free(books->free);
	free(books);
	return err;
}
