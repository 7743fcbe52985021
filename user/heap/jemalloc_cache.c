// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The caches of threads that jemalloc has (tcache_structs.h, cache_bin.h and tcache.c of its sources).
 * A cache is a row of bins, one to a size class, in the thread's static TLS. Each bin has an array of
 * addresses of free blocks; the arrays of all bins lie one behind the other in a block of jemalloc's
 * own. A slot of an array keeps the address of what was handed out from it, which it does not hold.
 *
 * Where a bin is empty its thread may be about to fill it (arena_cache_bin_fill_small() of 5.3,
 * arena_tcache_fill_small() of 5.2): blocks that the slab does not have as free any more are in the array, and
 * the bin says so when all are. Meanwhile the thread has the array's end in hand, or where in the array it goes on (5.2:
 * the bin), and what is in the array may be in use or not.
 */
#include "user/heap/jemalloc_books.h"

#include <errno.h>

#include "user/base/util.h"

#define PAGE	    4096ull
#define BIN_WORDS   3
#define BINS_MIN    30
#define BINS_MAX    80
#define ARRAY_BYTES (1ull << 16) /* of a bin, less than that */

/* 5.3 has these in front of the arrays and behind them, 5.3.1 the first one + 1 behind. */
#define JUNK_BEFORE 0x7a7a7a7a7a7a7a7aull
#define JUNK_BEHIND 0xa7a7a7a7a7a7a7a7ull

static int jemalloc_keep(struct jemalloc_books *books, uint64_t block, uint64_t tag)
{
	/* Many threads may say that they have one and the same cache. */
	if (!books->tree.left)
		return 0;
	books->tree.left--;
	if (!RESERVE_ITEM(books->kept, books->kept_count, books->kept_room, 1024))
		return -ENOMEM;
	books->kept[books->kept_count++] = block | tag;
	return 0;
}

struct jemalloc_bin {
	/* where the array begins, the first free block's address, and the array's end */
	uint64_t full, head, empty;
};

/* Blocks of the class whose addresses are in [at, end). */
static int jemalloc_keep_cached(struct jemalloc_books *books, uint64_t at, uint64_t end,
				unsigned size_class)
{
	int err = 0;

	for (; !err && at < end; at += 8) {
		struct heap_range block;
		unsigned its_class;
		uint64_t word;

		if (memory_image_word(books->image->memory, at, &word) &&
		    jemalloc_block(books, word, &block, &its_class) && block.start == word &&
		    its_class == size_class)
			err = jemalloc_keep(books, word, JEMALLOC_CACHED);
		else
			books->unbelieved_caches = true;
	}
	return err;
}

/* What is in the array of an empty bin that its thread is filling. */
static int jemalloc_hold_filled(struct jemalloc_books *books, const struct jemalloc_bin *bin,
				unsigned size_class)
{
	int err = 0;

	books->changing = true;
	for (uint64_t at = bin->full; !err && at < bin->empty; at += 8) {
		struct heap_range block;
		unsigned its_class;
		uint64_t word;

		if (memory_image_word(books->image->memory, at, &word) && word &&
		    jemalloc_block(books, word, &block, &its_class) && block.start == word &&
		    its_class == size_class)
			err = heap_image_hold(books->image, word);
	}
	return err;
}

/* The block that the arrays lie in; in 5.3.1 they may lie in memory that is jemalloc's own anyway. */
static int jemalloc_keep_arrays(struct jemalloc_books *books, uint64_t inside)
{
	struct heap_range block;
	unsigned size_class;

	books->caches++;
	return jemalloc_block(books, inside, &block, &size_class)
		       ? jemalloc_keep(books, block.start, JEMALLOC_ARRAY)
		       : 0;
}

/* ---- 5.3 ---------------------------------------------------------------------------------- */

/*
 * cache_bin_t: stack_head, a count, and the low 16 bits of three places in its array; in 5.3.1 for how
 * many addresses the array has room, too. False as well for a bin that is not used.
 */
