// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What gperftools' tcmalloc has, as gperftools 2.8 to 2.10 lays it out on 64 bits with pages
 * of 8 KiB and addresses of 48 bits (span.h, pagemap.h, thread_cache.h, central_freelist.h of its
 * sources). All memory is in spans, runs of pages. A map of two levels, a variable of the library,
 * leads from the first and the last page of a span (where it holds small objects: from each) to its
 * description. What map and description do not agree on is not believed.
 *
 * Free objects of a span hang on a list of the span's, on one of a thread's cache, or on one of the
 * transfer cache between the two. A list is believed if all of it lies where objects of its class
 * do, and it is as long as is said elsewhere. The transfer cache's slots keep addresses of objects
 * that were handed out long ago, and hold nothing. Where a list is not believed, it is not known either which
 * objects of its span or its class are in use.
 *
 * A thread may be in the midst of a change. What it moves from one list to another it has in hand, and what
 * is on a list that it has changed and not yet counted is held (heap_image_hold()): in use or not, it is not lost. A
 * thread's list may be so at any time, a class's central list and its spans' while the lock is taken.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/page.h"
#include "user/base/util.h"
#include "user/heap/page_tree.h"
#include "user/heap/walker.h"

#define PAGE_SHIFT 13

#define SPAN_WORDS 6
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
#define SLOTS_MAX     ((CENTRAL_USED - CENTRAL_SLOTS) / 2)
#define BATCH_MAX     65536 /* objects that a class gives or takes at once */
#define BATCH	      32    /* unless set */
#define TRIES	      4	    /* spans of a class by which its central list is looked for */
#define RING_WORK     8	    /* what a step from one span to the next counts as */

#define SYSTEM_PAGE 4096ull
/* A cache of a thread is larger: behind the lists come a sampler and links. */
#define CACHE_BYTES	(8ull * CLASSES * LIST_WORDS)
#define CACHE_LINKS_END 128
#define CACHE_ALIGN	64

#define CACHED 1ull /* of a free object's address: the low bit, which is 0 */

enum { IN_USE = PAGE_SPAN_IN_USE, FREE, RETURNED };

struct tcmalloc_books {
	struct heap_image *image;
	struct page_tree tree;	 /* its map */
	uint32_t sizes[CLASSES]; /* of objects; 0: not known */
	/* how often a class's central list has been looked for */
	uint8_t central[CLASSES];
	bool found_central[CLASSES];
	bool locked[CLASSES]; /* a thread was changing the central list */
	bool unsure[CLASSES]; /* a list of its objects is not believed */
	uint64_t *free;	      /* objects; those that are in caches are CACHED */
	size_t free_count, free_room;
	struct walker_hand hand; /* addresses of descriptions of spans that threads have in hand */
	bool changing;		 /* a thread was in the midst of something */
	struct heap_range *own;	 /* memory that it keeps its books in */
	size_t own_count, own_room;
	struct inventory_allocator *allocator; /* NULL: no inventory is wanted */
};

/* ---- spans -------------------------------------------------------------------------------- */

/* As struct page_tree_kind has them. */
static uint64_t tcmalloc_described_at(const struct page_tree *map, uint64_t entry)
{
	(void)map;
	return entry;
}

static bool tcmalloc_read_span(const struct page_tree *map, uint64_t entry, struct page_span *out)
{
	const uint64_t *words = memory_image_words(map->image->memory, entry, SPAN_WORDS);

	if (!words || words[0] >> 34 || !words[1] || words[1] >> 34 || (words[0] + words[1]) >> 34)
		return false;
	out->start = words[0] << PAGE_SHIFT;
	out->end = (words[0] + words[1]) << PAGE_SHIFT;
	out->words = words;
	out->size_class = words[5] >> 16 & 0xff;
	out->state = words[5] >> 24 & 3;
	return out->state <= RETURNED && out->size_class < CLASSES;
}

