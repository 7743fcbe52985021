/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The books of mimalloc, made by hand. Include after cmocka.h. */
#ifndef MEMLEAKBPF_TESTS_FAKE_MIMALLOC_H
#define MEMLEAKBPF_TESTS_FAKE_MIMALLOC_H

#include "tests/unit/heap/fake_image.h"

#define SEGMENT 0x20002000000ull
#define SECOND	0x20004000000ull /* without a block that we know */
#define KEY	0x1234567890abcdefull
#define SLICE	0x10000ull

#define PAGE  (SEGMENT + SLICE) /* of 64 bytes */
#define FIRST (PAGE + 384)
#define FREE  (SEGMENT + 2 * SLICE)
#define LARGE (SEGMENT + 4 * SLICE) /* of 2 KiB, some of them aligned */

#define DATA 0x7ffff7ffb000ull

static const char maps[] =
	"20002000000-20002060000 rw-p 00000000 00:00 0 \n"
	"20004000000-20004060000 rw-p 00000000 00:00 0 \n"
	"7ffff7ffb000-7ffff7ffc000 rw-p 000a0000 08:01 9 /lib/libmimalloc.so.2\n";

static inline void slice(struct heap_image *image, uint64_t segment, uint64_t index, uint64_t count,
			 uint64_t bytes)
{
	fake_word(image, segment + 264 + 80 * index, count);
	fake_word(image, segment + 264 + 80 * index + 24, bytes << 32);
}

/* Its slices: what describes it, a page, two free ones, and another page of two. */
static inline void segment(struct heap_image *image, uint64_t at)
{
	fake_region(image, at, 6 * SLICE);
	fake_word(image, at + 208, 2);
	fake_word(image, at + 216, at ^ KEY);
	fake_word(image, at + 224, 6);
	fake_word(image, at + 232, 1);
	fake_word(image, at + 248, 6);
	slice(image, at, 0, 1, SLICE);
	slice(image, at, 1, 1, 64);
	slice(image, at, 2, 2, 0);
	slice(image, at, 4, 2, 2048);
	fake_word(image, at + 264 + 80 + 8, 1ull << 16 | 1000ull << 32);
	fake_word(image, at + 264 + 80 + 24, 1 | 64ull << 32);
}

static inline void page(struct heap_image *image, uint64_t word, uint64_t value)
{
	fake_word(image, SEGMENT + 264 + 80 + 8 * word, value);
}

/*
 * Of the page's blocks 0 is tracked, 1 from before, 2 and 3 free, 4 freed by the thread, 5 by
 * another, and there have never been more.
 */
static inline struct heap_image *heap(void)
{
	struct heap_image *image = fake_image(maps);
	uint64_t large = SEGMENT + 264 + 80 * 4ull;

	segment(image, SEGMENT);
	segment(image, SECOND);
	fake_region(image, DATA, 0x1000);
	fake_word(image, DATA + 0x128, KEY);
	page(image, 1, 6ull << 16 | 1000ull << 32);
	page(image, 2, FIRST + 3 * 64);
	page(image, 3, 3 | 64ull << 32);
	page(image, 4, FIRST + 4 * 64);
	page(image, 5, (FIRST + 5 * 64) | 2);
	fake_word(image, FIRST + 3 * 64, FIRST + 2 * 64);
	fake_block(image, FIRST, 40);
	fake_word(image, large + 8, 2ull << 16 | 64ull << 32 | 2ull << 48);
	fake_word(image, large + 24, 2 | 2048ull << 32);
	fake_block(image, LARGE + 256, 256);
	return image;
}

#endif
