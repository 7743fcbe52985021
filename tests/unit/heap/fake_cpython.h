/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The books of CPython's allocator of small objects, made by hand. Include after cmocka.h. */
#ifndef MEMLEAKBPF_TESTS_FAKE_CPYTHON_H
#define MEMLEAKBPF_TESTS_FAKE_CPYTHON_H

#include "tests/unit/heap/fake_image.h"

#define DATA   0x7ffff7ffb000ull
#define VECTOR 0x555555603010ull
#define ARENA  0x7ffff0001000ull /* no multiple of a pool of 16 KiB */
#define INDEX  2		 /* its place in the vector */

static const char maps[] =
	"555555600000-555555680000 rw-p 00000000 00:00 0 [heap]\n"
	"7ffff0000000-7ffff0200000 rw-p 00000000 00:00 0 \n"
	"7ffff7ffb000-7ffff7ffc000 rw-p 000a0000 08:01 9 /usr/lib/libpython3.8.so.1.0\n";

struct layout {
	uint64_t arena, pool;
};

static const struct layout layouts[] = {
	{256 << 10, 4 << 10},
	{1 << 20, 16 << 10},
	{1 << 20, 4 << 10},
};

static inline uint64_t pool_at(const struct layout *l, uint64_t index)
{
	return ((ARENA + l->pool - 1) & ~(l->pool - 1)) + index * l->pool;
}

/* `list`: its first free block. */
static inline void pool(struct heap_image *image, const struct layout *l, uint64_t index,
			uint64_t used, uint64_t class, uint64_t blocks, uint64_t list)
{
	uint64_t at = pool_at(l, index), bytes = 16 * (class + 1);

	fake_word(image, at, used);
	fake_word(image, at + 8, list);
	fake_word(image, at + 32, INDEX | class << 32);
	fake_word(image, at + 40, (48 + blocks * bytes) | (l->pool - bytes) << 32);
}

/*
 * An arena whose first pool has one block of 512 bytes, the second seven of 64, three others are on
 * its list, and the third is free. The second begins at SECOND.
 */
#define SECOND(l) (pool_at(l, 1) + 48)

static inline struct heap_image *heap(const struct layout *l)
{
	struct heap_image *image = fake_image(maps);
	uint64_t entry = VECTOR + 48 * INDEX, pools = (ARENA + l->arena - pool_at(l, 0)) / l->pool;

	fake_region(image, 0x555555603000, 0x2000);
	fake_region(image, ARENA, l->arena);
	fake_region(image, DATA, 0x1000);
	fake_word(image, DATA + 0x40, VECTOR);
	for (uint64_t i = 3; i < 15; i++)
		fake_word(image, VECTOR + 48 * i + 32, VECTOR + 48 * (i + 1));
	fake_word(image, entry, ARENA);
	fake_word(image, entry + 8, pool_at(l, 3));
	fake_word(image, entry + 16, (pools - 2) | pools << 32);
	pool(image, l, 0, 1, 31, 1, 0);
	pool(image, l, 1, 7, 3, 10, SECOND(l) + 9 * 64);
	fake_word(image, SECOND(l) + 9 * 64, SECOND(l));
	fake_word(image, SECOND(l), SECOND(l) + 4 * 64);
	pool(image, l, 2, 0, 3, 1, pool_at(l, 2) + 48);
	return image;
}

#endif
