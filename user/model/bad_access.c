// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/bad_access.h"

#include <stdlib.h>
#include <string.h>

/* Words of AddressSanitizer's, where it has one for the kind. */
static const struct {
	const char *name, *text;
} kinds[] = {
	[BAD_ACCESS_OVERFLOW] = {"overflow", "heap buffer overflow"},
	[BAD_ACCESS_UNDERFLOW] = {"underflow", "heap buffer underflow"},
	[BAD_ACCESS_USE_AFTER_FREE] = {"use_after_free", "heap use after free"},
	[BAD_ACCESS_SLACK_OVERWRITE] = {"slack_overwrite",
					"heap buffer overflow, found at the free"},
	[BAD_ACCESS_DOUBLE_FREE] = {"double_free", "double free"},
	[BAD_ACCESS_INVALID_FREE] = {"invalid_free", "free of what is no block's beginning"},
};
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == BAD_ACCESS_KINDS, "a name for every kind");

static const char *const modes[] = {[ACCESS_READ] = "read", [ACCESS_WRITE] = "write"};

const char *bad_access_kind_name(enum bad_access_kind kind)
{
	return (unsigned)kind < BAD_ACCESS_KINDS ? kinds[kind].name : "unknown";
}

const char *bad_access_kind_text(enum bad_access_kind kind)
{
	return (unsigned)kind < BAD_ACCESS_KINDS ? kinds[kind].text : "bad access";
}

enum bad_access_kind bad_access_kind_of(const char *name)
{
	int kind = 0;

	while (kind < BAD_ACCESS_KINDS && strcmp(kinds[kind].name, name) != 0)
		kind++;
	return (enum bad_access_kind)kind;
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

static int by_count(const void *a, const void *b)
{
	const struct bad_access *x = a, *y = b;

	if (!x->suppressed != !y->suppressed)
		return x->suppressed ? 1 : -1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	for (int i = 0; i < BAD_ACCESS_STACKS; i++) {
		if (x->calls[i].stack_id != y->calls[i].stack_id)
			return x->calls[i].stack_id < y->calls[i].stack_id ? -1 : 1;
	}
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

void bad_accesses_sort(struct bad_access *list, size_t count)
{
	if (count)
		qsort(list, count, sizeof(*list), by_count);
}
