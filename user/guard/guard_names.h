/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions of known allocators that take a block, or give one. A guarded block that comes to
 * an unguarded function of its allocator ends the program. So this table has only allocators of
 * which it has all taking functions.
 */
#ifndef MEMLEAKBPF_GUARD_GUARD_NAMES_H
#define MEMLEAKBPF_GUARD_GUARD_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/guard/guard_layout.h"

/* A bit of guard_name.of: the C library, whose names others take. */
#define GUARD_OF_LIBC 1

struct guard_allocator {
	const char *name;   /* "glibc" */
	const char *soname; /* its libraries' names begin so */
	unsigned bit;	    /* of guard_name.of */
};

/* The allocator of a library with that DT_SONAME; NULL: it is unknown. */
const struct guard_allocator *guard_allocator_of(const char *soname);

/* As a kind: the function takes a block, and there is no guard for it. */
#define GUARD_KIND_NONE UINT8_MAX

struct guard_name {
	const char *name;
	uint8_t kind;	   /* GUARD_KIND_* */
	uint8_t arguments; /* in registers, at most */
	uint8_t of;	   /* allocators that have it */
	/* For a realloc: the function whose blocks it gives instead of a guarded one; else NULL. */
	const char *instead;
};

/* If several names are one function, the first one names it. */
const struct guard_name *guard_names(size_t *count);

/* Has a library with this function an allocator's own way to take a block? */
bool guard_name_takes(const struct guard_name *name);

/* Can no block be guarded without it? A function that only gives blocks gives the allocator's. */
bool guard_name_needed(const struct guard_name *name);

/* Is it an operator new, which an exception may leave? */
bool guard_name_is_new(const struct guard_name *name);

/*
 * Does the name look like the allocator's functions, without being in the table or known to take no
 * block? Then nobody here knows what the function does.
 */
bool guard_name_is_strange(const struct guard_allocator *allocator, const char *name);

#endif