static const struct page_tree_kind tcmalloc_tree = {
	.page_shift = PAGE_SHIFT,
	.leaf_align = 16,
	.described_at = tcmalloc_described_at,
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
 * A list that ends after `length` objects of the class; any number up to BATCH_MAX when that is 0. `tag`: CACHED or 0.
 * What is not so is not taken, which is no error; *taken says it.
 */
static int tcmalloc_take_list(struct tcmalloc_books *books, uint64_t object, unsigned size_class,
			      uint64_t length, uint64_t tag, bool *taken)
{
	size_t before = books->free_count;
	uint64_t count = 0;
	int err = 0;

	for (; !err && object && books->tree.left; count++, books->tree.left--) {
		if (count == (length ? length : BATCH_MAX) ||
		    !tcmalloc_is_object(books, object, size_class))
			break;
		err = tcmalloc_add_free(books, object | tag);
		if (!memory_image_word(books->image->memory, object, &object))
			object = 1; /* no object */
	}
	*taken = !object && (!length || count == length);
	if (!*taken)
		books->free_count = before;
	return err;
}

/* A list that a thread is changing, of at most so many objects, as far as it leads. *led: to its end. */
static int tcmalloc_hold_list(struct tcmalloc_books *books, uint64_t object, unsigned size_class,
			      uint64_t most, bool *led)
{
	int err = 0;

	for (; !err && most && books->tree.left && tcmalloc_is_object(books, object, size_class);
	     most--, books->tree.left--) {
		err = heap_image_hold(books->image, object);
		if (!memory_image_word(books->image->memory, object, &object))
			break;
	}
	*led = !object;
	books->changing |= *led;
	return err;
}

/* Of a thread's cache, between a span's list and the program. */
static int tcmalloc_take_cached(struct tcmalloc_books *books, uint64_t object, unsigned size_class,
				uint64_t length)
{
	bool taken = !object && !length;
	int err = 0;

	if (length)
		err = tcmalloc_take_list(books, object, size_class, length, CACHED, &taken);
	if (!err && !taken)
		err = tcmalloc_hold_list(books, object, size_class, length + BATCH, &taken);
	books->unsure[size_class] |= !taken;
	return err;
}

/* *sound: it is known which of the span's objects are in use, but for those that are held. */
static int tcmalloc_take_span(struct tcmalloc_books *books, const struct page_span *span,
			      bool *sound)
{
	uint64_t capacity, used = span->words[5] & 0xffff;
	int err;

	*sound = false;
	if (!books->sizes[span->size_class])
		return 0;
	capacity = (span->end - span->start) / books->sizes[span->size_class];
	if (used >= capacity && !books->locked[span->size_class]) {
		*sound = used == capacity && !span->words[4];
		return 0;
	}
	err = tcmalloc_take_list(books, span->words[4], span->size_class,
				 used < capacity ? capacity - used : BATCH_MAX, 0, sound);
	if (err || *sound || !books->locked[span->size_class])
		return err;
	return tcmalloc_hold_list(books, span->words[4], span->size_class, capacity, sound);
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
		if (books->sizes[i])
			err = tcmalloc_take_cached(books, words[LIST_WORDS * i], i,
						   (uint32_t)words[LIST_WORDS * i + 1]);
	}
	return err;
}

static int tcmalloc_add_own(struct tcmalloc_books *books, uint64_t start, uint64_t end)
{
	if (!RESERVE_ITEM(books->own, books->own_count, books->own_room, 64))
		return -ENOMEM;
	books->own[books->own_count++] = (struct heap_range){start, end};
	return 0;
}

/* Once for each cache. Classes and their sizes are the same for all; they are those of the first. */
static int tcmalloc_meet_cache(struct tcmalloc_books *books, uint64_t cache)
{
	uint32_t sizes[CLASSES] = {0};
	int err;

	if (!cache || cache % CACHE_ALIGN || !tcmalloc_read_cache(books, cache, sizes))
		return 0;
	for (size_t i = 0; i < books->own_count; i++) {
		books->tree.left -= books->tree.left > 0;
		if (books->own[i].start == cache || !books->tree.left)
			return 0;
	}
	if (!books->own_count)
		memcpy(books->sizes, sizes, sizeof(books->sizes));
	else if (memcmp(books->sizes, sizes, sizeof(books->sizes)) != 0)
		return 0;
	err = tcmalloc_take_cache(books, cache);
	return err ?: tcmalloc_add_own(books, cache, cache + CACHE_BYTES);
}

