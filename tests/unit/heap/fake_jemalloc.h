/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A heap of jemalloc's made by hand, as 5.3 and as 5.2 have it: a tree, extents and a thread's cache. */
#ifndef MEMLEAKBPF_TESTS_FAKE_JEMALLOC_H
#define MEMLEAKBPF_TESTS_FAKE_JEMALLOC_H

#include "tests/unit/heap/fake_image.h"

#define JE_BSS	  0x7ffff7a01000ull
#define JE_ROOT	  (JE_BSS + 0x440)
#define JE_BASE	  0x7fffe0000000ull /* jemalloc's own memory */
#define JE_EDATAS (JE_BASE + 0x1000)
#define JE_HINTS  (JE_BASE + 0x3008) /* where an arena repeats addresses of extents */
#define JE_HOOKS  (JE_BASE + 200)    /* what the program may have given */
#define JE_LEAF	  (JE_BASE + 0x200000)
#define JE_TLS	  0x7ffff7000000ull
#define JE_BINS	  (JE_TLS - 0x1000)
#define JE_CACHE2 (JE_TLS - 0x2000) /* of 5.2 */

/* The extents. */
#define JE_SLAB	  0x7ffff0000000ull /* of 48 bytes */
#define JE_LARGE  0x7ffff0003000ull
#define JE_DIRTY  0x7ffff0008000ull
#define JE_CACHE  0x7ffff0010000ull /* a thread's arrays */
#define JE_SINGLE 0x7ffff0020000ull /* no extent: the program's own mapping, merged with them */

#define JE_LARGE_CLASS 36
#define JE_FREE_CLASS  232

static const char jemalloc_maps[] =
	"7fffe0000000-7fffe0600000 rw-p 00000000 00:00 0 \n"
	"7ffff0000000-7ffff0040000 rw-p 00000000 00:00 0 \n"
	"7ffff6ff0000-7ffff7001000 rw-p 00000000 00:00 0 \n"
	"7ffff79f0000-7ffff7a00000 r-xp 00000000 08:01 9 /lib/libjemalloc.so.2\n"
	"7ffff7a00000-7ffff7a01000 rw-p 000cc000 08:01 9 /lib/libjemalloc.so.2\n"
	"7ffff7a01000-7ffff7c20000 rw-p 00000000 00:00 0 \n";

static bool jemalloc_old;	   /* 5.2 */
static uint64_t jemalloc_edata_at; /* where the next edata_t comes */

/* The first word of a description. */
static inline uint64_t jemalloc_bits(uint64_t state, uint64_t size_class, uint64_t slab,
				     uint64_t free)
{
	return jemalloc_old ? 1ull << 43 | slab << 12 | state << 16 | size_class << 18 | free << 26
			    : slab << 12 | state << 17 | size_class << 20 | free << 28;
}

static inline uint64_t jemalloc_entry_of(uint64_t edata, uint64_t state, uint64_t size_class,
					 uint64_t slab)
{
	return size_class << 48 | edata | (jemalloc_old ? 0 : state << 2) | slab;
}

static inline void jemalloc_entry(struct heap_image *image, uint64_t page, uint64_t word)
{
	fake_word(image, JE_LEAF + 8 * (page / 4096 % (1 << 18)), word);
}

/* An extent, in its edata_t and in the tree. Returns the edata_t. */
static inline uint64_t jemalloc_extent(struct heap_image *image, uint64_t address, uint64_t size,
				       uint64_t state, uint64_t size_class, uint64_t slab,
				       uint64_t free)
{
	uint64_t edata = jemalloc_edata_at, page = address & ~4095ull;

	jemalloc_edata_at += 128;
	fake_word(image, edata, jemalloc_bits(state, size_class, slab, free));
	fake_word(image, edata + 8, address);
	fake_word(image, edata + 16, size);
	jemalloc_entry(image, page, jemalloc_entry_of(edata, state, size_class, slab));
	jemalloc_entry(image, page + size - 4096,
		       jemalloc_entry_of(edata, state, size_class, slab));
	return edata;
}

struct jemalloc_parts {
	uint64_t slab, large, dirty, old;
};

