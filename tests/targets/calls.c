// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Every allocating call of the C library, successful and not. A failed call is no allocation. */
#include <errno.h>
#include <malloc.h>

#include "truth.h"

static volatile size_t huge =
	SIZE_MAX / 2; /* volatile: the compiler must not see that these calls fail */

SITE static void site_malloc(void)
{
	truth_keep(THIS_SITE(), malloc(100), 100);
}

SITE static void site_malloc_fails(void)
{
	truth_keep(THIS_SITE(), malloc(huge), huge);
}

SITE static void site_calloc(void)
{
	truth_keep(THIS_SITE(), calloc(7, 13), 91);
}

SITE static void site_calloc_overflows(void)
{
	truth_keep(THIS_SITE(), calloc(huge, 16), 0);
}

SITE static void site_reallocarray(void)
{
	truth_keep(THIS_SITE(), reallocarray(NULL, 11, 17), 187);
}

SITE static void site_reallocarray_overflows(void)
{
	truth_keep(THIS_SITE(), reallocarray(NULL, huge, 16), 0);
}

SITE static void site_posix_memalign(void)
{
	void *p = NULL;

	if (!posix_memalign(&p, 256, 1000))
		truth_keep(THIS_SITE(), p, 1000);
}

/* The result pointer is left alone by a failing call: what it holds is no block. */
SITE static void site_posix_memalign_fails(void)
{
	static char not_a_block;
	volatile size_t bad_alignment = 3;
	void *p = &not_a_block;

	if (posix_memalign(&p, bad_alignment, 1000) != EINVAL)
		truth_die("posix_memalign took a bad alignment");
	if (posix_memalign(&p, 64, huge) != ENOMEM)
		truth_die("posix_memalign took a huge size");
	NOT_A_TAIL_CALL();
}

SITE static void site_aligned_alloc(void)
{
	truth_keep(THIS_SITE(), aligned_alloc(128, 1280), 1280);
}

SITE static void site_memalign(void)
{
	truth_keep(THIS_SITE(), memalign(512, 777), 777);
}

SITE static void site_valloc(void)
{
	truth_keep(THIS_SITE(), valloc(3000), 3000);
}

#ifdef __GLIBC__
SITE static void site_pvalloc(void)
{
	truth_keep(THIS_SITE(), pvalloc(5000), 5000);
}
#endif

SITE static void all_calls(void)
{
	site_malloc();
	site_malloc_fails();
	site_calloc();
	site_calloc_overflows();
	site_reallocarray();
	site_reallocarray_overflows();
	site_posix_memalign();
	site_posix_memalign_fails();
	site_aligned_alloc();
	site_memalign();
	site_valloc();
#ifdef __GLIBC__
	site_pvalloc();
#endif
	NOT_A_TAIL_CALL();
}

static const char *obey(const char *command)
{
	if (!strcmp(command, "go")) {
		for (int i = 0; i < 10; i++)
			all_calls();
	} else if (!strcmp(command, "free")) {
		/* Half of each: the frees must find the blocks of every function. */
		for (unsigned int i = 0; i < truth_site_count; i++)
			truth_free_some(&truth_sites[i], truth_sites[i].alloc_count / 2);
	} else {
		return NULL;
	}
	return "";
}

int main(void)
{
	return truth_serve(obey);
}
