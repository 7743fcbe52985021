// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * What jemalloc has, as jemalloc 5.2 (extent_structs.h) and 5.3 (edata.h) lay it out on 64 bits with
 * pages of 4 KiB and addresses of 48 bits (rtree.h, base.c of their sources, too). All memory that it hands
 * out is in extents. Each is described by an edata_t (extent_t in 5.2) in memory of its own, and a radix
 * tree leads from an extent's first and last page (of slabs: from each page) to it. What the tree
 * and the description do not agree on is not believed.
 *
 * An extent is free, one block, or a slab: a row of regions of one size, each a block, with a bitmap of those
 * that are free. What threads have in their caches (jemalloc_cache.c) is in use by these books. The
 * descriptions and the rest of what is jemalloc's own lie in blocks of several MiB, "base blocks".
 */
#include "user/heap/jemalloc_books.h"

#include <errno.h>
#include <stdlib.h>

#include "user/base/util.h"

#define PAGE_SHIFT 12
#define PAGE	   (1ull << PAGE_SHIFT)
#define ROOTS_MAX  4 /* jemallocs of a version in one process */

#define ARENAS 0x1000 /* that the field has room for; the last is none */

#define BASE_ALIGN (2ull << 20)
#define BASE_STEPS \
	64 /* how far below a description the block of its memory may begin, in BASE_ALIGN */
/* Where the first block of an arena's has the address of the hooks that the program gave. */
#define BASE_HOOKS     192
#define BASE_HOOKS_END 256

enum {
	ACTIVE = PAGE_SPAN_IN_USE,
	DIRTY,
	MUZZY,
	RETAINED, /* what comes behind it is on the way from one to another */
};

static const struct jemalloc_layout jemalloc_layouts[] = {
	{
		.tree = {PAGE_SHIFT, 64, jemalloc_described_at, jemalloc_read_extent},
		.version = "5.3",
		.description_align = 128,
		.state_shift = 17,
		.state_bits = 3,
		.class_shift = 20,
		.free_shift = 28,
		.entry_has_state = true,
		.is_cache = jemalloc_is_cache_5_3,
		.keep_cache = jemalloc_keep_cache_5_3,
	},
	{
		.tree = {PAGE_SHIFT, 64, jemalloc_described_at, jemalloc_read_extent},
		.version = "5.2",
		.description_align = 64,
		.state_shift = 16,
		.state_bits = 2,
		.class_shift = 18,
		.free_shift = 26,
		.is_cache = jemalloc_is_cache_5_2,
		.keep_cache = jemalloc_keep_cache_5_2,
	},
};

/* ---- what is reported --------------------------------------------------------------------- */

static int jemalloc_report(struct jemalloc_books *books, enum inventory_part part, uint64_t start,
			   uint64_t end)
{
	return walker_report(books->image, books->allocator, part, start, end, UINT64_MAX);
}

/* The tag of a block whose address is behind those that were asked for before; 0: it has none. */
static uint64_t jemalloc_tag(const struct jemalloc_books *books, uint64_t block, size_t *next)
{
	while (*next < books->kept_count && (books->kept[*next] & ~JEMALLOC_TAGS) < block)
		(*next)++;
	return *next < books->kept_count && (books->kept[*next] & ~JEMALLOC_TAGS) == block
		       ? books->kept[*next] & JEMALLOC_TAGS
		       : 0;
}

/* What a block is that the extents' books have as in use and in which none begins that we know. */
static enum inventory_part jemalloc_part(const struct jemalloc_books *books, uint64_t tag,
					 const struct heap_range *block)
{
	if (tag == JEMALLOC_CACHED)
		return INVENTORY_CACHED;
	if (tag || jemalloc_is_array(books, block))
		return INVENTORY_BOOKS;
	/* All known: what is not a live block is jemalloc's own. */
	if (books->image->all_known)
		return INVENTORY_BOOKS;
	return books->caches ? INVENTORY_IN_USE : INVENTORY_UNBELIEVED;
}

struct jemalloc_walk {
	size_t extent;
	size_t block; /* the first known block that is not behind */
	size_t kept;
};

static int jemalloc_report_slab(struct jemalloc_books *books, const struct page_span *e,
				struct jemalloc_walk *walk)
{
	uint64_t regions = jemalloc_slab_regions(books, e), at = e->start;
	uint64_t bytes = jemalloc_class_bytes(books, e->size_class);
	int err = 0;

