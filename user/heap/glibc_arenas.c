// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where glibc's arenas are. The main one is a variable of libc, told by its 127 bins, of which each is a ring that
 * leads through the bin itself; the others hang on it in a ring. Beside it lies struct malloc_par, which counts what
 * is in no arena.
 */
#include <errno.h>

#include "user/base/util.h"
#include "user/heap/glibc_books.h"

/* So many bins may be in the middle of a change. */
#define BINS_AMISS 4

#define ARENAS_MAX (1 << 16)

/* struct malloc_par and the main arena are initialised data of one object. */
#define PARAMS_REACH (128ull << 10)
#define TCACHE_BINS  64

/* A ring of chunks: as a chunk, the bin begins before its two links. */
static bool glibc_is_bin(struct glibc_books *books, uint64_t links)
{
	uint64_t bin = links - GLIBC_HEADER, next, prev, back, forth;

	if (!glibc_word(books, links, &next) || !glibc_word(books, links + 8, &prev))
		return false;
	if (next == bin || prev == bin)
		return next == prev;
	return next && prev && !(next % GLIBC_ALIGN) && !(prev % GLIBC_ALIGN) &&
	       glibc_word(books, next + GLIBC_HEADER + 8, &back) && back == bin &&
	       glibc_word(books, prev + GLIBC_HEADER, &forth) && forth == bin;
}

static bool glibc_are_bins(struct glibc_books *books, uint64_t bins, unsigned *amiss)
{
	*amiss = 0;
	for (uint64_t i = 0; i < GLIBC_BINS && *amiss <= BINS_AMISS; i++)
		*amiss += !glibc_is_bin(books, bins + 16 * i);
	return *amiss <= BINS_AMISS;
}

/* From its bins to the beginning of struct malloc_state: 2.27, 2.26. */
static const uint64_t glibc_heads[] = {112, 104};

/* Adds the arena, if it is one. */
static int glibc_add_arena(struct glibc_books *books, uint64_t address, bool main)
{
	struct glibc_arena a = {.address = address, .bins = address + books->head, .main = main};
	uint64_t mutex;
	unsigned amiss;

	if (address % 8 || !glibc_are_bins(books, a.bins, &amiss) ||
	    !glibc_word(books, address, &mutex) || !glibc_word(books, a.bins - GLIBC_TOP, &a.top) ||
	    !glibc_word(books, a.bins + GLIBC_SYSTEM_MEM, &a.system_mem))
		return 0;
	a.locked = (uint32_t)mutex != 0 || amiss;
	if (!RESERVE_ITEM(books->arenas, books->arena_count, books->arena_room, 16))
		return -ENOMEM;
	books->arenas[books->arena_count++] = a;
	return 0;
}

/* Does the ring of arenas that begins behind these bins lead back to them? */
static bool glibc_closes(struct glibc_books *books, uint64_t bins, uint64_t head)
{
	uint64_t at = bins - head;

	for (unsigned i = 0; i < ARENAS_MAX && books->left; i++, books->left--) {
		if (at % 8 || !glibc_word(books, at + head + GLIBC_NEXT, &at))
			return false;
		if (at == bins - head)
			return true;
	}
	return false;
}

/*
 * struct malloc_par up to mmapped_mem: trim_threshold, top_pad, mmap_threshold, arena_test, arena_max, from 2.35 on
 * thp_pagesize, hp_pagesize and the int hp_flags, then the ints n_mmaps, n_mmaps_max, max_n_mmaps, no_dyn_threshold.
 * False when what stands there cannot be that.
 */
