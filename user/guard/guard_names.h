/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The functions of known allocators that take a block, or give one. A guarded block that comes to one
 * of its allocator's functions without a guard is the end of the program: only an allocator is known
 * here all of whose taking functions are.
 */
#ifndef MEMLEAKBPF_GUARD_GUARD_NAMES_H
#define MEMLEAKBPF_GUARD_GUARD_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/guard/guard_layout.h"

/* A bit of guard_name.of: the C library's, whose names others take. */
#define GUARD_OF_LIBC 1

struct guard_allocator {
	const char *name;   /* "glibc" */
	const char *soname; /* what the names of its libraries begin with */
	unsigned bit;	    /* of guard_name.of */
};

/* By the DT_SONAME of a library; NULL: it is none that is known. */
const struct guard_allocator *guard_allocator_of(const char *soname);

/* As a kind: it takes a block, and there is no guard for it. */
#define GUARD_KIND_NONE UINT8_MAX

struct guard_name {
	const char *name;
	uint8_t kind;	   /* GUARD_KIND_* */
	uint8_t arguments; /* in registers, at most */
	uint8_t of;	   /* allocators that have it */
	/* Of a realloc: the function whose blocks it gives instead of a guarded one; else NULL. */
	const char *instead;
};

/* Where several are one function the first one names it. */
const struct guard_name *guard_names(size_t *count);

/* Does a library that has this function have an allocator's own way to take a block? */
bool guard_name_takes(const struct guard_name *name);

/* Can no block be guarded without it? What only gives blocks gives the allocator's. */
bool guard_name_needed(const struct guard_name *name);

/* An operator new, which an exception may leave? */
bool guard_name_is_new(const struct guard_name *name);

/*
 * Is the name of a function of the allocator like those of the table, and not in it, nor known to
 * take no block? What it does nobody here knows then.
 */
bool guard_name_is_strange(const struct guard_allocator *allocator, const char *name);

#endif