/*
 * Rows of arrays, 16 words each: of the class of 48 bytes the last three hold a free block, and
 * before it addresses of blocks that were handed out.
 */
static inline void jemalloc_cache(struct heap_image *image)
{
	uint64_t at = JE_CACHE + 8;

	fake_word(image, JE_CACHE, 0x7a7a7a7a7a7a7a7aull);
	for (uint64_t bin = 0; bin < 36; bin++, at += 128) {
		uint64_t head = at + 128 - (bin == 3 ? 8 : 0);

		fake_word(image, JE_BINS + 24 * bin, head);
		fake_word(image, JE_BINS + 24 * bin + 16,
			  ((at + 128) & 0xffff) << 32 | (at & 0xffff) << 16 | (head & 0xffff));
		if (bin == 3)
			fake_word(image, head, JE_SLAB + 3 * 48ull);
	}
	fake_word(image, at, 0xa7a7a7a7a7a7a7a7ull);
}

/* The same of 5.2, which marks no beginning and no end. */
static inline void jemalloc_old_cache(struct heap_image *image)
{
	fake_word(image, JE_CACHE2 + 936, JE_CACHE2 + 16);
	fake_word(image, JE_CACHE2 + 944, JE_CACHE2 + 1000);
	for (uint64_t bin = 0; bin < 41; bin++) {
		uint64_t at = JE_CACHE2 + 16 + 24 * bin + (bin < 36 ? 0 : 120);

		fake_word(image, at, bin == 3 ? 1ull << 32 : 0);
		fake_word(image, at + 16, JE_CACHE + 128 * (bin + 1));
		if (bin == 3)
			fake_word(image, JE_CACHE + 128 * (bin + 1) - 8, JE_SLAB + 3 * 48ull);
	}
}

static inline struct heap_image *fake_jemalloc(struct jemalloc_parts *p)
{
	struct heap_image *image = fake_image(jemalloc_maps);

	/* Of its own memory only what is used: its beginning, and the leaf's page of these addresses. */
	fake_region(image, JE_BASE, 0x4000);
	fake_region(image, JE_LEAF + 0x17f000, 0x2000);
	fake_region(image, JE_SLAB, 0x40000);
	fake_region(image, JE_TLS - 0x10000, 0x11000);
	fake_region(image, JE_BSS + 0x100000, 0x1000);
	fake_word(image, JE_ROOT + 8 * (JE_SLAB >> 30), JE_LEAF);
	fake_word(image, JE_BASE, 0x600000);
	fake_word(image, JE_BASE + 24, JE_BASE + 0x500000); /* what is left of it */
	fake_word(image, JE_BASE + 32, 0x100000);
	jemalloc_edata_at = jemalloc_old ? JE_EDATAS + 64 : JE_EDATAS;
	/* Regions 0, 1 and 3 of 256 are allocated: tracked, from before, in the cache. */
	p->slab = jemalloc_extent(image, JE_SLAB, 0x3000, 0, 3, 1, 253);
	fake_word(image, p->slab + 64, ~0xbull);
	for (uint64_t i = 1; i < 4; i++)
		fake_word(image, p->slab + 64 + 8 * i, ~0ull);
	fake_word(image, p->slab + 96, 0x4141414141414141ull); /* not of its bitmap */
	fake_block(image, JE_SLAB, 40);
	p->large = jemalloc_extent(image, JE_LARGE + 0x240, 0x5000, 0, JE_LARGE_CLASS, 0, 0);
	p->dirty = jemalloc_extent(image, JE_DIRTY, 0x4000, 1, JE_FREE_CLASS, 0, 0);
	jemalloc_extent(image, JE_CACHE, 0x8000, 0, 39, 0, 0);
	/* Describes nothing any more. */
	p->old = jemalloc_edata_at + 128;
	fake_word(image, p->old + 8, JE_LARGE + 0x240);
	fake_word(image, p->old + 16, 0x1000);
	fake_word(image, JE_HINTS, JE_SLAB);
	fake_word(image, JE_HOOKS, JE_SLAB + 48);
	if (jemalloc_old)
		jemalloc_old_cache(image);
	else
		jemalloc_cache(image);
	fake_thread(image, 0x7ffffffff000, JE_TLS, 0);
	return image;
}

#endif
