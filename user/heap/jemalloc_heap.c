// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What jemalloc keeps and nobody holds, as jemalloc 5.3 lays it out on 64 bits with pages of 4 KiB
 * and addresses of 48 bits (edata.h, rtree.h, cache_bin.h, base.c of its sources). All memory that
 * it hands out is in extents. Each is described by an edata_t in memory of its own, and a radix
 * tree leads from an extent's first and last page (of slabs: from each page) to it. What the tree
 * and the edata_t do not agree on is not believed.
 *
 * Dead are extents that are not in use, regions of slabs that their bitmap or a thread's cache says
 * are free, the cache's arrays, which keep the addresses of what was handed out, and the edata_t,
 * which begin with the address of a block. Other memory of jemalloc's own holds no address of a
 * block.
 */
#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"
#include "user/heap/page_tree.h"
#include "user/heap/walker.h"

#define PAGE_SHIFT 12
#define PAGE	   (1ull << PAGE_SHIFT)
#define ROOTS_MAX  4 /* jemallocs in one process */

#define EDATA_WORDS 16
#define EDATA_BYTES 128
#define CLASSES	    232 /* SC_NSIZES */
#define BITMAP	    8	/* the word where a slab's bitmap begins: 512 regions at most */
#define REGIONS_MAX 512

#define EXTENT_MAX (1ull << 40) /* of an extent; pointers are larger */

#define BASE_ALIGN (2ull << 20)
#define BASE_STEPS \
	64 /* how far below an edata_t the block of its memory may begin, in BASE_ALIGN */

#define BIN_WORDS   3
#define BINS_MIN    30
#define BINS_MAX    73
#define JUNK_BEFORE 0x7a7a7a7a7a7a7a7aull
#define JUNK_BEHIND 0xa7a7a7a7a7a7a7a7ull

enum {
	ACTIVE = PAGE_SPAN_IN_USE,
	DIRTY,
	MUZZY,
	RETAINED, /* what comes behind it is on the way from one to another */
	STATES = 6,
};

struct jemalloc_books {
	struct heap_image *image;
	struct page_tree tree;	/* its spans are the extents */
	struct heap_range base; /* the one that the last edata_t was in */
};

/* Bytes of a size class: 8, then four to a doubling. */
static uint64_t jemalloc_class_bytes(unsigned size_class)
{
	unsigned group = (size_class - 5) / 4, step = (size_class - 5) % 4 + 1;

	if (!size_class)
		return 8;
	return size_class < 5 ? 16ull * size_class : (64ull << group) + step * (16ull << group);
}

/* The address of the edata_t that an entry of a leaf names. */
static uint64_t jemalloc_named_edata(uint64_t entry)
{
	return (uint64_t)((int64_t)(entry << 16) >> 16) & ~(EDATA_BYTES - 1ull);
}

/* ---- the extents -------------------------------------------------------------------------- */

static bool jemalloc_is_slab(const struct page_span *extent)
{
	return extent->words[0] >> 12 & 1;
}

/* The address of the block, in one that is not a slab: somewhere in the first page. */
static uint64_t jemalloc_block_of(const struct page_span *extent)
{
	return extent->words[1];
}

/* As struct page_tree_kind has it. */
static bool jemalloc_read_extent(const struct page_tree *tree, uint64_t entry,
				 struct page_span *out)
{
	uint64_t edata = jemalloc_named_edata(entry), start, size;
	const uint64_t *words =
		edata ? memory_image_words(tree->image->memory, edata, EDATA_WORDS) : NULL;

	if (!words || words[1] >> 47)
		return false;
	start = words[1] & ~(PAGE - 1);
	size = words[2] & ~(PAGE - 1);
	if (!size || size >= EXTENT_MAX || (start + size) >> 47)
		return false;
	*out = (struct page_span){
		.start = start,
		.end = start + size,
		.words = words,
		.state = words[0] >> 17 & 7,
		.size_class = words[0] >> 20 & 0xff,
	};
	/*
	 * The entry has a copy of what they say; the class is not always kept up once the extent is
	 * free.
	 */
	if (words[0] >> 45 || out->state >= STATES || out->size_class > CLASSES ||
	    (entry & 1) != jemalloc_is_slab(out) || (entry >> 2 & 7) != out->state ||
	    (out->state == ACTIVE && entry >> 48 != out->size_class))
		return false;
	return jemalloc_named_edata(page_tree_entry(tree, start)) == edata &&
	       jemalloc_named_edata(page_tree_entry(tree, out->end - PAGE)) == edata;
}

