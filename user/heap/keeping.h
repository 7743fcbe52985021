/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where free memory lies between blocks in use. An allocator gives back whole units: pages, slabs, spans, arenas. The
 * walkers say which of its memory is a unit (walker_unit()); all else goes back by pages. Noted are units that have free
 * memory, and only these: 24 bytes each. Internal to user/heap, but for who charges them to blocks.
 */
#ifndef MEMLEAKBPF_HEAP_KEEPING_H
#define MEMLEAKBPF_HEAP_KEEPING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keeping_unit {
	uint64_t start;
	uint32_t bytes;	   /* from there on */
	uint32_t free;	   /* bytes of it that are free, and in memory */
	uint8_t allocator; /* index into the inventory's */
	bool reached;	   /* a block in use begins before it and ends in it */
	bool unknown;	   /* some of it is not told from blocks in use */
	bool cached;	   /* some of it is kept at hand by a cache */
};

/* All of it zero: nothing has been noted. */
struct keeping {
	struct keeping_unit *units; /* by address, once keeping_finish() has been called */
	size_t count, room;
	uint64_t open_start, open_end; /* the unit that the walker is in */
	uint64_t reached; /* the last page that a block in use ends in and does not begin in */
};

/* A piece of that allocator's. */
struct keeping_piece {
	uint64_t start, end;
	uint8_t allocator;
	bool in_use, unknown, cached; /* none: it is free */
	uint64_t page;		      /* bytes of one */
};

/* How much of [start, end) is in memory. */
typedef uint64_t (*keeping_look)(void *ctx, uint64_t start, uint64_t end);

/* What the walker comes by until the end of it belongs to this unit. */
void keeping_open(struct keeping *keeping, uint64_t start, uint64_t end);

/* Notes a piece, best in the order of addresses. 0 or -ENOMEM. */
int keeping_note(struct keeping *keeping, const struct keeping_piece *piece, keeping_look look,
		 void *ctx);

/* Sorts the units by address, and makes one of those that were noted twice. */
void keeping_finish(struct keeping *keeping);
void keeping_release(struct keeping *keeping);

#endif