static int tcmalloc_take_run(struct tcmalloc_books *books, uint64_t start, uint64_t end)
{
	struct memory_run run;
	int err = 0;

	while (!err && memory_image_next_run(books->image->memory, &start, end, &run)) {
		for (size_t i = 0; !err && i < run.count; i++)
			err = tcmalloc_meet_cache(books, run.words[i]);
	}
	return err;
}

/* A thread's static TLS has the address of its cache; all caches are linked with each other. */
static int tcmalloc_take_threads(struct tcmalloc_books *books)
{
	int err = 0;

	for (size_t i = 0; !err && i < books->image->memory->thread_count; i++) {
		struct heap_range tls = walker_tls(&books->image->memory->threads[i]);

		err = tcmalloc_take_run(books, tls.start, tls.end);
	}
	for (size_t i = 0; !err && i < books->own_count; i++)
		err = tcmalloc_take_run(books, books->own[i].end,
					books->own[i].end + CACHE_LINKS_END);
	return err;
}

/* ---- the transfer cache ------------------------------------------------------------------- */

/* While the lock is taken, the last slot may not have been filled yet, and the one behind it just be taken. */
static int tcmalloc_take_slots(struct tcmalloc_books *books, const uint64_t *slots, uint32_t used,
			       unsigned size_class)
{
	bool taken = true, locked = books->locked[size_class];
	int err = 0;

	for (uint32_t i = 0; !err && i < used - (locked && used); i++) {
		err = tcmalloc_take_list(books, slots[2ul * i], size_class, 0, CACHED, &taken);
		books->unsure[size_class] |= !taken;
	}
	/* What is left in a slot may lead anywhere. */
	if (!err && locked && used)
		err = tcmalloc_hold_list(books, slots[2ul * (used - 1)], size_class, BATCH_MAX,
					 &taken);
	if (!err && locked && used < SLOTS_MAX)
		err = tcmalloc_hold_list(books, slots[2ul * used], size_class, BATCH_MAX, &taken);
	return err;
}

static int tcmalloc_take_central(struct tcmalloc_books *books, uint64_t at, unsigned size_class)
{
	const uint64_t *words = memory_image_words(books->image->memory, at, CENTRAL_WORDS);
	uint32_t used = words ? (uint32_t)words[CENTRAL_USED] : 0;
	int err;

	if (!words || words[CENTRAL_CLASS] != size_class || used > SLOTS_MAX)
		return 0;
	books->central[size_class] = TRIES;
	books->found_central[size_class] = true;
	books->locked[size_class] = (uint32_t)words[0];
	books->changing |= books->locked[size_class];
	err = heap_image_add_dead(books->image, at + 8ull * CENTRAL_SLOTS,
				  at + 8ull * CENTRAL_USED);
	return err ?: tcmalloc_take_slots(books, words + CENTRAL_SLOTS, used, size_class);
}

/*
 * The spans of a class are in one of two rings; what leads the ring is no span but part of the
 * class's central list.
 */
static int tcmalloc_find_central(struct tcmalloc_books *books, const struct page_span *span)
{
	uint64_t at = span->words[2];

	books->central[span->size_class]++;
	for (; books->tree.left >= RING_WORK; books->tree.left -= RING_WORK) {
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
		return err || books->found_central[span->size_class]
			       ? err
			       : tcmalloc_take_central(books, at - 8 * CENTRAL_FULL,
						       span->size_class);
	}
	return 0;
}

/* ---- what is reported --------------------------------------------------------------------- */

static int tcmalloc_report(struct tcmalloc_books *books, enum inventory_part part, uint64_t start,
			   uint64_t end)
{
	return walker_report(books->image, books->allocator, part, start, end, UINT64_MAX);
}

struct tcmalloc_walk {
	size_t block; /* the first known block that is not behind */
	size_t free;  /* the first free object that is not */
};

