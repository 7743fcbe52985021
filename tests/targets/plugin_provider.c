// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A library with an allocator of its own, loaded when the tool is already attached. Nobody else's
 * malloc resolves to it.
 */
#include <stddef.h>

void *malloc(size_t size);
void free(void *block);
void *late_leak(size_t size);
void late_release(void *block);

static char arena[1 << 20] __attribute__((aligned(16)));
static size_t used;

__attribute__((noinline)) void *malloc(size_t size)
{
	void *p = arena + used;

	size = (size + 31) & ~(size_t)15;
	if (size > sizeof(arena) - used)
		return NULL;
	used += size;
	return p;
}

__attribute__((noinline)) void free(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}

void *late_leak(size_t size)
{
	void *p = malloc(size);

	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

void late_release(void *block)
{
	free(block);
	__asm__ volatile("" ::: "memory");
}
