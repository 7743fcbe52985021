// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A library that tells its allocations itself. It samples every byte, so that what is told of a
 * block is its size, and what is told of all is the truth.
 */
#include <stdlib.h>

#include "otel_memory.h"

void *usdt_leak(size_t size);
void late_release(void *block);

__attribute__((noinline)) void *usdt_leak(size_t size)
{
	void *block = malloc(size);

	if (block && OTEL_WANTED(alloc))
		OTEL_ALLOC(block, size, size);
	return block;
}

void late_release(void *block)
{
	if (OTEL_WANTED(free))
		OTEL_FREE(block);
	free(block);
}
