/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Arrays of numbers that take as many bits each as the largest of them needs. */
#ifndef MEMLEAKBPF_BASE_PACKED_H
#define MEMLEAKBPF_BASE_PACKED_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct packed {
	unsigned char *bytes;
	unsigned width; /* bits of each, at most 57: with up to 7 before it, it lies in 8 bytes */
};

/* Returns how many bytes an array of `count` takes; the last number is written as 8 bytes. */
static inline size_t packed_bytes(size_t count, unsigned width)
{
	return (size_t)(((unsigned __int128)count * width + 7) / 8) + 8;
}

/* Returns the width for numbers up to `largest`, which is below 2^57. */
static inline unsigned packed_width(uint64_t largest)
{
	return largest ? 64 - (unsigned)__builtin_clzll(largest) : 1;
}

static inline uint64_t packed_get(const struct packed *array, size_t i)
{
	const uint64_t bit = (uint64_t)i * array->width;
	uint64_t word;

	memcpy(&word, array->bytes + bit / 8, sizeof(word));
	return word >> bit % 8 & ((1ull << array->width) - 1);
}

/* Keeps the lowest bits of a value that takes more: the others are its neighbour's. */
static inline void packed_set(struct packed *array, size_t i, uint64_t value)
{
	const uint64_t bit = (uint64_t)i * array->width;
	const uint64_t mask = (1ull << array->width) - 1;
	uint64_t word;

	memcpy(&word, array->bytes + bit / 8, sizeof(word));
	word = (word & ~(mask << bit % 8)) | (value & mask) << bit % 8;
	memcpy(array->bytes + bit / 8, &word, sizeof(word));
}

#endif
