// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * realloc in all its ways. A block that could not be resized lives on, at the site that allocated
 * it. No block is smaller than SMALLEST: under "-s 1" a block of n bytes is no sample with probability
 * exp(-n), and guard_books.bats wants every one of hundreds to be one. Of 10 bytes one run in a
 * hundred failed; of 40 it is one in 10^14.
 */
#include "truth.h"

#define SMALLEST 40

static volatile size_t huge = SIZE_MAX / 2;

SITE static void *site_malloc(size_t size)
{
	return truth_keep(THIS_SITE(), malloc(size), size);
}

SITE static void *site_grow(void *old, size_t size)
{
	void *p = realloc(old, size);

	truth_forget(old);
	return truth_keep(THIS_SITE(), p, size);
}

SITE static void *site_shrink(void *old, size_t size)
{
	void *p = realloc(old, size);

	truth_forget(old);
	return truth_keep(THIS_SITE(), p, size);
}

SITE static void site_fails(void *old)
{
	if (realloc(old, huge))
		truth_die("realloc of a huge size worked");
	NOT_A_TAIL_CALL();
}

SITE static void site_array_fails(void *old)
{
	if (reallocarray(old, huge, 32))
		truth_die("reallocarray that overflows worked");
	NOT_A_TAIL_CALL();
}

/* glibc frees and returns NULL; others return a block of no bytes. */
SITE static void site_to_zero(void *old)
{
	volatile size_t zero = 0;
	void *p = realloc(old, zero);

	truth_forget(old);
	truth_keep(THIS_SITE(), p, 0);
}

SITE static void site_from_null(void)
{
	truth_keep(THIS_SITE(), realloc(NULL, 321), 321);
}

SITE static void *site_array(void *old, size_t count)
{
	void *p = reallocarray(old, count, 24);

	truth_forget(old);
	return truth_keep(THIS_SITE(), p, count * 24);
}

static const char *obey(const char *command)
{
	if (strcmp(command, "go"))
		return NULL;
	for (int i = 0; i < 50; i++) {
		site_malloc(
			SMALLEST); /* so that the next one has a neighbour and moves when it grows */
		site_grow(site_malloc(100), 5000);
		site_grow(site_malloc(64), 1 << 20);
		site_grow(site_malloc(1 << 20), 3 << 20); /* mremap inside */
		site_shrink(site_malloc(5000), 60);
		site_shrink(site_malloc(1 << 20), 200);
		site_fails(site_malloc(77));
		site_array_fails(site_malloc(78));
		site_to_zero(site_malloc(88));
		site_from_null();
		truth_free(site_grow(site_malloc(SMALLEST), 50));
		truth_free(site_array(site_malloc(SMALLEST), 30));
		site_array(site_malloc(SMALLEST), 31);
	}
	return "";
}

int main(void)
{
	return truth_serve(obey);
}
