// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/bad_free.h"

#include <stddef.h>

static const struct {
	const char *name, *text;
} kinds[] = {
	[BAD_FREE_DOUBLE] = {"double_free", "double free"},
	[BAD_FREE_INSIDE] = {"inside_block", "free of an address inside a block"},
	[BAD_FREE_UNKNOWN] = {"never_allocated", "free of an address that was never allocated"},
	[BAD_FREE_MISMATCH] = {"mismatch", "free by the wrong function"},
};
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == BAD_FREE_KINDS, "a name for every kind");

static const struct {
	const char *alloc, *free;
} families[] = {
	[FAMILY_ANY] = {NULL, NULL},
	[FAMILY_MALLOC] = {"malloc", "free"},
	[FAMILY_NEW] = {"new", "delete"},
	[FAMILY_NEW_ARRAY] = {"new[]", "delete[]"},
};
_Static_assert(sizeof(families) / sizeof(families[0]) == FAMILIES, "a name for every family");

const char *bad_free_kind_name(enum bad_free_kind kind)
{
	return (unsigned)kind < BAD_FREE_KINDS ? kinds[kind].name : "unknown";
}

const char *bad_free_kind_text(enum bad_free_kind kind)
{
	return (unsigned)kind < BAD_FREE_KINDS ? kinds[kind].text : "bad free";
}

const char *alloc_family_name(enum alloc_family family)
{
	return (unsigned)family < FAMILIES ? families[family].alloc : NULL;
}

const char *free_family_name(enum alloc_family family)
{
	return (unsigned)family < FAMILIES ? families[family].free : NULL;
}
