/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A hash table from 64-bit numbers to 32-bit ones. */
#ifndef MEMLEAKBPF_MODEL_ID_MAP_H
#define MEMLEAKBPF_MODEL_ID_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct id_map_entry {
	uint64_t key;
	uint32_t value;
	bool used;
};

/* An empty map is all zero. */
struct id_map {
	struct id_map_entry *entries;
	size_t count, room; /* room: a power of two, or 0 */
};

void id_map_free(struct id_map *map); /* empty afterwards */
bool id_map_get(const struct id_map *map, uint64_t key, uint32_t *value);
/* Adds or replaces; 0 or -ENOMEM. */
int id_map_put(struct id_map *map, uint64_t key, uint32_t value);

/* Spreads a number's information over all 64 bits; for hash values of small numbers. */
static inline uint64_t id_map_mix(uint64_t x)
{
	/* The finalizer of MurmurHash3 (Austin Appleby, public domain). */
	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdULL;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ULL;
	return x ^ x >> 33;
}

#endif
