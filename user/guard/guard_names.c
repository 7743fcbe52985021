// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/guard/guard_names.h"

#include <string.h>

#include "user/base/util.h"

#define LIBC GUARD_OF_LIBC
#define JE   2
#define TC   4
#define MI   8
#define STD  (LIBC | JE | TC | MI)

static const struct guard_allocator allocators[] = {
	{"glibc", "libc.so.6", LIBC},
	{"jemalloc", "libjemalloc.so.", JE},
	/* Its debugging variant, libtcmalloc_minimal_debug.so, is unknown. */
	{"tcmalloc", "libtcmalloc.so.", TC},
	{"tcmalloc", "libtcmalloc_minimal.so.", TC},
	{"mimalloc", "libmimalloc.so.", MI},
};

/*
 * malloc/malloc.c of glibc 2.26 to 2.42: __libc_free and so on are other names of these;
 * reallocarray is a multiplication before its realloc. Its other functions (mallinfo, malloc_trim,
 * obstacks) take no block, or free it by these. jemalloc 5 (jemalloc.h), gperftools 2 (tcmalloc.h,
 * malloc_extension_c.h), mimalloc 2 (mimalloc.h, alloc-override.c).
 *
 * An operator new throws where it has no block. The stub jumps to it then, as to any other
 * function, so no frame of the stub's is on the stack. The C library has none, and the C++
 * library's calls malloc.
 */
#define FREE(n, arguments, of)                          \
	{                                               \
		n, GUARD_KIND_FREE, arguments, of, NULL \
	}
#define NEW(n, kind, arguments, of)                       \
	{                                                 \
		n, GUARD_KIND_##kind, arguments, of, NULL \
	}
#define NONE(n, of)                             \
	{                                       \
		n, GUARD_KIND_NONE, 6, of, NULL \
	}
static const struct guard_name names[] = {
	{"malloc", GUARD_KIND_SIZE_1, 1, STD, NULL},
	FREE("free", 1, STD),
	{"calloc", GUARD_KIND_CALLOC, 2, STD, NULL},
	{"realloc", GUARD_KIND_REALLOC, 2, LIBC | JE | TC, "malloc"},
	{"realloc", GUARD_KIND_REALLOC_KEEPS, 2, MI, "malloc"},
	{"reallocarray", GUARD_KIND_REALLOC_ARRAY, 3, LIBC, "malloc"},
	{"reallocarray", GUARD_KIND_REALLOC_ARRAY_KEEPS, 3, MI, "malloc"},
	{"memalign", GUARD_KIND_SIZE_2, 2, STD, NULL},
	{"aligned_alloc", GUARD_KIND_SIZE_2, 2, STD, NULL},
	{"posix_memalign", GUARD_KIND_POSIX, 3, STD, NULL},
	FREE("cfree", 1, LIBC | TC | MI),
	FREE("free_sized", 2, STD),
	FREE("free_aligned_sized", 3, STD),
	{"malloc_usable_size", GUARD_KIND_USABLE, 1, STD, NULL},
	{"malloc_size", GUARD_KIND_USABLE, 1, TC | MI, NULL},

	{"mallocx", GUARD_KIND_SIZE_FLAGS, 2, JE, NULL},
	{"rallocx", GUARD_KIND_REALLOC_FLAGS, 3, JE, "mallocx"},
	{"xallocx", GUARD_KIND_USABLE, 4, JE, NULL}, /* which cannot be made larger where it is */
	{"sallocx", GUARD_KIND_USABLE, 2, JE, NULL},
	FREE("dallocx", 2, JE),
	FREE("sdallocx", 3, JE),

	NEW("_Znwm", SIZE_1, 1, JE | TC | MI),
	NEW("_Znam", SIZE_1, 1, JE | TC | MI),
	NEW("_ZnwmRKSt9nothrow_t", SIZE_1, 2, JE | TC | MI),
	NEW("_ZnamRKSt9nothrow_t", SIZE_1, 2, JE | TC | MI),
	NEW("_ZnwmSt11align_val_t", SIZE_ALIGNED, 2, JE | TC | MI),
	NEW("_ZnamSt11align_val_t", SIZE_ALIGNED, 2, JE | TC | MI),
	NEW("_ZnwmSt11align_val_tRKSt9nothrow_t", SIZE_ALIGNED, 3, JE | TC | MI),
	NEW("_ZnamSt11align_val_tRKSt9nothrow_t", SIZE_ALIGNED, 3, JE | TC | MI),
	NEW("mi_new", SIZE_1, 1, MI),
	NEW("mi_new_nothrow", SIZE_1, 1, MI),
	NEW("mi_new_n", CALLOC, 2, MI),
	NEW("mi_new_aligned", SIZE_ALIGNED, 2, MI),
	NEW("mi_new_aligned_nothrow", SIZE_ALIGNED, 2, MI),

	FREE("_ZdlPv", 3, JE | TC | MI),
	FREE("_ZdaPv", 3, JE | TC | MI),
	FREE("_ZdlPvm", 3, JE | TC | MI),
	FREE("_ZdaPvm", 3, JE | TC | MI),
	FREE("_ZdlPvRKSt9nothrow_t", 3, JE | TC | MI),
	FREE("_ZdaPvRKSt9nothrow_t", 3, JE | TC | MI),
	FREE("_ZdlPvSt11align_val_t", 3, JE | TC | MI),
	FREE("_ZdaPvSt11align_val_t", 3, JE | TC | MI),
	FREE("_ZdlPvmSt11align_val_t", 3, JE | TC | MI),
	FREE("_ZdaPvmSt11align_val_t", 3, JE | TC | MI),
	FREE("_ZdlPvSt11align_val_tRKSt9nothrow_t", 3, JE | TC | MI),
	FREE("_ZdaPvSt11align_val_tRKSt9nothrow_t", 3, JE | TC | MI),

	FREE("tc_free", 1, TC),
	FREE("tc_cfree", 1, TC),
	FREE("tc_free_sized", 2, TC),
	FREE("tc_delete", 1, TC),
	FREE("tc_delete_sized", 2, TC),
	{"tc_realloc", GUARD_KIND_REALLOC, 2, TC, "malloc"},
	{"tc_malloc_size", GUARD_KIND_USABLE, 1, TC, NULL},
	NONE("MallocExtension_GetAllocatedSize", TC),
	NONE("MallocExtension_GetOwnership", TC),
	NONE("_ZN15MallocExtension8instanceEv", TC),

	FREE("vfree", 1, MI),
	FREE("mi_free", 1, MI),
	FREE("mi_cfree", 1, MI),
	FREE("mi_free_size", 2, MI),
	FREE("mi_free_size_aligned", 3, MI),
	FREE("mi_free_aligned", 2, MI),
	{"mi_realloc", GUARD_KIND_REALLOC_KEEPS, 2, MI, "malloc"},
	{"mi_reallocn", GUARD_KIND_REALLOC_ARRAY_KEEPS, 3, MI, "malloc"},
	{"mi_reallocarray", GUARD_KIND_REALLOC_ARRAY_KEEPS, 3, MI, "malloc"},
	{"mi_usable_size", GUARD_KIND_USABLE, 1, MI, NULL},
	{"mi_malloc_size", GUARD_KIND_USABLE, 1, MI, NULL},
	{"mi_malloc_usable_size", GUARD_KIND_USABLE, 1, MI, NULL},
	NONE("reallocf", MI),
	NONE("mi_reallocf", MI),
	NONE("mi_rezalloc", MI),
	NONE("mi_recalloc", MI),
	NONE("mi_realloc_aligned", MI),
	NONE("mi_realloc_aligned_at", MI),
	NONE("mi_rezalloc_aligned", MI),
	NONE("mi_rezalloc_aligned_at", MI),
	NONE("mi_recalloc_aligned", MI),
	NONE("mi_recalloc_aligned_at", MI),
	NONE("mi_aligned_recalloc", MI),
	NONE("mi_aligned_offset_recalloc", MI),
	NONE("mi_new_realloc", MI),
	NONE("mi_new_reallocn", MI),
	NONE("mi_expand", MI),
	NONE("mi__expand", MI),
	NONE("mi_check_owned", MI),
	NONE("mi_heap_new", MI), /* comes before all functions that take a block of a heap */
	NONE("mi_heap_get_default", MI),
	NONE("mi_heap_get_backing", MI),
};

