// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/heap/block_index.h"

#include <stdlib.h>

#include "user/base/util.h"

#define PAGE_SHIFT 12
#define PAGE	   (1ull << PAGE_SHIFT)

/*
 * Blocks farther apart than that (in pages) are in different spans: the pages between would cost
 * memory for nothing.
 */
#define SPAN_GAP 1024

/*
 * A block of more pages has a span of its own, which needs none of them: programs reserve
 * terabytes.
 */
#define HUGE_PAGES 16384

/* A stretch of pages with blocks in it. */
struct block_span {
	uint64_t start; /* of its first block */
	uint64_t first_page, pages;
	uint32_t begin; /* its first block */
	/*
	 * by page, and one more: the first block that ends behind the page's start; NULL: one huge
	 * block
	 */
	uint32_t *first;
};

struct block_index {
	const struct heap_image *image;
	size_t count;
	uint64_t low, high; /* no block is outside of [low, high] */
	struct block_span *spans;
	size_t span_count;
	uint32_t *storage;
};

/* A block of no bytes has one for this purpose. */
static uint64_t block_last_byte(const struct block_index *index, size_t block)
{
	uint64_t start = heap_block_address(index->image, block);
	uint64_t end = heap_block_end(index->image, block);

	return end > start ? end - 1 : start;
}

static uint64_t block_first_page(const struct block_index *index, size_t block)
{
	return heap_block_address(index->image, block) >> PAGE_SHIFT;
}

static uint64_t block_last_page(const struct block_index *index, size_t block)
{
	return block_last_byte(index, block) >> PAGE_SHIFT;
}

static bool block_is_huge(const struct block_index *index, size_t block)
{
	return block_last_page(index, block) - block_first_page(index, block) >= HUGE_PAGES;
}

/* Does a new span begin with this block? */
static bool block_index_begins_span(const struct block_index *index, size_t i)
{
	return !i || block_is_huge(index, i) || block_is_huge(index, i - 1) ||
	       block_first_page(index, i) - block_last_page(index, i - 1) > SPAN_GAP;
}

static void block_index_fill_span(const struct block_index *index, struct block_span *span,
				  size_t begin, size_t end)
{
	size_t block = begin;

	for (uint64_t page = 0; page <= span->pages; page++) {
		uint64_t start = (span->first_page + page) << PAGE_SHIFT;

		while (block < end && block_last_byte(index, block) < start)
			block++;
		span->first[page] = (uint32_t)block;
	}
}

/* How many words the spans need; false when there are more than could be (a lie in the books). */
static bool block_index_measure(struct block_index *index, uint64_t *words)
{
	*words = 0;
	for (size_t i = 0; i < index->count; i++) {
		bool begins = block_index_begins_span(index, i);

		index->span_count += begins;
		if (block_is_huge(index, i))
			continue;
		*words += begins ? block_last_page(index, i) - block_first_page(index, i) + 2
				 : block_last_page(index, i) - block_last_page(index, i - 1);
	}
	return *words < (1ull << 32);
}

struct block_index *block_index_new(const struct heap_image *image)
{
	struct block_index *index = calloc(1, sizeof(*index));
	uint64_t words;
	uint32_t *next;
	size_t n = 0;

	if (!index)
		return NULL;
	index->image = image;
	index->count = image->block_count;
	index->low = UINT64_MAX;
	if (!index->count)
		return index;
	index->low = heap_block_address(image, 0);
	index->high = block_last_byte(index, index->count - 1);
	if (!block_index_measure(index, &words))
		goto fail;
	index->spans = calloc(index->span_count, sizeof(*index->spans));
	/* None where all blocks are huge, and calloc(0) may be NULL. */
	next = index->storage = calloc(words + 1, sizeof(*index->storage));
	if (!index->spans || !index->storage)
		goto fail;
	for (size_t begin = 0, end; begin < index->count; begin = end) {
		struct block_span *span = &index->spans[n++];

		for (end = begin + 1; end < index->count && !block_index_begins_span(index, end);
		     end++)
			;
		span->start = heap_block_address(image, begin);
		span->begin = (uint32_t)begin;
		span->first_page = block_first_page(index, begin);
		span->pages = block_last_page(index, end - 1) - span->first_page + 1;
		if (block_is_huge(index, begin))
			continue;
		span->first = next;
		next += span->pages + 1;
		block_index_fill_span(index, span, begin, end);
	}
	return index;
fail:
	block_index_free(index);
	return NULL;
}

void block_index_free(struct block_index *index)
{
	if (!index)
		return;
	free(index->spans);
	free(index->storage);
	free(index);
}

/* The last span that begins at the address or before it. */
static const struct block_span *block_index_find_span(const struct block_index *index,
						      uint64_t address)
{
	size_t low = BISECT(i, 0, index->span_count, index->spans[i].start <= address);

	return low ? &index->spans[low - 1] : NULL;
}

/*
 * The first of the blocks [low, high), which are a page's, that begins behind the address; `high`: none.
 * Mostly a page has blocks of one size: it is looked for from where that one is then, in steps that double.
 */
static size_t block_index_search(const struct heap_image *image, size_t low, size_t high,
				 uint64_t address)
{
	size_t step = 1, at = low + (address % PAGE * (high - low) >> PAGE_SHIFT);

	if (low < high && heap_block_address(image, at) <= address) {
		for (low = at + 1; low + step < high; low += step, step *= 2) {
			if (heap_block_address(image, low + step - 1) > address) {
				high = low + step;
				break;
			}
		}
	} else if (low < high) {
		for (high = at; low + step < high; high -= step, step *= 2) {
			if (heap_block_address(image, high - step) <= address) {
				low = high - step;
				break;
			}
		}
	}
	return BISECT(i, low, high, heap_block_address(image, i) <= address);
}

uint32_t block_index_find(const struct block_index *index, uint64_t address)
{
	const struct block_span *span;
	struct heap_block block;
	uint64_t page;
	size_t low, high;

	if (address < index->low || address > index->high)
		return BLOCK_NONE;
	span = block_index_find_span(index, address);
	page = (address >> PAGE_SHIFT) - (span ? span->first_page : 0);
	if (!span || page >= span->pages)
		return BLOCK_NONE;
	if (!span->first)
		return address <= block_last_byte(index, span->begin) ? span->begin : BLOCK_NONE;
	low = span->first[page];
	/* The first block behind the page's end may begin in the page; its successors do not. */
	high = span->first[page + 1] + 1ull;
	high = high > index->count ? index->count : high;
	/* The last block that begins at the address or before it. */
	low = block_index_search(index->image, low, high, address);
	if (!low)
		return BLOCK_NONE;
	/* The next one begins behind the address: it does not matter where this one is cut. */
	block = heap_block_at(index->image, low - 1);
	if (address != block.address && address - block.address >= block.size)
		return BLOCK_NONE;
	return (uint32_t)(low - 1);
}
