// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/bad_free.h"

#include <stdlib.h>
#include <string.h>

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

enum bad_free_kind bad_free_kind_of(const char *name)
{
	int kind = 0;

	while (kind < BAD_FREE_KINDS && strcmp(kinds[kind].name, name) != 0)
		kind++;
	return (enum bad_free_kind)kind;
}

enum alloc_family alloc_family_of(const char *name)
{
	for (int family = 0; family < FAMILIES; family++) {
		if (families[family].alloc && !strcmp(families[family].alloc, name))
			return (enum alloc_family)family;
	}
	return FAMILY_ANY;
}

static int by_count(const void *a, const void *b)
{
	const struct bad_free *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	for (int i = 0; i < BAD_FREE_STACKS; i++) {
		if (x->calls[i].stack_id != y->calls[i].stack_id)
			return x->calls[i].stack_id < y->calls[i].stack_id ? -1 : 1;
	}
	return x->address < y->address ? -1 : x->address > y->address;
}

void bad_frees_sort(struct bad_free *list, size_t count)
{
	if (count)
		qsort(list, count, sizeof(*list), by_count);
}
