// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * To be preloaded: a malloc that puts a header before each block and calls the C library's. Two
 * allocators see every call, with different addresses; the outer one's block is the program's.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

#define HEADER 16

static void *(*libc_malloc)(size_t size);
static void (*libc_free)(void *block);

void *malloc(size_t size);
void free(void *block);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t size);

__attribute__((constructor)) static void find_libc(void)
{
	libc_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	libc_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
}

__attribute__((noinline)) void *malloc(size_t size)
{
	char *p;

	if (!libc_malloc)
		find_libc();
	if (size > (size_t)-1 - HEADER)
		return NULL;
	p = libc_malloc(size + HEADER);
	if (!p)
		return NULL;
	memcpy(p, &size, sizeof(size));
	return p + HEADER;
}

__attribute__((noinline)) void free(void *block)
{
	if (block)
		libc_free((char *)block - HEADER);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) void *calloc(size_t count, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	p = malloc(bytes);
	return p ? memset(p, 0, bytes) : NULL;
}

__attribute__((noinline)) void *realloc(void *block, size_t size)
{
	size_t old = 0;
	void *p;

	if (block)
		memcpy(&old, (char *)block - HEADER, sizeof(old));
	if (block && !size) {
		free(block);
		return NULL;
	}
	p = malloc(size);
	if (p && block) {
		memcpy(p, block, old < size ? old : size);
		free(block);
	}
	return p;
}
