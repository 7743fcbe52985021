/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The books of musl's allocator, made by hand. Include after cmocka.h. */
#ifndef MEMLEAKBPF_TESTS_FAKE_MUSL_H
#define MEMLEAKBPF_TESTS_FAKE_MUSL_H

#include "tests/unit/heap/fake_image.h"

#define DATA   0x7ffff7ffb000ull
#define CTX    (DATA + 0x980)
#define AREA   0x555555603000ull
#define SECRET 0x1122334455667788ull

#define GROUP  0x7ffff7e00000ull /* 5 slots of 48 bytes; the fourth is a group of its own */
#define META   (AREA + 24)
#define SINGLE 0x7ffff7e01000ull /* one block in a mapping of its own */
#define OTHER  0x7ffff7e10000ull /* the program's, in the same mapping */

static const char maps[] =
	"555555603000-555555605000 rw-p 00000000 00:00 0 [heap]\n"
	"7ffff7e00000-7ffff7e20000 rw-p 00000000 00:00 0 \n"
	"7ffff7ffb000-7ffff7ffc000 rw-p 000a0000 08:01 9 /lib/ld-musl-x86_64.so.1\n";

static inline uint64_t slot(uint64_t index)
{
	return GROUP + 16 + 48 * index;
}

static inline void add_bits(struct heap_image *image, uint64_t address, uint64_t bits)
{
	uint64_t word;

	assert_true(memory_image_word(image->memory, address, &word));
	fake_word(image, address, word | bits);
}

/* A block of `size` bytes that begins `units` into its slot, and what stands around it. */
static inline uint64_t block(struct heap_image *image, uint64_t group, uint64_t start,
			     uint64_t stride, uint64_t units, uint64_t size)
{
	uint64_t address = start + 16 * units, offset = (address - group) / 16 - 1;
	uint64_t index = (start - group - 16) / stride, rest = stride - 4 - 16 * units - size;

	if (units)
		add_bits(image, start - 8, (units & 0xffff) << 48 | 0xe0ull << 40);
	if (offset <= 0xffff)
		add_bits(image, address - 8, offset << 48);
	else
		add_bits(image, address - 8, 1ull << 32 | offset);
	add_bits(image, address - 8, index << 40 | (rest < 5 ? rest : 5) << 45);
	if (rest >= 5)
		add_bits(image, start + stride - 8, rest);
	return address;
}

static inline void meta(struct heap_image *image, uint64_t at, uint64_t group, uint64_t masks,
			uint64_t bits)
{
	fake_word(image, at + 16, group);
	fake_word(image, at + 24, masks);
	fake_word(image, at + 32, bits);
	fake_word(image, group, at);
}

struct parts {
	uint64_t known, single;
};

/*
 * Of the group's slots the first is tracked, the second free, the third from before, the fourth has a
 * group of one slot, the fifth is not used yet.
 */
static inline struct heap_image *heap(struct parts *p)
{
	struct heap_image *image = fake_image(maps);

	fake_region(image, AREA, 0x2000);
	fake_region(image, GROUP, 0x20000);
	fake_region(image, DATA, 0x1000);
	memory_image_finish(image->memory);
	for (uint64_t i = 0; i < 2; i++) {
		fake_word(image, AREA + 0x1000 * i, SECRET);
		fake_word(image, AREA + 0x1000 * i + 16, 101);
	}
	fake_word(image, AREA + 8, AREA + 0x1000);
	fake_word(image, CTX, SECRET);
	fake_word(image, CTX + 8, 1);
	fake_word(image, CTX + 56, AREA);
	fake_word(image, CTX + 64, AREA + 0x1000);
	meta(image, META, GROUP, 0x1000000002ull, 4 | 1 << 5 | 2 << 6 | 1 << 12);
	p->known = block(image, GROUP, slot(0), 48, 1, 8);
	fake_block(image, p->known, 8);
	block(image, GROUP, slot(2), 48, 0, 41);
	meta(image, META + 40, slot(3), 0, 0 | 1 << 5 | 0 << 6);
	add_bits(image, slot(3) - 8, 9ull << 48 | 3ull << 40 | 6ull << 45);
	fake_block(image, block(image, slot(3), slot(3) + 16, 16, 0, 8), 8);
	/* In the last area. */
	meta(image, AREA + 0x1000 + 24 + 40, SINGLE, 0, 0 | 1 << 5 | 63 << 6 | 2 << 12);
	p->single = block(image, SINGLE, SINGLE + 16, 0x1ff0, 3, 0x1800);
	fake_block(image, p->single, 0x1800);
	return image;
}

#endif
