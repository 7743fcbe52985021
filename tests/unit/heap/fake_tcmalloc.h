/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A heap of gperftools' tcmalloc made by hand: spans, lists and caches. */
#ifndef MEMLEAKBPF_TESTS_FAKE_TCMALLOC_H
#define MEMLEAKBPF_TESTS_FAKE_TCMALLOC_H

#include "tests/unit/heap/fake_image.h"

#define TC_BSS	   0x7ffff7a01000ull
#define TC_ROOT	   (TC_BSS + 0x4440)
#define TC_CENTRAL (TC_BSS + 0x2000) /* of the class of 32 bytes: its lock */
#define TC_LEAF	   0x7fffe0000000ull
#define TC_SPANS   0x7fffe0300000ull
#define TC_CACHE   0x7fffe0310000ull
#define TC_TLS	   0x7ffff7000000ull

#define TC_SMALL 0x555555600000ull /* of 32 bytes */
#define TC_LARGE 0x555555602000ull
#define TC_FREE	 0x555555606000ull
#define TC_OTHER 0x55555560a000ull /* the program's, in the same mapping */
#define TC_KEPT	 0x555555610000ull /* of one page */

#define TC_CLASS 2

static const char tcmalloc_maps[] =
	"555555600000-555555620000 rw-p 00000000 00:00 0 [heap]\n"
	"7fffe0000000-7fffe0320000 rw-p 00000000 00:00 0 \n"
	"7ffff6ff0000-7ffff7001000 rw-p 00000000 00:00 0 \n"
	"7ffff7a00000-7ffff7a01000 rw-p 000cc000 08:01 9 /lib/libtcmalloc.so.4\n"
	"7ffff7a01000-7ffff7c20000 rw-p 00000000 00:00 0 \n";

static inline void tcmalloc_entry(struct heap_image *image, uint64_t address, uint64_t span)
{
	fake_word(image, TC_LEAF + 8 * ((address >> 13) % (1 << 18)), span);
}

static inline uint64_t tcmalloc_span(struct heap_image *image, uint64_t at, uint64_t address,
				     uint64_t pages, uint64_t bits)
{
	fake_word(image, at, address >> 13);
	fake_word(image, at + 8, pages);
	fake_word(image, at + 40, bits);
	tcmalloc_entry(image, address, at);
	tcmalloc_entry(image, address + (pages - 1) * 8192, at);
	return at;
}

static inline uint64_t tcmalloc_object(unsigned index)
{
	return TC_SMALL + 32ull * index;
}

/*
 * Lists of 40 classes: 8, 32, 64 … and at last 256 KiB. Of the second one the thread has two
 * objects.
 */
static inline void tcmalloc_cache(struct heap_image *image)
{
	for (uint64_t i = 1; i < 40; i++)
		fake_word(image, TC_CACHE + 32 * i + 24,
			  i == 1    ? 8
			  : i == 39 ? 256 << 10
				    : 32 * (i - 1));
	fake_word(image, TC_CACHE + 32 * TC_CLASS, tcmalloc_object(4));
	fake_word(image, tcmalloc_object(4), tcmalloc_object(9));
	fake_word(image, TC_CACHE + 32 * TC_CLASS + 8, 2);
	fake_word(image, TC_TLS - 0x40, TC_CACHE);
}

/*
 * Of the objects 0 is tracked, 1 from before, 2 on the way between threads with 3; 4 and 9 are in a
 * thread's cache, all others on the span's list.
 */
static inline struct heap_image *fake_tcmalloc(void)
{
	struct heap_image *image = fake_image(tcmalloc_maps);
	uint64_t small, last = 0;

	fake_region(image, TC_SMALL, 0x20000);
	/* Of its own memory only what is used. */
	fake_region(image, TC_LEAF + 0x155000, 0x1000);
	fake_region(image, TC_SPANS, 0x1000);
	fake_region(image, TC_CACHE, 0x2000);
	fake_region(image, TC_TLS - 0x10000, 0x11000);
	fake_region(image, TC_BSS + 0x2000, 0x1000);
	fake_region(image, TC_BSS + 0x59000, 0x1000);
	fake_word(image, TC_ROOT + 8 * (TC_SMALL >> 31), TC_LEAF);
	small = tcmalloc_span(image, TC_SPANS, TC_SMALL, 1, 6 | TC_CLASS << 16);
	tcmalloc_span(image, TC_SPANS + 48, TC_LARGE, 2, 0);
	tcmalloc_span(image, TC_SPANS + 96, TC_FREE, 2, 1 << 24);
	tcmalloc_span(image, TC_SPANS + 144, TC_KEPT, 1, 0);
	for (unsigned i = 5; i < 256; i++) {
		if (i == 9)
			continue;
		fake_word(image, tcmalloc_object(i), last);
		last = tcmalloc_object(i);
	}
	fake_word(image, small + 32, last);
	/* The ring of its class's spans. */
	fake_word(image, small + 16, TC_CENTRAL + 64);
	fake_word(image, TC_CENTRAL + 8, TC_CLASS);
	fake_word(image, TC_CENTRAL + 64 + 16, small);
	fake_word(image, TC_CENTRAL + 128, tcmalloc_object(2));
	fake_word(image, tcmalloc_object(2), tcmalloc_object(3));
	fake_word(image, TC_CENTRAL + 144, tcmalloc_object(0)); /* a slot that is not used now */
	fake_word(image, TC_CENTRAL + 1152, 1);
	tcmalloc_cache(image);
	fake_block(image, tcmalloc_object(0), 20);
	fake_block(image, TC_LARGE, 9000);
	fake_thread(image, 0x7ffffffff000, TC_TLS, 0);
	return image;
}

#endif
