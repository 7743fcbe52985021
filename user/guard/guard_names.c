// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/guard/guard_names.h"

#include <string.h>

#include "user/base/util.h"

#define LIBC 1

static const struct guard_allocator allocators[] = {
	{"glibc", "libc.so.6", LIBC},
};

/*
 * malloc/malloc.c of glibc 2.26 to 2.42, of which __libc_free and so on are other names. Its reallocarray is
 * a multiplication before its realloc. What else it has of names (mallinfo, malloc_trim, obstacks) takes no
 * block, or frees it by these.
 */
static const struct guard_name names[] = {
	{"malloc", GUARD_KIND_SIZE_1, 1, LIBC, NULL},
	{"free", GUARD_KIND_FREE, 1, LIBC, NULL},
	{"calloc", GUARD_KIND_CALLOC, 2, LIBC, NULL},
	{"realloc", GUARD_KIND_REALLOC, 2, LIBC, "malloc"},
	{"reallocarray", GUARD_KIND_REALLOC_ARRAY, 3, LIBC, "malloc"},
	{"memalign", GUARD_KIND_SIZE_2, 2, LIBC, NULL},
	{"aligned_alloc", GUARD_KIND_SIZE_2, 2, LIBC, NULL},
	{"posix_memalign", GUARD_KIND_POSIX, 3, LIBC, NULL},
	{"cfree", GUARD_KIND_FREE, 1, LIBC, NULL},
	{"free_sized", GUARD_KIND_FREE, 2, LIBC, NULL},
	{"free_aligned_sized", GUARD_KIND_FREE, 3, LIBC, NULL},
	{"malloc_usable_size", GUARD_KIND_USABLE, 1, LIBC, NULL},
};

const struct guard_allocator *guard_allocator_of(const char *soname)
{
	for (size_t i = 0; i < ARRAY_SIZE(allocators); i++) {
		if (!strncmp(soname, allocators[i].soname, strlen(allocators[i].soname)))
			return &allocators[i];
	}
	return NULL;
}

const struct guard_name *guard_names(size_t *count)
{
	*count = ARRAY_SIZE(names);
	return names;
}

bool guard_name_takes(const struct guard_name *name)
{
	switch (name->kind) {
	case GUARD_KIND_SIZE_1:
	case GUARD_KIND_SIZE_2:
	case GUARD_KIND_CALLOC:
	case GUARD_KIND_POSIX:
		return false;
	default:
		return true;
	}
}

static bool names_has(const char *const *list, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (!strcmp(list[i], name))
			return true;
	}
	return false;
}

bool guard_name_is_strange(const struct guard_allocator *allocator, const char *name)
{
	static const char *const like[] = {"malloc", "free_", "realloc", "calloc", "memalign"};
	static const char *const harmless[] = {"malloc_trim", "malloc_stats", "malloc_info",
					       "malloc_get_state", "malloc_set_state"};
	bool is_like = false;

	for (size_t i = 0; i < ARRAY_SIZE(like); i++)
		is_like |= !strncmp(name, like[i], strlen(like[i]));
	if (!is_like || names_has(harmless, ARRAY_SIZE(harmless), name))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if ((names[i].of & allocator->bit) && !strcmp(names[i].name, name))
			return false;
	}
	return true;
}