	if (!regions)
		return jemalloc_report(books, INVENTORY_UNBELIEVED, e->start, e->end);
	walker_unit(books->image, books->allocator, "slab", e->start, e->end);
	for (uint64_t i = 0; err >= 0 && i < regions; i++, at += bytes) {
		const struct heap_range block = {at, at + bytes};
		uint64_t tag = jemalloc_tag(books, at, &walk->kept);
		enum inventory_part part = INVENTORY_IN_USE;

		err = walker_slot(books->image, &walk->block, at, at + bytes, false);
		if (!err)
			part = e->words[JEMALLOC_BITMAP + i / 64] >> i % 64 & 1
				       ? INVENTORY_FREE
				       : jemalloc_part(books, tag, &block);
		if (err >= 0)
			err = jemalloc_report(books, part, at, at + bytes);
	}
	return err < 0 ? err : jemalloc_report(books, INVENTORY_BOOKS, at, e->end);
}

/*
 * Is a thread about to give it out or take it back (large_palloc(), large_dalloc() of 5.3)? Then nothing but its
 * description, which the thread has in hand, may lead to it.
 */
static int jemalloc_hold_large(struct jemalloc_books *books, const struct page_span *e,
			       uint64_t block)
{
	if (!walker_is_in_hand(&books->hand, e->described_at,
			       e->described_at + books->layout->description_align))
		return 0;
	books->changing = true;
	return heap_image_hold(books->image, block);
}

/* One that is a block: it may begin somewhere in the first page. */
static int jemalloc_report_large(struct jemalloc_books *books, const struct page_span *e,
				 struct jemalloc_walk *walk)
{
	enum inventory_part part = INVENTORY_IN_USE;
	struct heap_range block;
	unsigned size_class;
	int err;

	/* Behind it is one page at most, but for small ones that were sampled. */
	if (!jemalloc_block(books, e->words[1], &block, &size_class) ||
	    (e->end - block.end > PAGE && size_class >= JEMALLOC_SMALL_MAX))
		return jemalloc_report(books, INVENTORY_UNBELIEVED, e->start, e->end);
	err = walker_slot(books->image, &walk->block, block.start, block.end, false);
	if (!err)
		part = jemalloc_part(books, jemalloc_tag(books, block.start, &walk->kept), &block);
	if (!err && part == INVENTORY_IN_USE)
		err = jemalloc_hold_large(books, e, block.start);
	if (err >= 0)
		err = jemalloc_report(books, INVENTORY_BOOKS, e->start, block.start);
	err = err ?: jemalloc_report(books, part, block.start, block.end);
	return err ?: jemalloc_report(books, INVENTORY_BOOKS, block.end, e->end);
}

/* One in nobody's use. Retained ones have no memory, as a rule; of the others it is said how much. */
static int jemalloc_report_free(struct jemalloc_books *books, const struct page_span *e)
{
	struct inspected_allocator *shown = books->allocator ? &books->allocator->shown : NULL;
	uint64_t before = shown ? shown->free_resident : 0;
	int err = jemalloc_report(books, INVENTORY_FREE, e->start, e->end);

	if (shown && e->state == DIRTY)
		shown->dirty_resident += shown->free_resident - before;
	if (shown && e->state == MUZZY)
		shown->muzzy_resident += shown->free_resident - before;
	return err;
}

static int jemalloc_report_extents(struct jemalloc_books *books)
{
	struct jemalloc_walk walk = {0};
	int err = 0;

	for (size_t i = 0; !err && i < books->tree.count; i++) {
		const struct page_span *e = &books->tree.spans[i];

		if (e->state == ACTIVE)
			err = jemalloc_is_slab(e) ? jemalloc_report_slab(books, e, &walk)
						  : jemalloc_report_large(books, e, &walk);
		else if (e->state <= RETAINED)
			err = jemalloc_report_free(books, e);
		else
			err = jemalloc_report(books, INVENTORY_UNBELIEVED, e->start, e->end);
	}
	return err;
}

/* ---- what is its own ---------------------------------------------------------------------- */

struct jemalloc_bases {
	struct heap_range *ranges;
	size_t count, room;
};

/*
 * Of a base block: its size, the next one, and a description of what is left at its end. Its bytes; 0:
 * there is none.
 */
static uint64_t jemalloc_base_bytes(const struct jemalloc_books *books, uint64_t start)
{
	const uint64_t *words = memory_image_words(books->image->memory, start, 5);

	return words && words[0] && !(words[0] % BASE_ALIGN) && !(words[0] >> 47) &&
			       !(words[1] % BASE_ALIGN) && words[3] > start &&
			       words[3] <= start + words[0] &&
			       words[3] + words[4] == start + words[0] &&
			       walker_is_mapped(books->image, start, start + words[0])
		       ? words[0]
		       : 0;
}

