// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/target/allocator.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

#define MAX_ARG 6 /* arguments passed in registers on x86_64; aarch64 has more */

/*
 * Where several names share an address the first row wins, so the plain name comes before its
 * relatives. Sources: malloc(3), posix_memalign(3), C23 (free_sized, free_aligned_sized),
 * jemalloc(3), gperftools' and mimalloc's headers, the Itanium C++ ABI for the mangled operators
 * (size_t is m on LP64).
 */
#define C(n) .name = (n), .shown = (n)
static const struct alloc_fn table[] = {
	{C("malloc"), .op = OP_ALLOC, .size_arg = 1, .leaf = true},
	{C("free"), .op = OP_FREE, .ptr_arg = 1},
	{C("calloc"), .op = OP_ALLOC, .count_arg = 1, .size_arg = 2, .leaf = true},
	{C("realloc"), .op = OP_REALLOC, .ptr_arg = 1, .size_arg = 2},
	{C("reallocarray"), .op = OP_REALLOC, .ptr_arg = 1, .count_arg = 2, .size_arg = 3},
	{C("posix_memalign"), .op = OP_ALLOC_OUT, .ptr_arg = 1, .size_arg = 3},
	{C("aligned_alloc"), .op = OP_ALLOC, .size_arg = 2},
	{C("memalign"), .op = OP_ALLOC, .size_arg = 2},
	{C("valloc"), .op = OP_ALLOC, .size_arg = 1},
	{C("pvalloc"), .op = OP_ALLOC, .size_arg = 1},
	{C("cfree"), .op = OP_FREE, .ptr_arg = 1},
	{C("free_sized"), .op = OP_FREE, .ptr_arg = 1},
	{C("free_aligned_sized"), .op = OP_FREE, .ptr_arg = 1},

	/* jemalloc's own interface, which tcmalloc has too */
	{C("mallocx"), .op = OP_ALLOC, .size_arg = 1},
	{C("rallocx"), .op = OP_REALLOC, .ptr_arg = 1, .size_arg = 2},
	{C("dallocx"), .op = OP_FREE, .ptr_arg = 1},
	{C("sdallocx"), .op = OP_FREE, .ptr_arg = 1},

	/* mimalloc's own interface, beyond its variants of the standard names */
	{C("mi_malloc_small"), .op = OP_ALLOC, .size_arg = 1},
	{C("mi_zalloc_small"), .op = OP_ALLOC, .size_arg = 1},
	{C("mi_zalloc"), .op = OP_ALLOC, .size_arg = 1},
	{C("mi_mallocn"), .op = OP_ALLOC, .count_arg = 1, .size_arg = 2},
	{C("mi_malloc_aligned"), .op = OP_ALLOC, .size_arg = 1},
	{C("mi_zalloc_aligned"), .op = OP_ALLOC, .size_arg = 1},
	{C("mi_calloc_aligned"), .op = OP_ALLOC, .count_arg = 1, .size_arg = 2},
	{C("mi_realloc_aligned"), .op = OP_REALLOC, .ptr_arg = 1, .size_arg = 2},
	{C("mi_reallocn"), .op = OP_REALLOC, .ptr_arg = 1, .count_arg = 2, .size_arg = 3},
	{C("mi_rezalloc"), .op = OP_REALLOC, .ptr_arg = 1, .size_arg = 2},
	{C("mi_recalloc"), .op = OP_REALLOC, .ptr_arg = 1, .count_arg = 2, .size_arg = 3},
	{C("mi_free_size"), .op = OP_FREE, .ptr_arg = 1},
	{C("mi_free_size_aligned"), .op = OP_FREE, .ptr_arg = 1},
	{C("mi_free_aligned"), .op = OP_FREE, .ptr_arg = 1},

/* The nothrow forms too: mimalloc's, which is C, lets pass what a new handler throws. */
#define NEW(mangled, people)                                                                      \
	{                                                                                         \
		.name = (mangled), .shown = (people), .op = OP_ALLOC, .size_arg = 1, .cxx = true, \
		.throws = true, .leaf = true                                                      \
	}
#define DELETE(mangled, people)                                                                \
	{                                                                                      \
		.name = (mangled), .shown = (people), .op = OP_FREE, .ptr_arg = 1, .cxx = true \
	}
	NEW("_Znwm", "operator new(unsigned long)"),
	NEW("_Znam", "operator new[](unsigned long)"),
	NEW("_ZnwmRKSt9nothrow_t", "operator new(unsigned long, std::nothrow_t const&)"),
	NEW("_ZnamRKSt9nothrow_t", "operator new[](unsigned long, std::nothrow_t const&)"),
	NEW("_ZnwmSt11align_val_t", "operator new(unsigned long, std::align_val_t)"),
	NEW("_ZnamSt11align_val_t", "operator new[](unsigned long, std::align_val_t)"),
	NEW("_ZnwmSt11align_val_tRKSt9nothrow_t",
	    "operator new(unsigned long, std::align_val_t, std::nothrow_t const&)"),
	NEW("_ZnamSt11align_val_tRKSt9nothrow_t",
	    "operator new[](unsigned long, std::align_val_t, std::nothrow_t const&)"),
	DELETE("_ZdlPv", "operator delete(void*)"),
	DELETE("_ZdaPv", "operator delete[](void*)"),
	DELETE("_ZdlPvm", "operator delete(void*, unsigned long)"),
	DELETE("_ZdaPvm", "operator delete[](void*, unsigned long)"),
	DELETE("_ZdlPvRKSt9nothrow_t", "operator delete(void*, std::nothrow_t const&)"),
	DELETE("_ZdaPvRKSt9nothrow_t", "operator delete[](void*, std::nothrow_t const&)"),
	DELETE("_ZdlPvSt11align_val_t", "operator delete(void*, std::align_val_t)"),
	DELETE("_ZdaPvSt11align_val_t", "operator delete[](void*, std::align_val_t)"),
	DELETE("_ZdlPvmSt11align_val_t", "operator delete(void*, unsigned long, std::align_val_t)"),
	DELETE("_ZdaPvmSt11align_val_t",
	       "operator delete[](void*, unsigned long, std::align_val_t)"),
	DELETE("_ZdlPvSt11align_val_tRKSt9nothrow_t",
	       "operator delete(void*, std::align_val_t, std::nothrow_t const&)"),
	DELETE("_ZdaPvSt11align_val_tRKSt9nothrow_t",
	       "operator delete[](void*, std::align_val_t, std::nothrow_t const&)"),

	{C("mmap"), .op = OP_MMAP, .size_arg = 2, .mmap = true},
	{C("mmap64"), .op = OP_MMAP, .size_arg = 2, .mmap = true},
	{C("munmap"), .op = OP_MUNMAP, .ptr_arg = 1, .size_arg = 2, .mmap = true},
	/* (old address, old size, new size, flags, new address) */
	{C("mremap"), .op = OP_MREMAP, .ptr_arg = 1, .size_arg = 3, .mmap = true},
};

