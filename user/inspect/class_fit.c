// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * glibc: malloc/malloc.c, request2size() and sysmalloc_mmap(). jemalloc: include/jemalloc/internal/sc.h. mimalloc:
 * src/segment.c and src/page-queue.c, mi_bin(). gperftools: src/common.cc, SizeMap::Init(); a class that it merged with
 * another counts as narrower than it is, so that less is known and nothing is wrong. CPython:
 * Objects/obmalloc.c, ALIGNMENT.
 */
#include "user/inspect/class_fit.h"

#include <string.h>

#include "user/base/util.h"

#define GLIBC_LEAST 24 /* of which there are no smaller ones */
#define GLIBC_PAGE  4096

/* Below, sizes are multiples of 16 in all of them; a class of 8 counts as the half of one. */
#define CLASSES_FROM 128

#define TCMALLOC_LARGE (256u << 10)
#define TCMALLOC_PAGE  8192

static uint64_t fit_back(uint64_t size, uint64_t step)
{
	return size > step ? size - step + 1 : 1;
}

static uint64_t fit_glibc(uint64_t size)
{
	if (size <= GLIBC_LEAST)
		return 1;
	if (size % 16 == 8)
		return fit_back(size, 16);
	/* It has a mapping of its own, with 16 bytes in front. */
	return (size + 16) % GLIBC_PAGE ? size : fit_back(size, GLIBC_PAGE);
}

/* Classes at equal distances, so many between a power of two and the next. */
static uint64_t fit_classes(uint64_t size, uint64_t between)
{
	uint64_t power = 1;

	if (size <= CLASSES_FROM)
		return fit_back(size, 16);
	while (power < size - power)
		power *= 2;
	return fit_back(size, power / between > 16 ? power / between : 16);
}

static uint64_t fit_four(uint64_t size)
{
	return fit_classes(size, 4);
}

static uint64_t fit_tcmalloc(uint64_t size)
{
	return size > TCMALLOC_LARGE ? fit_back(size, TCMALLOC_PAGE) : fit_classes(size, 8);
}

static const struct fit_allocator {
	const char *name; /* in the inventory */
	uint64_t (*least)(uint64_t size);
} fit_allocators[] = {
	{"glibc", fit_glibc},
	{"jemalloc", fit_four},
	{"mimalloc", fit_four},
	{"tcmalloc (gperftools)", fit_tcmalloc},
};

uint64_t class_fit_least(const struct heap_image *image, size_t block)
{
	const struct heap_block b = heap_block_at(image, block);
	const struct inventory *inventory = image->inventory;
	uint64_t least = 0;

	/* Who saw it being allocated knows what was asked for. */
	if (b.stack != HEAP_OLD)
		return b.size;
	if (heap_image_is_claimed(image, b.address))
		return fit_back(b.size, 16);
	/* Where there are several, that which leaves the least to be believed. */
	for (size_t i = 0; inventory && i < inventory->count; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(fit_allocators); k++) {
			uint64_t here;

			if (strcmp(inventory->allocators[i].shown.name, fit_allocators[k].name) !=
			    0)
				continue;
			here = fit_allocators[k].least(b.size);
			least = here > least ? here : least;
		}
	}
	return least ?: b.size;
}
