/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * FNV-1a, 64 bits: Glenn Fowler, Landon Curt Noll, Phong Vo, "The FNV Non-Cryptographic Hash
 * Algorithm". Who chooses the bytes can make two hashes equal.
 */
#ifndef MEMLEAKBPF_BASE_FNV_H
#define MEMLEAKBPF_BASE_FNV_H

#include <stddef.h>
#include <stdint.h>

#define FNV1A_BASIS 0xcbf29ce484222325ULL

/* Adds bytes to a hash: FNV1A_BASIS, or the result for the bytes before these. */
static inline uint64_t fnv1a(uint64_t hash, const void *data, size_t len)
{
	const uint8_t *bytes = data;

	while (len--)
		hash = (hash ^ *bytes++) * 0x100000001b3ULL;
	return hash;
}

#endif