const struct alloc_fn *alloc_table(size_t *count)
{
	*count = ARRAY_SIZE(table);
	return table;
}

enum alloc_family alloc_fn_family(const struct alloc_fn *fn)
{
	if (fn < table || fn >= table + ARRAY_SIZE(table) || fn->mmap)
		return FAMILY_ANY;
	if (!fn->cxx)
		return FAMILY_MALLOC;
	/* _Znam, _ZdaPv …: the Itanium C++ ABI's codes na and da are the arrays' operators. */
	return fn->name[3] == 'a' ? FAMILY_NEW_ARRAY : FAMILY_NEW;
}

/* ":N" with N from 1 to 6, which is consumed. 0 when it is something else. */
static uint8_t take_arg(const char **p)
{
	const char *c = *p;

	if (c[0] != ':' || c[1] < '1' || c[1] > '0' + MAX_ARG || (c[2] != ':' && c[2] != '\0'))
		return 0;
	*p += 2;
	return (uint8_t)(c[1] - '0');
}

static int set_name(struct alloc_fn *fn, const char *text, size_t len)
{
	/* One copy serves as both: alloc_fn_release() frees name. */
	fn->name = strndup(text, len);
	fn->shown = fn->name;
	return fn->name ? 0 : -ENOMEM;
}

/* ":out=N" and, behind it, ":ok=RESULT": consumed. False when it is something else. */
static bool take_out(const char **p, struct alloc_fn *fn)
{
	char *end;
	long ok;

	if (strncmp(*p, ":out=", 5) || (*p)[5] < '1' || (*p)[5] > '0' + MAX_ARG)
		return false;
	fn->op = OP_ALLOC_OUT;
	fn->ptr_arg = (uint8_t)((*p)[5] - '0');
	*p += 6;
	if (strncmp(*p, ":ok=", 4))
		return true;
	*p += 4;
	if (**p != '-' && (**p < '0' || **p > '9'))
		return false;
	errno = 0;
	ok = strtol(*p, &end, 0);
	if (end == *p || errno || ok < INT32_MIN || ok > INT32_MAX)
		return false;
	fn->ok = (int32_t)ok;
	*p = end;
	return true;
}

int alloc_fn_parse_alloc(const char *text, struct alloc_fn *fn)
{
	size_t len = strcspn(text, ":");
	const char *p = text + len;

	memset(fn, 0, sizeof(*fn));
	fn->op = OP_ALLOC;
	fn->throws = true; /* whatever language it is written in, what it calls may be C++ */
	fn->size_arg = take_arg(&p);
	if (len == 0 || fn->size_arg == 0)
		return -EINVAL;
	fn->count_arg = take_arg(&p);
	if (*p && (!take_out(&p, fn) || *p))
		return -EINVAL;
	return set_name(fn, text, len);
}

int alloc_fn_parse_realloc(const char *text, struct alloc_fn *fn)
{
	size_t len = strcspn(text, ":");
	const char *p = text + len;

	memset(fn, 0, sizeof(*fn));
	fn->op = OP_REALLOC;
	fn->throws = true;
	fn->ptr_arg = take_arg(&p);
	fn->size_arg = take_arg(&p);
	fn->count_arg = take_arg(&p);
	if (len == 0 || fn->ptr_arg == 0 || fn->size_arg == 0 || *p)
		return -EINVAL;
	return set_name(fn, text, len);
}

int alloc_fn_parse_free(const char *text, struct alloc_fn *fn)
{
	size_t len = strcspn(text, ":");
	const char *p = text + len;

	memset(fn, 0, sizeof(*fn));
	fn->op = OP_FREE;
	fn->ptr_arg = take_arg(&p);
	if (len == 0 || fn->ptr_arg == 0 || *p)
		return -EINVAL;
	return set_name(fn, text, len);
}

void alloc_fn_release(struct alloc_fn *fn)
{
	free((char *)fn->name);
	fn->name = NULL;
	fn->shown = NULL;
}