static bool jemalloc_read_bin(const uint64_t *words, struct jemalloc_bin *bin)
{
	uint64_t low = words[2] >> 32;
	uint16_t head = (uint16_t)words[0], full = (uint16_t)(words[2] >> 16),
		 empty = (uint16_t)low, room = (uint16_t)(words[2] >> 48);

	if (words[0] % 8 || words[0] >> 47 || full % 8 || empty % 8)
		return false;
	bin->head = words[0];
	bin->empty = bin->head + (uint16_t)(empty - head);
	bin->full = room ? bin->empty - 8ull * room : bin->head - (uint16_t)(head - full);
	return bin->empty > bin->full && bin->head >= bin->full &&
	       bin->empty - bin->full < ARRAY_BYTES;
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
		if (!n && (bin.full % 16 != 8 ||
			   !memory_image_word(books->image->memory, bin.full - 8, &junk) ||
			   junk != JUNK_BEFORE))
			return 0;
	}
	return n >= BINS_MIN && memory_image_word(books->image->memory, last.empty, &junk) &&
			       (junk == JUNK_BEHIND || junk == JUNK_BEFORE + 1)
		       ? n
		       : 0;
}

bool jemalloc_is_cache_5_3(const struct jemalloc_books *books, uint64_t at, const uint64_t *words,
			   size_t count)
{
	(void)at;
	return jemalloc_count_bins(books, words, count);
}

int jemalloc_keep_cache_5_3(struct jemalloc_books *books, const struct memory_thread *thread,
			    uint64_t at, const uint64_t *words, size_t count)
{
	size_t bins = jemalloc_count_bins(books, words, count);
	struct jemalloc_bin bin = {0};
	int err = 0;

	for (unsigned i = 0; !err && i < bins; i++) {
		if (!jemalloc_read_bin(words + (size_t)i * BIN_WORDS, &bin))
			continue;
		if (bin.head == bin.empty &&
		    walker_has_in_hand(books->image, thread,
				       &(struct heap_range){bin.full + 8, bin.empty + 8}, at))
			err = jemalloc_hold_filled(books, &bin, i);
		else
			err = jemalloc_keep_cached(books, bin.head, bin.empty, i);
	}
	return err ?: jemalloc_keep_arrays(books, bin.full);
}

bool jemalloc_is_array(const struct jemalloc_books *books, const struct heap_range *block)
{
	uint64_t at = block->start, word;
	struct memory_run run;

	if (at % PAGE || !memory_image_word(books->image->memory, at, &word) || word != JUNK_BEFORE)
		return false;
	while (memory_image_next_run(books->image->memory, &at, block->end, &run)) {
		for (size_t i = 0; i < run.count; i++) {
			if (run.words[i] == JUNK_BEHIND || run.words[i] == JUNK_BEFORE + 1)
				return true;
		}
	}
	return false;
}

/* ---- 5.2 ---------------------------------------------------------------------------------- */

/*
 * tcache_t: 16 bytes, the bins of small blocks, links and a flag (40), a descriptor that names these bins
 * and those of large blocks, an arena and, for each bin of small ones, a byte; then the bins of large ones.
 */
struct jemalloc_old_cache {
	unsigned small; /* bins */
	uint64_t small_at, large_at;
};

static struct jemalloc_old_cache jemalloc_old_cache(const struct jemalloc_books *books,
						    uint64_t named_at)
{
	unsigned small = books->fine_classes ? 39 : 36;

	return (struct jemalloc_old_cache){
		.small = small,
		.small_at = named_at - 56 - 24ull * small,
		.large_at = (named_at + 28 + small + 7) & ~7ull,
	};
}

/* cache_bin_t: two counts of 32 bits, a statistic, and where its array ends, which is filled downwards. */
static bool jemalloc_read_old_bin(const struct jemalloc_books *books, uint64_t at, uint64_t before,
				  struct jemalloc_bin *bin)
{
	const uint64_t *words = memory_image_words(books->image->memory, at, BIN_WORDS);
	uint64_t free = words ? words[0] >> 32 : 0;

	if (!words || words[2] % 8 || words[2] <= before || words[2] - before >= ARRAY_BYTES ||
	    free > (words[2] - before) / 8)
		return false;
	*bin = (struct jemalloc_bin){before, words[2] - 8 * free, words[2]};
	return true;
}