/* Other functions of the allocators' libraries, which are known to take no block. */
static const char *const harmless[] = {
	"malloc_trim",
	"malloc_stats",
	"malloc_info",
	"malloc_get_state",
	"malloc_set_state",
	"malloc_good_size",
	"malloc_stats_print",
	"mallctl",
	"mallctlbymib",
	"mallctlnametomib",
	"nallocx",
	"valloc",
	"pvalloc",
	"reallocarr",
	"_init",
	"_fini",
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
	case GUARD_KIND_SIZE_FLAGS:
	case GUARD_KIND_SIZE_ALIGNED:
	case GUARD_KIND_CALLOC:
	case GUARD_KIND_POSIX:
		return false;
	default:
		return true;
	}
}

bool guard_name_needed(const struct guard_name *name)
{
	if (guard_name_takes(name))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (names[i].instead && !strcmp(names[i].instead, name->name))
			return true;
	}
	return false;
}

static bool names_begin(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!strncmp(name, list[i], strlen(list[i])))
			return true;
	}
	return false;
}

bool guard_name_is_new(const struct guard_name *name)
{
	return !strncmp(name->name, "_Zn", 3);
}

/*
 * A C library's takers have names that begin like these. jemalloc has no other functions at all.
 * tcmalloc and mimalloc have many, of C++ and their own interface, whose takers begin so.
 */
static bool names_is_like(const struct guard_allocator *allocator, const char *name)
{
	static const char *const plain[] = {"malloc", "free_", "realloc", "calloc", "memalign"};
	static const char *const more[] = {"malloc",   "free",	 "realloc", "calloc",
					   "memalign", "sdallo", "dalloc",  "_Zd"};

	if (allocator->bit == JE)
		return strncmp(name, "_Zn", 3) != 0;
	return allocator->bit == LIBC ? names_begin(name, plain, ARRAY_SIZE(plain))
				      : names_begin(name, more, ARRAY_SIZE(more));
}

bool guard_name_is_strange(const struct guard_allocator *allocator, const char *name)
{
	if (!names_is_like(allocator, name))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(harmless); i++) {
		if (!strcmp(harmless[i], name))
			return false;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if ((names[i].of & allocator->bit) && !strcmp(names[i].name, name))
			return false;
	}
	return true;
}