static const struct page_tree_kind jemalloc_tree = {
	.page_shift = PAGE_SHIFT,
	.leaf_align = 64,
	.read = jemalloc_read_extent,
};

/*
 * The regions of a slab that its bitmap has as free; the number of free ones is told apart from it,
 * and has to be theirs.
 */
static int jemalloc_mark_slab(struct jemalloc_books *books, const struct page_span *extent)
{
	size_t block = heap_image_block(books->image, extent->start);
	uint64_t bytes = jemalloc_class_bytes(extent->size_class), regions, free = 0;
	const uint64_t *bitmap = extent->words + BITMAP;
	int err = 0;

	regions = (extent->end - extent->start) / bytes;
	if (regions > REGIONS_MAX)
		return 0;
	/* Words behind those of its regions are left as they were. */
	for (unsigned i = 0; i < (regions + 63) / 64; i++)
		free += (unsigned)__builtin_popcountll(bitmap[i]);
	if (free != (extent->words[0] >> 28 & 0x3ff))
		return 0;
	for (uint64_t i = 0; err >= 0 && i < regions; i++) {
		uint64_t start = extent->start + i * bytes;

		err = walker_slot(books->image, &block, start, start + bytes, false);
		/* All known: what is not a live block is free, or jemalloc's own. */
		if (!err && (books->image->all_known || bitmap[i / 64] >> i % 64 & 1))
			err = heap_image_add_dead(books->image, start, start + bytes);
	}
	return err < 0 ? err : 0;
}

/*
 * The arrays of a thread's cache lie in an extent of their own, between two words of junk. They
 * stay when the thread ends and the C library frees something after jemalloc has cleaned up.
 */
static int jemalloc_mark_arrays(struct jemalloc_books *books, const struct page_span *extent)
{
	uint64_t at = extent->start, word;
	struct memory_run run;

	if (jemalloc_block_of(extent) != at ||
	    !memory_image_word(books->image->memory, at, &word) || word != JUNK_BEFORE)
		return 0;
	while (memory_image_next_run(books->image->memory, &at, extent->end, &run)) {
		for (size_t i = 0; i < run.count; i++) {
			if (run.words[i] == JUNK_BEHIND)
				return heap_image_add_dead(books->image, extent->start,
							   run.address + 8 * i + 8);
		}
	}
	return 0;
}

/* One that is a block. */
static int jemalloc_mark_large(struct jemalloc_books *books, const struct page_span *extent)
{
	size_t block = heap_image_block(books->image, extent->start);
	int err = walker_slot(books->image, &block, extent->start, extent->end, true);

	if (err)
		return err < 0 ? err : 0;
	return books->image->all_known
		       ? heap_image_add_dead(books->image, extent->start, extent->end)
		       : jemalloc_mark_arrays(books, extent);
}

static int jemalloc_mark_extents(struct jemalloc_books *books)
{
	int err = 0;

	for (size_t i = 0; !err && i < books->tree.count; i++) {
		const struct page_span *e = &books->tree.spans[i];

		if (e->state >= DIRTY && e->state <= RETAINED)
			err = heap_image_add_dead(books->image, e->start, e->end);
		else if (e->state == ACTIVE)
			err = jemalloc_is_slab(e) ? jemalloc_mark_slab(books, e)
						  : jemalloc_mark_large(books, e);
	}
	return err;
}

/* ---- the edata_t -------------------------------------------------------------------------- */

/*
 * A block of jemalloc's own memory: its size, the next one, and an edata_t for what is left at its
 * end.
 */
