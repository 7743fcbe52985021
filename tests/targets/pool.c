// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Allocators that no table knows: a pool, with arguments in places of its own, a malloc family with
 * a prefix, and a device's memory, whose functions return a status. Commands: go (the pool), jump
 * (it fails by longjmp), prefix (the family), device, device-works (no call of it fails), no-device
 * (each does).
 */
#include <setjmp.h>

#include "truth.h"

struct pool {
	char *base;
	size_t used, size;
	jmp_buf *on_failure;
};

static char arena[8 << 20] __attribute__((aligned(16)));
static struct pool pool = {arena, 0, sizeof(arena), NULL};

SITE void *my_pool_alloc(struct pool *p, size_t size)
{
	char *block;

	size = (size + 31) & ~(size_t)15;
	if (size > p->size - p->used) {
		if (p->on_failure)
			longjmp(*p->on_failure, 1);
		return NULL;
	}
	block = p->base + p->used;
	p->used += size;
	return block;
}

SITE void my_pool_free(struct pool *p, void *block)
{
	if (!block || !p)
		truth_die("my_pool_free");
	NOT_A_TAIL_CALL();
}

SITE void *my_pool_malloc(size_t size)
{
	return my_pool_alloc(&pool, size);
}

SITE void *my_pool_calloc(size_t count, size_t size)
{
	void *p = my_pool_alloc(&pool, count * size);

	return p ? memset(p, 0, count * size) : NULL;
}

SITE void *my_pool_realloc(void *old, size_t size)
{
	void *p = my_pool_alloc(&pool, size);

	return p && old ? memmove(p, old, size) : p;
}

/* As cuMemAlloc_v2() has it: the status is 0, or 2 where there is no memory. */
SITE int device_alloc(void **out, size_t size)
{
	void *block = my_pool_alloc(&pool, size);

	if (block)
		*out = block;
	return block ? 0 : 2;
}

/* As OpenSSL's functions have it: 1 is success. */
SITE int device_table(size_t rows, size_t size, void **out)
{
	void *block = my_pool_alloc(&pool, rows * size);

	if (block)
		*out = block;
	return block != NULL;
}

SITE void *device_resize(void *old, size_t size)
{
	void *block = my_pool_realloc(old, size);

	NOT_A_TAIL_CALL();
	return block;
}

SITE int device_free(void *block)
{
	return block ? 0 : 1;
}

SITE static void *site_device(size_t size)
{
	void *block = NULL;

	return device_alloc(&block, size) ? NULL : truth_keep(THIS_SITE(), block, size);
}

SITE static void *site_device_table(size_t rows, size_t size)
{
	void *block = NULL;

	return device_table(rows, size, &block) ? truth_keep(THIS_SITE(), block, rows * size)
						: NULL;
}

SITE static void *site_device_resize(void *old, size_t size)
{
	void *block = device_resize(old, size);

	truth_forget(old);
	return truth_keep(THIS_SITE(), block, size);
}

static void device(void)
{
	void *block;

	for (int i = 0; i < 100; i++) {
		site_device(1000);
		site_device_table(3, 50);
		site_device_resize(site_device(100), 200);
		block = site_device(700);
		truth_forget(block);
		device_free(block);
		if (site_device(SIZE_MAX / 4) || site_device_table(1, SIZE_MAX / 4))
			truth_die("the device has more than it can have");
	}
}

static void device_works(void)
{
	for (int i = 0; i < 200; i++) {
		site_device(1000);
		site_device_table(3, 50);
	}
}

static void no_device(void)
{
	for (int i = 0; i < 3; i++) {
		if (site_device(SIZE_MAX / 4))
			truth_die("the device has more than it can have");
	}
}

SITE static void *site_pool(size_t size)
{
	return truth_keep(THIS_SITE(), my_pool_alloc(&pool, size), size);
}

SITE static void *site_pool_deep(int depth, size_t size)
{
	volatile char room[300];
	void *p;

	room[0] = (char)depth;
	p = depth ? site_pool_deep(depth - 1, size)
		  : truth_keep(THIS_SITE(), my_pool_alloc(&pool, size), size);
	room[1] = room[0];
	return p;
}

SITE static void *site_prefix_malloc(size_t size)
{
	return truth_keep(THIS_SITE(), my_pool_malloc(size), size);
}

SITE static void *site_prefix_calloc(size_t count, size_t size)
{
	return truth_keep(THIS_SITE(), my_pool_calloc(count, size), count * size);
}

SITE static void *site_prefix_realloc(void *old, size_t size)
{
	void *p = my_pool_realloc(old, size);

	if (old)
		truth_forget(old);
	return truth_keep(THIS_SITE(), p, size);
}

/*
 * my_pool_free takes the block second; the prefix family's free is the one-argument function below.
 */
static void pool_free(void *block)
{
	truth_forget(block);
	my_pool_free(&pool, block);
}

static void jump(void)
{
	volatile size_t huge = SIZE_MAX / 4;
	jmp_buf env;

	pool.on_failure = &env;
	if (!setjmp(env)) {
		my_pool_alloc(&pool, huge);
		truth_die("my_pool_alloc did not jump");
	}
	pool.on_failure = NULL;
	site_pool_deep(10, 44);
	site_pool(45);
}

static const char *obey(const char *command)
{
	if (!strcmp(command, "go")) {
		for (int i = 0; i < 100; i++) {
			site_pool(64);
			pool_free(site_pool(32));
		}
	} else if (!strcmp(command, "jump")) {
		for (int i = 0; i < 5; i++)
			jump();
	} else if (!strcmp(command, "prefix")) {
		for (int i = 0; i < 100; i++) {
			site_prefix_malloc(500);
			site_prefix_calloc(3, 7);
			site_prefix_realloc(site_prefix_malloc(20), 40);
		}
	} else if (!strcmp(command, "device")) {
		device();
	} else if (!strcmp(command, "device-works")) {
		device_works();
	} else if (!strcmp(command, "no-device")) {
		no_device();
	} else {
		return NULL;
	}
	return "";
}

int main(void)
{
	return truth_serve(obey);
}
