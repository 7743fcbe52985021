/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Millions of blocks of which no more is known than where they are and how large: 4.5 bytes for each of
 * those that allocators make many of, up to 20.5 for any other.
 */
#ifndef MEMLEAKBPF_HEAP_BLOCK_LIST_H
#define MEMLEAKBPF_HEAP_BLOCK_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct block_place {
	uint64_t address, size;
};

/* So many that follow each other are kept together. */
#define BLOCK_CHUNK 16

/*
 * Mostly these lie near each other, at multiples of 8, and are small. Of a chunk with one that does not, or
 * is not, the list has the places in full.
 */
struct block_chunk {
	uint64_t
		base; /* a multiple of 8; or an index into the list's `wide`, times 8, and BLOCK_WIDE */
	uint16_t at[BLOCK_CHUNK];   /* from the base on, by 8 bytes */
	uint16_t size[BLOCK_CHUNK]; /* bytes */
};

#define BLOCK_WIDE 1ull

struct block_wide {
	struct block_place places[BLOCK_CHUNK];
};

/* All of it zero: an empty one. */
struct block_list {
	struct block_chunk *chunks;
	size_t count, chunk_room;
	struct block_wide *wide;
	size_t wide_count, wide_room;
	struct block_place last;
	bool unordered; /* one was added that comes before the last one */
};

void block_list_free(struct block_list *list);

/* By address; of one address the smaller first. */
int block_place_order(const struct block_place *a, const struct block_place *b);

/* Adds one at the end. 0 or -ENOMEM. */
int block_list_add(struct block_list *list, uint64_t address, uint64_t size);

/* Puts them in order, which takes little time where they mostly are. 0 or -ENOMEM. */
int block_list_sort(struct block_list *list);

static inline uint64_t block_list_address(const struct block_list *list, size_t i)
{
	const struct block_chunk *chunk = &list->chunks[i / BLOCK_CHUNK];

	if (chunk->base & BLOCK_WIDE)
		return list->wide[chunk->base / 8].places[i % BLOCK_CHUNK].address;
	return chunk->base + 8ull * chunk->at[i % BLOCK_CHUNK];
}

static inline struct block_place block_list_at(const struct block_list *list, size_t i)
{
	const struct block_chunk *chunk = &list->chunks[i / BLOCK_CHUNK];

	if (chunk->base & BLOCK_WIDE)
		return list->wide[chunk->base / 8].places[i % BLOCK_CHUNK];
	return (struct block_place){chunk->base + 8ull * chunk->at[i % BLOCK_CHUNK],
				    chunk->size[i % BLOCK_CHUNK]};
}

#endif
