// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An allocator that may be called in a signal handler which has interrupted itself: blocks of one
 * size, each taken by an exchange of its flag. What is larger, or aligned, is cut from one arena and
 * never used again. Loaded before all others, or as a plugin.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define BLOCK  2048
#define BLOCKS 8192
#define ROOM   (64u << 20)

static unsigned char blocks[BLOCKS][BLOCK] __attribute__((aligned(4096)));
static unsigned char taken[BLOCKS];
static unsigned char room[ROOM] __attribute__((aligned(4096)));
static size_t used;
static unsigned int next;

void *malloc(size_t size);
void free(void *block);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t size);
void *memalign(size_t alignment, size_t size);
void *aligned_alloc(size_t alignment, size_t size);
int posix_memalign(void **block, size_t alignment, size_t size);

static void *safe_cut(size_t alignment, size_t size)
{
	size_t whole = (size + 2 * alignment + sizeof(size_t) + 63) & ~(size_t)63;
	size_t at = __atomic_fetch_add(&used, whole, __ATOMIC_RELAXED);
	uintptr_t block;

	if (size > ROOM || at + whole > ROOM)
		return NULL;
	block = ((uintptr_t)room + at + sizeof(size_t) + alignment - 1) & ~(alignment - 1);
	memcpy((void *)(block - sizeof(size_t)), &size, sizeof(size));
	return (void *)block;
}

static int safe_is_block(const void *block)
{
	return (uintptr_t)block - (uintptr_t)blocks < sizeof(blocks);
}

static void *safe_take(size_t size)
{
	unsigned int at = __atomic_fetch_add(&next, 1, __ATOMIC_RELAXED);

	if (size > BLOCK)
		return safe_cut(16, size);
	for (unsigned int i = 0; i < BLOCKS; i++, at++)
		if (!__atomic_exchange_n(&taken[at % BLOCKS], 1, __ATOMIC_ACQ_REL))
			return blocks[at % BLOCKS];
	return safe_cut(16, size);
}

__attribute__((noinline)) void *malloc(size_t size)
{
	void *block = safe_take(size);

	if (!block)
		errno = ENOMEM;
	return block;
}

__attribute__((noinline)) void *calloc(size_t count, size_t size)
{
	void *block = count && size > SIZE_MAX / count ? NULL : safe_take(count * size);

	return block ? memset(block, 0, count * size) : NULL;
}

__attribute__((noinline)) void free(void *block)
{
	if (safe_is_block(block))
		__atomic_store_n(&taken[((uintptr_t)block - (uintptr_t)blocks) / BLOCK], 0,
				 __ATOMIC_RELEASE);
}

__attribute__((noinline)) void *realloc(void *block, size_t size)
{
	size_t old = BLOCK;
	void *other;

	if (block && !safe_is_block(block))
		memcpy(&old, (char *)block - sizeof(old), sizeof(old));
	if (block && size <= old)
		return block;
	other = safe_take(size);
	if (!block || !other)
		return other;
	memcpy(other, block, old < size ? old : size);
	free(block);
	return other;
}

__attribute__((noinline)) void *memalign(size_t alignment, size_t size)
{
	return alignment <= BLOCK && size <= BLOCK ? safe_take(size) : safe_cut(alignment, size);
}

__attribute__((noinline)) void *aligned_alloc(size_t alignment, size_t size)
{
	return alignment <= BLOCK && size <= BLOCK ? safe_take(size) : safe_cut(alignment, size);
}

__attribute__((noinline)) int posix_memalign(void **block, size_t alignment, size_t size)
{
	*block = alignment <= BLOCK && size <= BLOCK ? safe_take(size) : safe_cut(alignment, size);
	return *block ? 0 : ENOMEM;
}
