/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Blocks that carry their own book: size, seed, and in all the rest a pattern of these. Whoever has
 * one can tell whether anybody else has written to it, and the program ends when somebody has.
 * Nothing here allocates but what the functions that are given do.
 */
#ifndef MEMLEAKBPF_TESTS_LEDGER_H
#define MEMLEAKBPF_TESTS_LEDGER_H

#include <malloc.h>
#include <stdbool.h>

#include "truth.h"

#define LEDGER_SLOTS 64

struct ledger_head {
	uint32_t size, seed;
	uint64_t sum;
};

#define LEDGER_MIN sizeof(struct ledger_head)

/* What allocates: the C library, or a plugin that may lack some. */
struct ledger_functions {
	void *(*malloc)(size_t size);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *block, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	int (*posix_memalign)(void **block, size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	void (*free)(void *block);
};

struct ledger {
	const struct ledger_functions *functions;
	uint64_t random;
	uint64_t steps;
	uint32_t largest; /* block; some of 1 in 4096 are larger, 0: all small */
	void *slots[LEDGER_SLOTS];
};

static const struct ledger_functions ledger_libc = {
	.malloc = malloc,
	.calloc = calloc,
	.realloc = realloc,
	.memalign = memalign,
	.posix_memalign = posix_memalign,
	.aligned_alloc = aligned_alloc,
	.free = free,
};

static inline uint64_t ledger_sum(uint32_t size, uint32_t seed)
{
	return ((uint64_t)size << 32 | seed) * 0x9e3779b97f4a7c15u;
}

static inline unsigned char ledger_byte(uint32_t seed, size_t i)
{
	return (unsigned char)(seed + i * 29 + (i >> 8));
}

static inline void *ledger_fill(void *block, size_t size, uint32_t seed)
{
	const struct ledger_head head = {(uint32_t)size, seed, ledger_sum((uint32_t)size, seed)};
	unsigned char *bytes = block;

	if (!block)
		truth_die("ledger: an allocation failed");
	memcpy(bytes, &head, sizeof(head));
	for (size_t i = sizeof(head); i < size; i++)
		bytes[i] = ledger_byte(seed, i);
	return block;
}

/* The size of the block, of which so many bytes must be as they were written; at least the head. */
static inline size_t ledger_check_some(const void *block, size_t most)
{
	const unsigned char *bytes = block;
	struct ledger_head head;
	size_t size;

	memcpy(&head, block, sizeof(head));
	if (head.sum != ledger_sum(head.size, head.seed))
		truth_die("ledger: a block's head has changed");
	size = head.size < most ? head.size : most;
	for (size_t i = sizeof(head); i < size; i++)
		if (bytes[i] != ledger_byte(head.seed, i))
			truth_die("ledger: a block's contents have changed");
	return head.size;
}

static inline size_t ledger_check(const void *block)
{
	return ledger_check_some(block, SIZE_MAX);
}

static inline uint32_t ledger_random(struct ledger *l)
{
	l->random ^= l->random << 13;
	l->random ^= l->random >> 7;
	l->random ^= l->random << 17;
	return (uint32_t)(l->random >> 16);
}

static inline size_t ledger_size(struct ledger *l)
{
	uint32_t r = ledger_random(l);
	size_t size = LEDGER_MIN + (r >> 12) % (r & 7 ? 200 : 1000);

	return r % 4096 == 1 && l->largest ? size + (r >> 12) % l->largest : size;
}

static inline void *ledger_aligned(void *block, size_t alignment)
{
	if ((uintptr_t)block % alignment)
		truth_die("ledger: a block is not aligned");
	return block;
}

/* By one of the functions. Every call is a site's own, so that its stack can be told. */
SITE static void *ledger_take(const struct ledger_functions *f, uint32_t how, size_t size)
{
	unsigned char *zero;
	void *block = NULL;

	switch (how % 16) {
	case 0 ... 2:
		block = f->calloc ? f->calloc(1, size) : NULL;
		zero = block;
		for (size_t i = 0; zero && i < size; i++)
			if (zero[i])
				truth_die("ledger: calloc's block is not empty");
		break;
	case 3:
		block = f->realloc ? f->realloc(NULL, size) : NULL;
		break;
	case 4:
		block = f->memalign ? ledger_aligned(f->memalign(128, size), 128) : NULL;
		break;
	case 5:
		if (f->posix_memalign && f->posix_memalign(&block, 64, size))
			truth_die("ledger: posix_memalign failed");
		ledger_aligned(block, 64);
		break;
	case 6:
		block = f->aligned_alloc ? ledger_aligned(f->aligned_alloc(256, size), 256) : NULL;
		break;
	default:
		break;
	}
	if (!block)
		block = f->malloc(size);
	NOT_A_TAIL_CALL();
	return block;
}

SITE static void *ledger_resize(const struct ledger_functions *f, void *block, size_t size)
{
	block = f->realloc(block, size);
	NOT_A_TAIL_CALL();
	return block;
}

static inline void ledger_give(const struct ledger_functions *f, void *block)
{
	if (block)
		ledger_check(block);
	f->free(block);
}

static inline void ledger_step(struct ledger *l)
{
	uint32_t r = ledger_random(l), seed = ledger_random(l);
	void **slot = &l->slots[r % LEDGER_SLOTS];
	size_t size = ledger_size(l), old;

	if (r >> 16 & 3 || !*slot || !l->functions->realloc) {
		ledger_give(l->functions, *slot);
		*slot = ledger_fill(ledger_take(l->functions, r >> 18, size), size, seed);
	} else {
		struct ledger_head head;
		void *block;

		old = ledger_check(*slot);
		memcpy(&head, *slot, sizeof(head));
		block = ledger_resize(l->functions, *slot, size);
		if (!block || memcmp(block, &head, sizeof(head)) != 0)
			truth_die("ledger: realloc has lost the contents");
		ledger_check_some(block, old < size ? old : size);
		*slot = ledger_fill(block, size, seed);
	}
	__atomic_store_n(&l->steps, l->steps + 1, __ATOMIC_RELAXED);
}

static inline void ledger_empty(struct ledger *l)
{
	for (size_t i = 0; i < LEDGER_SLOTS; i++) {
		ledger_give(l->functions, l->slots[i]);
		l->slots[i] = NULL;
	}
}

#endif
