// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/misuse.h"

#include <stdlib.h>
#include <string.h>

#define CHECK (1u << MISUSE_BY_CHECK)
#define GUARD (1u << MISUSE_BY_GUARD)

/* Words of AddressSanitizer's, where it has one for the kind. */
static const struct {
	const char *name, *text;
	unsigned finders; /* 1 << enum misuse_finder */
	bool free;
} kinds[] = {
	[MISUSE_OVERFLOW] = {"overflow", "heap buffer overflow", GUARD, false},
	[MISUSE_UNDERFLOW] = {"underflow", "heap buffer underflow", GUARD, false},
	[MISUSE_USE_AFTER_FREE] = {"use_after_free", "heap use after free", GUARD, false},
	[MISUSE_SLACK_OVERWRITE] = {"slack_overwrite", "heap buffer overflow, found at the free",
				    GUARD, false},
	[MISUSE_DOUBLE_FREE] = {"double_free", "double free", GUARD | CHECK, true},
	[MISUSE_INVALID_FREE] = {"invalid_free", "free of what is no block's beginning", GUARD,
				 true},
	[MISUSE_INSIDE_BLOCK] = {"inside_block", "free of an address inside a block", CHECK, true},
	[MISUSE_NEVER_ALLOCATED] = {"never_allocated",
				    "free of an address that was never allocated", CHECK, true},
	[MISUSE_MISMATCH] = {"mismatch", "free by the wrong function", CHECK, true},
};
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == MISUSE_KINDS, "a name for every kind");

static const struct {
	const char *alloc, *free;
} families[] = {
	[FAMILY_ANY] = {NULL, NULL},
	[FAMILY_MALLOC] = {"malloc", "free"},
	[FAMILY_NEW] = {"new", "delete"},
	[FAMILY_NEW_ARRAY] = {"new[]", "delete[]"},
};
_Static_assert(sizeof(families) / sizeof(families[0]) == FAMILIES, "a name for every family");

static const char *const modes[] = {[ACCESS_READ] = "read", [ACCESS_WRITE] = "write"};

const char *misuse_kind_name(enum misuse_kind kind)
{
	return (unsigned)kind < MISUSE_KINDS ? kinds[kind].name : "unknown";
}

const char *misuse_kind_text(enum misuse_kind kind)
{
	return (unsigned)kind < MISUSE_KINDS ? kinds[kind].text : "misuse";
}

enum misuse_kind misuse_kind_of(enum misuse_finder finder, const char *name)
{
	int kind = 0;

	while (kind < MISUSE_KINDS &&
	       (!(kinds[kind].finders >> finder & 1) || strcmp(kinds[kind].name, name) != 0))
		kind++;
	return (enum misuse_kind)kind;
}

bool misuse_is_free(const struct misuse *misuse)
{
	return (unsigned)misuse->kind < MISUSE_KINDS && kinds[misuse->kind].free;
}

const char *access_mode_name(enum access_mode mode)
{
	return (unsigned)mode < sizeof(modes) / sizeof(modes[0]) ? modes[mode] : NULL;
}

enum access_mode access_mode_of(const char *name)
{
	for (int mode = ACCESS_READ; mode <= ACCESS_WRITE; mode++) {
		if (!strcmp(modes[mode], name))
			return (enum access_mode)mode;
	}
	return ACCESS_UNKNOWN;
}

const char *alloc_family_name(enum alloc_family family)
{
	return (unsigned)family < FAMILIES ? families[family].alloc : NULL;
}

const char *free_family_name(enum alloc_family family)
{
	return (unsigned)family < FAMILIES ? families[family].free : NULL;
}

enum alloc_family alloc_family_of(const char *name)
{
	for (int family = 0; family < FAMILIES; family++) {
		if (families[family].alloc && !strcmp(families[family].alloc, name))
			return (enum alloc_family)family;
	}
	return FAMILY_ANY;
}

bool misuse_same_calls(const struct misuse *a, const struct misuse *b)
{
	for (int i = 0; i < MISUSE_CALLS; i++) {
		if (a->calls[i].known != b->calls[i].known ||
		    a->calls[i].stack_id != b->calls[i].stack_id)
			return false;
	}
	return true;
}

static int by_count(const void *a, const void *b)
{
	const struct misuse *x = a, *y = b;

	if (!x->suppressed != !y->suppressed)
		return x->suppressed ? 1 : -1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	for (int i = 0; i < MISUSE_CALLS; i++) {
		enum misuse_call call = misuse_call_of(x->finder, i);

		if (x->calls[call].stack_id != y->calls[call].stack_id)
			return x->calls[call].stack_id < y->calls[call].stack_id ? -1 : 1;
	}
	return x->address < y->address ? -1 : x->address > y->address;
}

void misuses_sort(struct misuse *list, size_t count)
{
	if (count)
		qsort(list, count, sizeof(*list), by_count);
}
