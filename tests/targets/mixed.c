// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A fixed workload of small, medium and large blocks, made again and again: what sampling has to
 * estimate.
 */
#include "truth.h"

#define SMALL  20000
#define MEDIUM 2000
#define LARGE  60

static void *blocks[SMALL + MEDIUM + LARGE];
static size_t kept;

SITE static void keep(void *block)
{
	blocks[kept++] = block;
}

SITE static void *leak_small(size_t size)
{
	return truth_count(THIS_SITE(), malloc(size), size);
}

SITE static void *leak_medium(size_t size)
{
	return truth_count(THIS_SITE(), malloc(size), size);
}

SITE static void *leak_large(size_t size)
{
	return truth_count(THIS_SITE(), malloc(size), size);
}

/* Sizes cycle through their range, so each round has the same blocks. */
static void fill(void)
{
	for (size_t i = 0; i < SMALL; i++)
		keep(leak_small(16 + i % 113));
	for (size_t i = 0; i < MEDIUM; i++)
		keep(leak_medium(1000 + i % 7001));
	for (size_t i = 0; i < LARGE; i++)
		keep(leak_large(50000 + i * 4999));
}

static void empty(void)
{
	static const char *const names[] = {"leak_small", "leak_medium", "leak_large"};

	for (size_t i = 0; i < kept; i++)
		free(blocks[i]);
	kept = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct truth_site *site = truth_site(names[i]);

		site->free_bytes = site->alloc_bytes;
		site->free_count = site->alloc_count;
	}
}

static const char *obey(const char *command)
{
	if (!strcmp(command, "go"))
		fill();
	else if (!strcmp(command, "free"))
		empty();
	else
		return NULL;
	return "";
}

int main(void)
{
	return truth_serve(obey);
}
