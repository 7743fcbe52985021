/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What stubs tell, in the process that has them: they call the hooks where a target has a nop for a
 * probe. Also for a program of another C library.
 */
#ifndef MEMLEAKBPF_TESTS_UNIT_GATE_BOOKS_H
#define MEMLEAKBPF_TESTS_UNIT_GATE_BOOKS_H

#include <stdint.h>

#include "tests/unit/gate/hook.h"
#include "user/gate/stub_layout.h"

#define ENTRIES (1u << 20)

static struct {
	int lock;
	uint64_t blocks[ENTRIES], sizes[ENTRIES]; /* 0: free; 1: was used */
	uint64_t allocated, freed, kept, live, unknown, twice;
	uint64_t last_block, last_size, last_level; /* of a level only samples say the truth */
} books;

static BOOKED uint64_t *booked(uint64_t block)
{
	uint64_t i = block * GATE_GOLDEN >> 44, *first = NULL;

	for (;; i = (i + 1) % ENTRIES) {
		if (books.blocks[i] == block)
			return &books.blocks[i];
		if (books.blocks[i] <= 1 && !first)
			first = &books.blocks[i];
		if (!books.blocks[i])
			return first;
	}
}

static BOOKED void books_lock(void)
{
	while (__atomic_exchange_n(&books.lock, 1, __ATOMIC_ACQUIRE))
		;
}

static BOOKED void books_unlock(void)
{
	__atomic_store_n(&books.lock, 0, __ATOMIC_RELEASE);
}

static BOOKED void book_allocated(uint64_t block, uint64_t size, uint64_t third, uint64_t fourth,
				  uint64_t level)
{
	uint64_t *entry;

	(void)third, (void)fourth;
	books_lock();
	entry = booked(block);
	books.twice += *entry == block;
	books.live += *entry != block;
	*entry = block;
	books.allocated++;
	books.last_block = block;
	books.last_size = size;
	books.last_level = level;
	books_unlock();
}

static BOOKED void book_freed(uint64_t block)
{
	uint64_t *entry;

	books_lock();
	entry = booked(block);
	if (*entry == block) {
		*entry = 1;
		books.live--;
	} else {
		books.unknown++;
	}
	books.freed++;
	books_unlock();
}

static BOOKED void book_kept(uint64_t block)
{
	book_allocated(block, 0, 0, 0, 0);
	__atomic_fetch_add(&books.kept, 1, __ATOMIC_RELAXED);
}

HOOK(hook_allocated, book_allocated);
HOOK(hook_freed, book_freed);
HOOK(hook_kept, book_kept);

#endif
