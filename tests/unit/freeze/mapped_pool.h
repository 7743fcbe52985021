/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A pool as guard sampling has it in a process, and what a copy of that has of it. Include after cmocka.h. */
#ifndef MEMLEAKBPF_TESTS_UNIT_FREEZE_MAPPED_POOL_H
#define MEMLEAKBPF_TESTS_UNIT_FREEZE_MAPPED_POOL_H

#include <sys/mman.h>
#include <unistd.h>

#include "user/process/guard_memory.h"
#include "user/process/memory_image.h"

/* Two pages each, the second is touched. */
struct mapped_pool {
	uint64_t *pool, *saved;
};

#define POOL_PAGE 4096

static inline void map_pool(struct mapped_pool *p)
{
	int file = memfd_create(GUARD_POOL_NAME, MFD_CLOEXEC);

	if (file < 0 || ftruncate(file, 2 * POOL_PAGE))
		_exit(1);
	p->pool = mmap(NULL, 2 * POOL_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	p->saved = mmap(NULL, 2 * POOL_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (p->pool == MAP_FAILED || p->saved == MAP_FAILED)
		_exit(1);
	p->saved[POOL_PAGE / 8] = 1;
	p->pool[POOL_PAGE / 8] = 2;
}

/* A guard that nobody has touched is not there, nor is what freed blocks have been. */
static inline void expect_pool(const struct memory_image *image, const struct mapped_pool *p)
{
	uint64_t word;

	assert_null(memory_image_words(image, (uintptr_t)p->pool, 1));
	assert_null(memory_image_words(image, (uintptr_t)p->saved + POOL_PAGE, 1));
	assert_true(memory_image_word(image, (uintptr_t)p->pool + POOL_PAGE, &word));
	assert_int_equal(word, 2);
}

#endif