/* What an object is in which no block begins that we know. `sure`: what is not free is in use. */
static enum inventory_part tcmalloc_part(const struct tcmalloc_books *books, uint64_t object,
					 bool sure, struct tcmalloc_walk *walk)
{
	while (walk->free < books->free_count && (books->free[walk->free] & ~CACHED) < object)
		walk->free++;
	if (walk->free < books->free_count && (books->free[walk->free] & ~CACHED) == object)
		return books->free[walk->free] & CACHED ? INVENTORY_CACHED : INVENTORY_FREE;
	return sure ? INVENTORY_IN_USE : INVENTORY_UNBELIEVED;
}

static int tcmalloc_report_objects(struct tcmalloc_books *books, const struct page_span *span,
				   bool sure, struct tcmalloc_walk *walk)
{
	uint32_t size = books->sizes[span->size_class];
	uint64_t at = span->start, objects = size ? (span->end - at) / size : 0;
	int err = 0;

	/* Of a span only its ends have been looked at: it may say that it is as large as it likes. */
	if (!objects || objects > books->tree.left)
		return tcmalloc_report(books, INVENTORY_UNBELIEVED, span->start, span->end);
	books->tree.left -= objects;
	walker_unit(books->image, books->allocator, "span", span->start, span->end);
	for (; err >= 0 && at + size <= span->end; at += size) {
		enum inventory_part part = INVENTORY_IN_USE;

		err = walker_slot(books->image, &walk->block, at, at + size, false);
		if (!err)
			part = tcmalloc_part(books, at, sure, walk);
		if (err >= 0)
			err = tcmalloc_report(books, part, at, at + size);
	}
	return err < 0 ? err : tcmalloc_report(books, INVENTORY_BOOKS, at, span->end);
}

/*
 * One object. A thread may be about to give it out or take it back (do_malloc_pages(), do_free_pages()): then
 * nothing but its description, which the thread has in hand, may lead to it.
 */
static int tcmalloc_report_large(struct tcmalloc_books *books, const struct page_span *span,
				 struct tcmalloc_walk *walk)
{
	int err = walker_slot(books->image, &walk->block, span->start, span->end, false);

	if (!err && walker_is_in_hand(&books->hand, span->described_at,
				      span->described_at + 8ull * SPAN_WORDS)) {
		books->changing = true;
		err = heap_image_hold(books->image, span->start);
	}
	return err < 0 ? err : tcmalloc_report(books, INVENTORY_IN_USE, span->start, span->end);
}

/* ReleaseFreeMemory() takes those that are not returned yet. */
static int tcmalloc_report_free(struct tcmalloc_books *books, const struct page_span *span)
{
	struct inventory_allocator *a = books->allocator;
	uint64_t before = a ? a->shown.free_resident : 0;
	int err = tcmalloc_report(books, INVENTORY_FREE, span->start, span->end);

	if (a && span->state == FREE)
		a->spans_resident += a->shown.free_resident - before;
	return err;
}

/* `sound`: of each span, whether its list is as long as it says. */
static int tcmalloc_report_spans(struct tcmalloc_books *books, const bool *sound)
{
	struct tcmalloc_walk walk = {0};
	int err = 0;

	for (size_t i = 0; err >= 0 && i < books->tree.count; i++) {
		const struct page_span *span = &books->tree.spans[i];

		if (span->state != IN_USE) {
			err = tcmalloc_report_free(books, span);
		} else if (span->size_class) {
			err = tcmalloc_report_objects(
				books, span, sound[i] && !books->unsure[span->size_class], &walk);
		} else {
			err = tcmalloc_report_large(books, span, &walk);
		}
	}
	return err < 0 ? err : 0;
}

/*
 * What it keeps its books in it takes from the system in pieces of some MiB, and nothing says where these
 * are: but a page that has a description, a leaf or a cache is its own.
 */
