// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* An allocator to be preloaded that never takes a block back, and so survives every free. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static _Alignas(64) char area[16 << 20];
static size_t used;

static void *take(size_t align, size_t size)
{
	size_t at = (used + 16 + align - 1) & ~(align - 1);

	if (size > sizeof(area) || at > sizeof(area) - size) {
		errno = ENOMEM;
		return NULL;
	}
	*(size_t *)(area + at - 8) = size;
	used = at + size;
	return area + at;
}

void *malloc(size_t size)
{
	return take(16, size);
}

void free(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}

void *calloc(size_t count, size_t size)
{
	return take(16, count * size); /* never used before: zero */
}

void *realloc(void *block, size_t size)
{
	void *moved = take(16, size);

	if (block && moved) {
		size_t old = ((size_t *)block)[-1];

		memcpy(moved, block, old < size ? old : size);
	}
	return moved;
}

int posix_memalign(void **out, size_t align, size_t size)
{
	*out = take(align, size);
	return *out ? 0 : ENOMEM;
}

void *aligned_alloc(size_t align, size_t size)
{
	return take(align, size);
}
