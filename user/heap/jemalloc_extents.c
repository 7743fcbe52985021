// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/jemalloc_books.h"

#define PAGE 4096ull

#define REGIONS_MAX 512
#define CLASSES	    235		 /* SC_NSIZES at the most: no class */
#define EXTENT_MAX  (1ull << 40) /* of an extent; pointers are larger */

/* What comes behind it is on the way from one to another. */
#define STATES 6

static uint64_t jemalloc_bytes(bool fine, unsigned size_class)
{
	unsigned group, step;

	if (fine && size_class < 8)
		return 8ull * (size_class + 1);
	size_class -= fine ? 3 : 0;
	if (size_class < 5)
		return size_class ? 16ull * size_class : 8;
	group = (size_class - 5) / 4;
	step = (size_class - 5) % 4 + 1;
	return (64ull << group) + step * (16ull << group);
}

uint64_t jemalloc_class_bytes(const struct jemalloc_books *books, unsigned size_class)
{
	return jemalloc_bytes(books->fine_classes, size_class);
}

/* A slab is as large as the smallest row of whole pages that its regions fill. */
static bool jemalloc_is_slab_of(const struct page_span *extent, uint64_t bytes)
{
	unsigned shift = (unsigned)__builtin_ctzll(bytes);

	return extent->end - extent->start == bytes >> (shift < 12 ? shift : 12) << 12;
}

void jemalloc_choose_classes(struct jemalloc_books *books)
{
	size_t coarse = 0, fine = 0;

	for (size_t i = 0; i < books->tree.count; i++) {
		const struct page_span *e = &books->tree.spans[i];

		if (e->state != PAGE_SPAN_IN_USE || !jemalloc_is_slab(e) ||
		    e->size_class >= JEMALLOC_SMALL_MAX)
			continue;
		coarse += jemalloc_is_slab_of(e, jemalloc_bytes(false, e->size_class));
		fine += jemalloc_is_slab_of(e, jemalloc_bytes(true, e->size_class));
	}
	books->fine_classes = fine > coarse;
}

/*
 * The number of free regions is told apart from the bitmap, and has to be theirs. Bits behind those of its
 * regions are left as they were.
 */
uint64_t jemalloc_slab_regions(const struct jemalloc_books *books, const struct page_span *e)
{
	uint64_t regions, free = 0, bytes;

	if (e->size_class >= JEMALLOC_SMALL_MAX)
		return 0;
	bytes = jemalloc_class_bytes(books, e->size_class);
	regions = (e->end - e->start) / bytes;
	if (!jemalloc_is_slab_of(e, bytes) || regions > REGIONS_MAX)
		return 0;
	for (unsigned i = 0; i < (regions + 63) / 64; i++)
		free += (unsigned)__builtin_popcountll(e->words[JEMALLOC_BITMAP + i]);
	return free == (e->words[0] >> books->layout->free_shift & 0x3ff) ? regions : 0;
}

static const struct jemalloc_layout *jemalloc_layout(const struct page_tree *tree)
{
	return (const struct jemalloc_layout *)tree->kind;
}

uint64_t jemalloc_described_at(const struct page_tree *tree, uint64_t entry)
{
	return (uint64_t)((int64_t)(entry << 16) >> 16) &
	       ~(jemalloc_layout(tree)->description_align - 1ull);
}

bool jemalloc_read_extent(const struct page_tree *tree, uint64_t entry, struct page_span *out)
{
	const struct jemalloc_layout *layout = jemalloc_layout(tree);
	const uint64_t *words =
		memory_image_words(tree->image->memory, out->described_at, JEMALLOC_DESCRIPTION);
	uint64_t size, bits;

	if (!words || words[1] >> 47)
		return false;
	bits = words[0];
	out->start = words[1] & ~(PAGE - 1);
	size = words[2] & ~(PAGE - 1);
	if (!size || size >= EXTENT_MAX)
		return false;
	out->end = out->start + size;
	out->words = words;
	out->state = bits >> layout->state_shift & ((1u << layout->state_bits) - 1);
	out->size_class = bits >> layout->class_shift & 0xff;
	if (out->state >= STATES || out->size_class > CLASSES ||
	    (layout->entry_has_state && (bits >> 45 || (entry >> 2 & 7) != out->state)))
		return false;
	/*
	 * The entry has a copy of what they say, which is not kept up once the extent is free: emap_remap()
	 * leaves there that it was a slab, and of which class.
	 */
	return out->state != PAGE_SPAN_IN_USE ||
	       (entry >> 48 == out->size_class && (entry & 1) == jemalloc_is_slab(out));
}

bool jemalloc_is_slab(const struct page_span *extent)
{
	return extent->words[0] >> 12 & 1;
}

bool jemalloc_block(const struct jemalloc_books *books, uint64_t address, struct heap_range *block,
		    unsigned *size_class)
{
	const struct page_span *e = page_tree_find(&books->tree, address);
	uint64_t bytes;

	if (!e || e->state != PAGE_SPAN_IN_USE)
		return false;
	*size_class = e->size_class;
	bytes = jemalloc_class_bytes(books, e->size_class);
	if (!bytes || bytes > e->end - e->start)
		return false;
	block->start = jemalloc_is_slab(e) ? address - (address - e->start) % bytes : e->words[1];
	block->end = block->start + bytes;
	return address >= block->start && address < block->end && block->end <= e->end;
}