static bool jemalloc_in_last_base(const struct jemalloc_bases *bases, uint64_t address)
{
	return bases->count && address >= bases->ranges[bases->count - 1].start &&
	       address < bases->ranges[bases->count - 1].end;
}

static int jemalloc_add_base(struct jemalloc_bases *bases, uint64_t start, uint64_t end)
{
	if (!RESERVE_ITEM(bases->ranges, bases->count, bases->room, 16))
		return -ENOMEM;
	bases->ranges[bases->count++] = (struct heap_range){start, end};
	return 0;
}

/* The base block that has the description; where there is none, the description alone. */
static int jemalloc_find_base(const struct jemalloc_books *books, struct jemalloc_bases *bases,
			      uint64_t described_at)
{
	uint64_t start = described_at & ~(BASE_ALIGN - 1), bytes;

	if (jemalloc_in_last_base(bases, described_at))
		return 0;
	for (unsigned i = 0; i < BASE_STEPS; i++, start -= BASE_ALIGN) {
		bytes = jemalloc_base_bytes(books, start);
		if (bytes > described_at - start)
			return jemalloc_add_base(bases, start, start + bytes);
	}
	return jemalloc_add_base(bases, described_at, described_at + 8ull * JEMALLOC_DESCRIPTION);
}

/* Base blocks of an arena hang on each other; those without any description in use are found so. */
static int jemalloc_follow_bases(const struct jemalloc_books *books, struct jemalloc_bases *bases)
{
	size_t most = 2 * bases->count + 64;
	int err = 0;

	for (size_t i = 0; !err && i < bases->count && bases->count < most; i++) {
		uint64_t next, bytes;

		if (!jemalloc_base_bytes(books, bases->ranges[i].start) ||
		    !memory_image_word(books->image->memory, bases->ranges[i].start + 8, &next))
			continue;
		bytes = jemalloc_base_bytes(books, next);
		if (bytes)
			err = jemalloc_add_base(bases, next, next + bytes);
	}
	return err;
}

/*
 * A part of a base block, as far as no extent has it. Nothing in it holds a block of the program's, but
 * for hooks that this may have given: these are counted, and stay roots.
 */
static int jemalloc_report_own(struct jemalloc_books *books, uint64_t start, uint64_t end,
			       bool hooks)
{
	struct heap_range gap;
	int err = 0;

	while (!err && page_tree_next_gap(&books->tree, &start, end, &gap)) {
		if (!hooks)
			err = jemalloc_report(books, INVENTORY_BOOKS, gap.start, gap.end);
		else if (books->allocator)
			inventory_count(books->image->inventory, books->allocator,
					books->image->memory, INVENTORY_BOOKS, gap.start, gap.end,
					UINT64_MAX);
	}
	return err;
}

static int jemalloc_report_base(struct jemalloc_books *books, uint64_t start, uint64_t end)
{
	uint64_t next = 0;
	int err;

	/* The first block of an arena has them: there is none before it. */
	if (end - start < BASE_ALIGN || start % BASE_ALIGN ||
	    !memory_image_word(books->image->memory, start + 8, &next) || next)
		return jemalloc_report_own(books, start, end, false);
	err = jemalloc_report_own(books, start, start + BASE_HOOKS, false);
	err = err ?: jemalloc_report_own(books, start + BASE_HOOKS, start + BASE_HOOKS_END, true);
	return err ?: jemalloc_report_own(books, start + BASE_HOOKS_END, end, false);
}

/* `described` has the addresses of all descriptions. */
static int jemalloc_report_bases(struct jemalloc_books *books, const uint64_t *described)
{
	struct jemalloc_bases bases = {0};
	uint64_t behind = 0;
	int err = 0;

	for (size_t i = 0; !err && i < books->tree.count; i++)
		err = jemalloc_find_base(books, &bases, described[i]);
	err = err ?: jemalloc_follow_bases(books, &bases);
	if (bases.count)
		qsort(bases.ranges, bases.count, sizeof(*bases.ranges), heap_range_order);
	for (size_t i = 0; !err && i < bases.count; i++) {
		uint64_t start = bases.ranges[i].start > behind ? bases.ranges[i].start : behind;

		if (start >= bases.ranges[i].end)
			continue;
		behind = bases.ranges[i].end;
		err = jemalloc_report_base(books, start, behind);
	}
	free(bases.ranges);
	return err;
}