static bool jemalloc_is_base(const struct jemalloc_books *books, uint64_t start, uint64_t inside)
{
	const uint64_t *words = memory_image_words(books->image->memory, start, 5);

	return words && words[0] && !(words[0] % BASE_ALIGN) && !(words[0] >> 47) &&
	       inside - start < words[0] && !(words[1] % BASE_ALIGN) &&
	       words[3] > start + EDATA_BYTES && words[3] <= start + words[0] &&
	       words[3] + words[4] == start + words[0];
}

/* An edata_t that describes nothing any more still has the address of what it described last. */
static bool jemalloc_is_old_edata(const struct jemalloc_books *books, const uint64_t *words)
{
	return words[1] && !(words[1] % 64) && words[2] / PAGE && words[2] < EXTENT_MAX &&
	       !(words[0] >> 45) && page_tree_find(&books->tree, words[1]);
}

/*
 * The arena's lists of extents repeat their addresses. In the first page is what the program may
 * have given: its hooks.
 */
static int jemalloc_mark_addresses(struct jemalloc_books *books, uint64_t at, const uint64_t *words)
{
	int err = 0;

	for (unsigned i = 0; !err && at >= books->base.start + PAGE && i < EDATA_WORDS; i++) {
		if (words[i] && !(words[i] % PAGE) && page_tree_find(&books->tree, words[i]))
			err = heap_image_add_dead(books->image, at + 8ull * i, at + 8ull * i + 8);
	}
	return err;
}

static int jemalloc_mark_base(struct jemalloc_books *books)
{
	int err = 0;

	for (uint64_t at = books->base.start; !err && books->tree.left && at < books->base.end;
	     at += EDATA_BYTES, books->tree.left--) {
		const uint64_t *words = memory_image_words(books->image->memory, at, EDATA_WORDS);

		if (!words) {
			const struct memory_region *next =
				memory_image_region(books->image->memory, at);

			if (!next || next->start <= at)
				break;
			at = next->start - EDATA_BYTES;
		} else if (jemalloc_is_old_edata(books, words)) {
			err = heap_image_add_dead(books->image, at, at + EDATA_BYTES);
		} else {
			err = jemalloc_mark_addresses(books, at, words);
		}
	}
	return err;
}

static int jemalloc_mark_edata_at(struct jemalloc_books *books, uint64_t edata)
{
	uint64_t start = edata & ~(BASE_ALIGN - 1);

	if (edata >= books->base.start && edata < books->base.end)
		return 0;
	for (unsigned i = 0; i < BASE_STEPS; i++, start -= BASE_ALIGN) {
		uint64_t size;

		if (!jemalloc_is_base(books, start, edata) ||
		    !memory_image_word(books->image->memory, start, &size))
			continue;
		books->base = (struct heap_range){start, start + size};
		return jemalloc_mark_base(books);
	}
	return heap_image_add_dead(books->image, edata, edata + EDATA_BYTES);
}

static int jemalloc_mark_edatas(struct jemalloc_books *books)
{
	uint64_t *edatas = calloc(books->tree.count + 1, sizeof(*edatas));
	int err = 0;

	if (!edatas)
		return -ENOMEM;
	for (size_t i = 0; i < books->tree.count; i++)
		edatas[i] = jemalloc_named_edata(
			page_tree_entry(&books->tree, books->tree.spans[i].start));
	qsort(edatas, books->tree.count, sizeof(*edatas), compare_u64);
	for (size_t i = 0; !err && i < books->tree.count; i++)
		err = jemalloc_mark_edata_at(books, edatas[i]);
	free(edatas);
	return err;
}

/* ---- the caches of threads ---------------------------------------------------------------- */

struct jemalloc_bin {
	/* where the array begins, the first free block's address, and the array's end */
	uint64_t full, head, empty;
};

/* cache_bin_t: stack_head, a count, and the low 16 bits of three places in its array. */
static bool jemalloc_read_bin(const uint64_t *words, struct jemalloc_bin *bin)
{
	uint64_t low = words[2] >> 32;
	uint16_t head = (uint16_t)words[0], full = (uint16_t)(words[2] >> 16),
		 empty = (uint16_t)low;

	if (words[2] >> 48 || words[0] % 8 || words[0] >> 47 || full % 8 || empty % 8)
		return false;
	bin->head = words[0];
	bin->full = bin->head - (uint16_t)(head - full);
	bin->empty = bin->head + (uint16_t)(empty - head);
	return bin->empty > bin->full && bin->empty - bin->full < 1 << 16;
}

