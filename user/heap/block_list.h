/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Millions of blocks of which no more is known than where they are and how large: half a byte for each of
 * those that lie at equal distances and are of one size, 4.5 for others that allocators make many of, 16.5 for the
 * rest.
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
#define BLOCK_CHUNK 32

/* What a chunk's places are kept as, in the lowest bits of its base. */
enum block_kept {
	BLOCKS_EVEN, /* the base on, at equal distances, all of one size */
	BLOCKS_NEAR, /* small ones, near each other, at multiples of 8 */
	BLOCKS_WIDE, /* in full */
	BLOCKS_KEPT = 7,
};

struct block_chunk {
	uint64_t base; /* a multiple of 8, and what is kept */
	union {
		struct {
			uint32_t step, size; /* bytes */
		} even;
		uint64_t index; /* into the list's near or wide ones */
	};
};

struct block_near {
	uint16_t at[BLOCK_CHUNK];   /* from the chunk's base on, by 8 bytes */
	uint16_t size[BLOCK_CHUNK]; /* bytes */
};

struct block_wide {
	struct block_place places[BLOCK_CHUNK];
};

/* All of it zero: an empty one. */
struct block_list {
	struct block_chunk *chunks;
	size_t count, chunk_room;
	struct block_near *near;
	size_t near_count, near_room;
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

static inline struct block_place block_list_at(const struct block_list *list, size_t i)
{
	const struct block_chunk *chunk = &list->chunks[i / BLOCK_CHUNK];
	const uint64_t base = chunk->base & ~(uint64_t)BLOCKS_KEPT;
	const struct block_near *near;

	i %= BLOCK_CHUNK;
	switch ((enum block_kept)(chunk->base & BLOCKS_KEPT)) {
	case BLOCKS_EVEN:
		return (struct block_place){base + i * chunk->even.step, chunk->even.size};
	case BLOCKS_NEAR:
		near = &list->near[chunk->index];
		return (struct block_place){base + 8ull * near->at[i], near->size[i]};
	default:
		return list->wide[chunk->index].places[i];
	}
}

static inline uint64_t block_list_address(const struct block_list *list, size_t i)
{
	return block_list_at(list, i).address;
}

#endif