/* The block that the arrays are in, and where they begin. */
static bool jemalloc_old_arrays(const struct jemalloc_books *books,
				const struct jemalloc_old_cache *cache, struct heap_range *block)
{
	unsigned size_class;
	uint64_t end;

	return memory_image_word(books->image->memory, cache->small_at + 16, &end) &&
	       jemalloc_block(books, end - 8, block, &size_class);
}

/* It names itself, and the arrays of the bins of small blocks lie one behind the other. */
bool jemalloc_is_cache_5_2(const struct jemalloc_books *books, uint64_t at, const uint64_t *words,
			   size_t count)
{
	const struct jemalloc_old_cache cache = jemalloc_old_cache(books, at);
	struct jemalloc_bin bin;
	struct heap_range block;

	if (count < 2 || words[0] != cache.small_at || words[1] != cache.large_at ||
	    !jemalloc_old_arrays(books, &cache, &block))
		return false;
	bin.empty = block.start;
	for (unsigned i = 0; i < cache.small; i++) {
		if (!jemalloc_read_old_bin(books, cache.small_at + 8ull * BIN_WORDS * i, bin.empty,
					   &bin))
			return false;
	}
	return bin.empty <= block.end;
}

int jemalloc_keep_cache_5_2(struct jemalloc_books *books, const struct memory_thread *thread,
			    uint64_t at, const uint64_t *words, size_t count)
{
	const struct jemalloc_old_cache cache = jemalloc_old_cache(books, at);
	struct heap_range block = {0};
	struct jemalloc_bin bin;
	int err = 0;

	(void)words;
	(void)count;
	if (!jemalloc_old_arrays(books, &cache, &block))
		return 0; /* jemalloc_is_cache_5_2() has read it */
	bin.empty = block.start;
	for (unsigned i = 0; !err && i < BINS_MAX; i++) {
		uint64_t bin_at = i < cache.small
					  ? cache.small_at + 8ull * BIN_WORDS * i
					  : cache.large_at + 8ull * BIN_WORDS * (i - cache.small);

		/* How many classes of large blocks are cached is an option of jemalloc's. */
		if (!jemalloc_read_old_bin(books, bin_at, bin.empty, &bin) || bin.empty > block.end)
			break;
		if (bin.head == bin.empty &&
		    walker_has_in_hand(books->image, thread,
				       &(struct heap_range){bin_at, bin_at + 8}, at))
			err = jemalloc_hold_filled(books, &bin, i);
		else
			err = jemalloc_keep_cached(books, bin.head, bin.empty, i);
	}
	return err ?: jemalloc_keep_arrays(books, block.start);
}

/* ---- threads ------------------------------------------------------------------------------ */

/* The memory of threads that have ended may have others near by: it is the nearest. */
static int jemalloc_find_cache(struct jemalloc_books *books, const struct memory_thread *thread)
{
	struct heap_range tls = walker_tls(thread);
	uint64_t nearest = UINT64_MAX, nearest_at = 0;
	struct memory_run run, in = {0};

	while (memory_image_next_run(books->image->memory, &tls.start, tls.end, &run)) {
		for (size_t i = 0; i < run.count; i++) {
			uint64_t at = run.address + 8 * i;
			uint64_t far = at > thread->tls ? at - thread->tls : thread->tls - at;

			if (far >= nearest ||
			    !books->layout->is_cache(books, at, run.words + i, run.count - i))
				continue;
			nearest = far;
			nearest_at = at;
			in = run;
		}
	}
	if (!in.words)
		return 0;
	nearest = (nearest_at - in.address) / 8;
	return books->layout->keep_cache(books, thread, nearest_at, in.words + nearest,
					 in.count - nearest);
}

int jemalloc_find_caches(struct jemalloc_books *books)
{
	int err = 0;

	for (size_t i = 0; !err && i < books->image->memory->thread_count; i++)
		err = jemalloc_find_cache(books, &books->image->memory->threads[i]);
	if (books->kept_count)
		qsort(books->kept, books->kept_count, sizeof(*books->kept), compare_u64);
	return err;
}