/* How many bins there are: their arrays lie one behind the other, between two words of junk. */
static size_t jemalloc_count_bins(const struct jemalloc_books *books, const uint64_t *words,
				  size_t room)
{
	struct jemalloc_bin bin, last = {0};
	uint64_t junk;
	size_t n = 0;

	for (; n < BINS_MAX && (n + 1) * BIN_WORDS <= room &&
	       jemalloc_read_bin(words + n * BIN_WORDS, &bin);
	     n++, last = bin) {
		if (n && bin.full != last.empty)
			break;
		if (!n && (bin.full % PAGE != 8 ||
			   !memory_image_word(books->image->memory, bin.full - 8, &junk) ||
			   junk != JUNK_BEFORE))
			return 0;
	}
	return n >= BINS_MIN && memory_image_word(books->image->memory, last.empty, &junk) &&
			       junk == JUNK_BEHIND
		       ? n
		       : 0;
}

/* A block of the class, as a thread's cache has them. */
static int jemalloc_mark_cached(struct jemalloc_books *books, uint64_t block, unsigned size_class)
{
	const struct page_span *e = page_tree_find(&books->tree, block);
	uint64_t bytes = jemalloc_class_bytes(size_class);

	if (!e || e->state != ACTIVE || e->size_class != size_class)
		return 0;
	if (!jemalloc_is_slab(e))
		return jemalloc_block_of(e) == block
			       ? heap_image_add_dead(books->image, e->start, e->end)
			       : 0;
	if ((block - e->start) % bytes)
		return 0;
	return heap_image_add_dead(books->image, block, block + bytes);
}

static int jemalloc_mark_cache(struct jemalloc_books *books, const uint64_t *words, size_t count)
{
	struct jemalloc_bin bin = {0};
	int err = 0;

	for (unsigned i = 0; !err && i < count; i++) {
		if (!jemalloc_read_bin(words + (size_t)i * BIN_WORDS, &bin))
			return 0; /* jemalloc_count_bins() has read it */
		for (uint64_t at = bin.head; !err && at < bin.empty; at += 8) {
			uint64_t block;

			if (memory_image_word(books->image->memory, at, &block))
				err = jemalloc_mark_cached(books, block, i);
		}
		err = err ?: heap_image_add_dead(books->image, bin.full, bin.empty);
	}
	return err;
}

/* It is in the thread's static TLS. */
static int jemalloc_mark_thread(struct jemalloc_books *books, const struct memory_thread *thread)
{
	struct heap_range tls = walker_tls(thread);
	struct memory_run run;

	while (memory_image_next_run(books->image->memory, &tls.start, tls.end, &run)) {
		for (size_t i = 0; i < run.count; i++) {
			size_t bins = jemalloc_count_bins(books, run.words + i, run.count - i);

			if (bins)
				return jemalloc_mark_cache(books, run.words + i, bins);
		}
	}
	return 0;
}

static int jemalloc_mark_books(struct jemalloc_books *books)
{
	int err = page_tree_read(&books->tree);

	err = err ?: jemalloc_mark_extents(books);
	err = err ?: jemalloc_mark_edatas(books);
	for (size_t i = 0; !err && i < books->image->memory->thread_count; i++)
		err = jemalloc_mark_thread(books, &books->image->memory->threads[i]);
	page_tree_clear(&books->tree);
	return err;
}

int jemalloc_heap_mark(struct heap_image *image)
{
	uint64_t roots[ROOTS_MAX];
	size_t count = page_tree_roots(image, &jemalloc_tree, roots, ROOTS_MAX);
	int err = 0;

	for (size_t i = 0; !err && i < count; i++) {
		struct jemalloc_books books = {
			.image = image,
			.tree = {.kind = &jemalloc_tree,
				 .image = image,
				 .root = roots[i],
				 .left = image->memory->data_size / 2},
		};

		err = jemalloc_mark_books(&books);
	}
	return err;
}