static int tcmalloc_report_own(struct tcmalloc_books *books)
{
	struct heap_range leaf, gap;
	uint64_t next = 0, behind = 0;
	int err = 0;

	while (!err && (leaf = page_tree_next_leaf(&books->tree, &next), leaf.end))
		err = tcmalloc_add_own(books, leaf.start, leaf.end);
	for (size_t i = 0; !err && i < books->tree.count; i++) {
		uint64_t at = books->tree.spans[i].described_at;

		err = tcmalloc_add_own(books, at, at + 8ull * SPAN_WORDS);
	}
	if (books->own_count)
		qsort(books->own, books->own_count, sizeof(*books->own), heap_range_order);
	for (size_t i = 0; !err && i < books->own_count; i++) {
		uint64_t start = page_down(books->own[i].start, SYSTEM_PAGE);
		uint64_t end = page_up(books->own[i].end, SYSTEM_PAGE);

		start = start > behind ? start : behind;
		while (!err && page_tree_next_gap(&books->tree, &start, end, &gap))
			err = tcmalloc_report(books, INVENTORY_BOOKS, gap.start, gap.end);
		behind = end > behind ? end : behind;
	}
	return err;
}

/* ---- all of it ---------------------------------------------------------------------------- */

static void tcmalloc_describe(struct tcmalloc_books *books)
{
	if (!books->tree.left)
		walker_doubt(books->allocator, "its books are larger than all memory");
	if (!books->sizes[1])
		walker_doubt(books->allocator,
			     "no thread's cache was found, which would tell the sizes of objects");
	if (books->changing)
		walker_doubt(books->allocator, "a thread was allocating or freeing at that moment: "
					       "some objects may be on their way");
	if (books->allocator->shown.unbelieved_bytes)
		walker_doubt(books->allocator, "lists of free objects disagree with their counts");
}

/* The central lists, and what threads have in hand of the spans' descriptions. */
static int tcmalloc_look_at_spans(struct tcmalloc_books *books)
{
	struct heap_range range = {UINT64_MAX, 0};
	int err = 0;

	for (size_t i = 0; !err && i < books->tree.count; i++) {
		const struct page_span *span = &books->tree.spans[i];
		uint64_t at = span->described_at, end = at + 8ull * SPAN_WORDS;

		range.start = at < range.start ? at : range.start;
		range.end = end > range.end ? end : range.end;
		if (span->state == IN_USE && span->size_class &&
		    books->central[span->size_class] < TRIES)
			err = tcmalloc_find_central(books, span);
	}
	/* Objects of a class may be in a transfer cache that has not been found. */
	for (unsigned i = 0; i < CLASSES; i++)
		books->unsure[i] |= !books->found_central[i];
	if (!err && range.end)
		err = walker_find_in_hand(books->image, &range, &books->hand);
	return err;
}

static int tcmalloc_take_spans(struct tcmalloc_books *books, bool *sound)
{
	int err = tcmalloc_look_at_spans(books);

	for (size_t i = 0; !err && i < books->tree.count; i++) {
		const struct page_span *span = &books->tree.spans[i];

		if (span->state == IN_USE && span->size_class)
			err = tcmalloc_take_span(books, span, &sound[i]);
	}
	return err;
}

static int tcmalloc_mark_books(struct tcmalloc_books *books)
{
	_cleanup_free_ bool *sound = NULL;
	int err = page_tree_read(&books->tree);

	sound = calloc(books->tree.count + 1, sizeof(*sound));
	if (!sound)
		return -ENOMEM;
	err = err ?: tcmalloc_take_threads(books);
	err = err ?: tcmalloc_take_spans(books, sound);
	if (books->free_count)
		qsort(books->free, books->free_count, sizeof(*books->free), compare_u64);
	err = err ?: tcmalloc_report_spans(books, sound);
	err = err ?: tcmalloc_report_own(books);
	if (!err && books->allocator)
		tcmalloc_describe(books);
	return err;
}

int tcmalloc_heap_mark(struct heap_image *image)
{
	struct tcmalloc_books *books = calloc(1, sizeof(*books));
	struct page_tree_root root;
	int err = 0;

	if (!books)
		return -ENOMEM;
	books->image = image;
	books->tree = (struct page_tree){
		.kind = &tcmalloc_tree, .image = image, .left = image->memory->bytes / 2};
	if (page_tree_roots(image, &tcmalloc_tree, &root, 1)) {
		books->tree.root = root.address;
		books->allocator = walker_allocator(image, "tcmalloc (gperftools)");
		err = tcmalloc_mark_books(books);
	}
	page_tree_clear(&books->tree);
	free(books->free);
	free(books->own);
	free(books->hand.words);
	free(books);
	return err;
}