static int jemalloc_report_descriptions(struct jemalloc_books *books)
{
	_cleanup_free_ uint64_t *described = calloc(books->tree.count + 1, sizeof(*described));

	if (!described)
		return -ENOMEM;
	for (size_t i = 0; i < books->tree.count; i++)
		described[i] = books->tree.spans[i].described_at;
	qsort(described, books->tree.count, sizeof(*described), compare_u64);
	return jemalloc_report_bases(books, described);
}

/* ---- all of it ---------------------------------------------------------------------------- */

/* Those that have extents. */
static uint64_t jemalloc_count_arenas(const struct jemalloc_books *books)
{
	bool seen[ARENAS] = {false};
	uint64_t count = 0;

	for (size_t i = 0; i < books->tree.count; i++) {
		size_t arena = books->tree.spans[i].words[0] % ARENAS;

		count += arena != ARENAS - 1 && !seen[arena];
		seen[arena] = true;
	}
	return count;
}

static void jemalloc_describe(const struct jemalloc_books *books)
{
	struct inspected_allocator *shown = &books->allocator->shown;

	snprintf(shown->version, sizeof(shown->version), "%s", books->layout->version);
	shown->arenas = jemalloc_count_arenas(books);
	if (!books->tree.left)
		walker_doubt(books->allocator, "its books are larger than all memory");
	if (!books->caches)
		walker_doubt(books->allocator, "no thread's cache was found, and what these keep "
					       "is not told from what is in use");
	if (books->unbelieved_caches)
		walker_doubt(books->allocator, "a thread's cache has what is no block of its size");
	if (books->changing)
		walker_doubt(books->allocator, "a thread was allocating or freeing at that moment: "
					       "some blocks may be on their way");
	if (shown->unbelieved_bytes)
		walker_doubt(books->allocator, "descriptions of extents disagree with themselves");
}

/* What threads have in hand of the descriptions. */
static int jemalloc_find_hand(struct jemalloc_books *books)
{
	struct heap_range range = {UINT64_MAX, 0};

	for (size_t i = 0; i < books->tree.count; i++) {
		uint64_t at = books->tree.spans[i].described_at;

		range.start = at < range.start ? at : range.start;
		range.end = at >= range.end ? at + books->layout->description_align : range.end;
	}
	return range.end ? walker_find_in_hand(books->image, &range, &books->hand) : 0;
}

static int jemalloc_mark_books(struct jemalloc_books *books)
{
	int err = page_tree_read(&books->tree);

	err = err ?: jemalloc_find_hand(books);
	jemalloc_choose_classes(books);
	err = err ?: jemalloc_find_caches(books);
	err = err ?: jemalloc_report_extents(books);
	err = err ?: jemalloc_report_descriptions(books);
	if (!err && books->allocator)
		jemalloc_describe(books);
	page_tree_clear(&books->tree);
	free(books->kept);
	free(books->hand.words);
	return err;
}

static int jemalloc_mark_root(struct heap_image *image, const struct jemalloc_layout *layout,
			      uint64_t root)
{
	struct jemalloc_books books = {
		.image = image,
		.allocator = walker_allocator(image, "jemalloc"),
		.layout = layout,
		.tree = {.kind = &layout->tree,
			 .image = image,
			 .root = root,
			 .left = image->memory->bytes / 2},
	};

	return jemalloc_mark_books(&books);
}

/* Some spans agree in another version's layout, too: those of the smallest slabs. */
struct jemalloc_roots {
	struct page_tree_root roots[ROOTS_MAX];
	size_t count;
};

static bool jemalloc_is_better(const struct page_tree_root *root,
			       const struct jemalloc_roots *others, bool first)
{
	for (size_t i = 0; i < others->count; i++) {
		if (others->roots[i].address == root->address &&
		    others->roots[i].spans + !first > root->spans)
			return false;
	}
	return true;
}

int jemalloc_heap_mark(struct heap_image *image)
{
	struct jemalloc_roots found[ARRAY_SIZE(jemalloc_layouts)];
	int err = 0;

	_Static_assert(ARRAY_SIZE(jemalloc_layouts) == 2, "each is compared with the other");
	for (size_t i = 0; i < ARRAY_SIZE(jemalloc_layouts); i++)
		found[i].count = page_tree_roots(image, &jemalloc_layouts[i].tree, found[i].roots,
						 ROOTS_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(jemalloc_layouts); i++) {
		for (size_t k = 0; !err && k < found[i].count; k++) {
			if (jemalloc_is_better(&found[i].roots[k], &found[1 - i], i == 0))
				err = jemalloc_mark_root(image, &jemalloc_layouts[i],
							 found[i].roots[k].address);
		}
	}
	return err;
}
