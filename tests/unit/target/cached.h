/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_TESTS_UNIT_TARGET_CACHED_H
#define MEMLEAKBPF_TESTS_UNIT_TARGET_CACHED_H

#include "user/process/object.h"

/* What all tests of a program open files in: setup and teardown of the group. */
static struct object_cache *cache;

static int make_cache(void **state)
{
	(void)state;
	cache = object_cache_new();
	return cache ? 0 : -1;
}

static int free_cache(void **state)
{
	(void)state;
	object_cache_free(cache);
	return 0;
}

#endif