static bool glibc_params_before(struct glibc_books *books, uint64_t at, uint64_t *mapped_count,
				bool *wide)
{
	uint64_t w[8]; /* w[i] is the word so many before */

	for (unsigned i = 1; i < ARRAY_SIZE(w); i++) {
		if (!glibc_word(books, at - 8ull * i, &w[i]))
			return false;
	}
	*mapped_count = w[3] >> 32;
	*wide = true;
	if (w[1] <= 1 && w[7] && w[7] <= ARENAS_MAX && w[6] <= ARENAS_MAX && !(w[5] % GLIBC_PAGE) &&
	    !(w[4] % GLIBC_PAGE) && *mapped_count <= w[2] >> 32)
		return true;
	*mapped_count = (uint32_t)w[2];
	*wide = false;
	return w[1] >> 32 <= 1 && w[4] && w[4] <= ARENAS_MAX && w[3] <= ARENAS_MAX &&
	       *mapped_count <= (uint32_t)w[1];
}

/* mmapped_mem, max_mmapped_mem, sbrk_base, tcache_bins, tcache_max_bytes, tcache_count */
static bool glibc_params_at(struct glibc_books *books, uint64_t at, struct glibc_arena *a)
{
	uint64_t words[6], max_chunk, count, first;
	bool wide;

	for (unsigned i = 0; i < ARRAY_SIZE(words); i++) {
		if (!glibc_word(books, at + 8 * i, &words[i]))
			return false;
	}
	if (words[0] % GLIBC_PAGE || words[1] % GLIBC_PAGE || words[0] > words[1] || !words[3] ||
	    words[3] > TCACHE_BINS || words[4] > 16 * TCACHE_BINS + 8 || words[5] > UINT16_MAX)
		return false;
	max_chunk = (words[4] + 8 + 15) & ~15ull;
	max_chunk = max_chunk < GLIBC_MIN_CHUNK ? GLIBC_MIN_CHUNK : max_chunk;
	if ((max_chunk - GLIBC_MIN_CHUNK) / 16 + 1 != words[3] ||
	    (words[2] && (words[2] % 8 || !glibc_word(books, words[2], &first))) ||
	    !glibc_params_before(books, at, &count, &wide))
		return false;
	a->params_wide = wide;
	a->mapped_count = count;
	a->params = at;
	a->mapped_bytes = words[0];
	a->brk = words[2];
	return true;
}

static void glibc_find_params(struct glibc_books *books, struct glibc_arena *a)
{
	for (uint64_t i = 0; i < PARAMS_REACH; i += 8) {
		if (glibc_params_at(books, a->address - i, a) ||
		    glibc_params_at(books, a->bins + GLIBC_STATE_END + i, a))
			return;
	}
}

static int glibc_take_main(struct glibc_books *books, uint64_t bins)
{
	uint64_t at;
	size_t main = books->arena_count;
	int err;

	/* Several that lead into one ring would add all of it each. */
	if (main >= ARENAS_MAX)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(glibc_heads); i++) {
		books->head = glibc_heads[i];
		if (!glibc_closes(books, bins, books->head))
			continue;
		err = glibc_add_arena(books, bins - books->head, true);
		if (err || books->arena_count == main)
			return err;
		glibc_find_params(books, &books->arenas[main]);
		for (at = bins - books->head;
		     !err && glibc_word(books, at + books->head + GLIBC_NEXT, &at) &&
		     at != bins - books->head;)
			err = glibc_add_arena(books, at, false);
		return err;
	}
	return 0;
}

int glibc_find_arenas(struct glibc_books *books)
{
	const struct memory_image *memory = books->image->memory;
	unsigned amiss;
	int err = 0;

	for (size_t i = 0; !err && i < memory->region_count; i++) {
		const struct memory_region *r = &memory->regions[i];

		if (!walker_is_data(books->image, r))
			continue;
		for (size_t w = 2; !err && w + GLIBC_STATE_END / 8 <= r->size / 8; w++) {
			const uint64_t *bins = r->words + w;

			/* top is a chunk; few other words are followed by rings. */
			if (!bins[-2] || bins[-2] % GLIBC_ALIGN || !bins[0] || !bins[1] ||
			    bins[0] % 8 || !glibc_are_bins(books, r->start + 8 * w, &amiss))
				continue;
			err = glibc_take_main(books, r->start + 8 * w);
			w += 2ul * GLIBC_BINS;
		}
	}
	return err;
}
