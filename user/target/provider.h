/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A provider is an object that allocates: a libc, jemalloc, a static executable, whatever defines
 * malloc. This module finds them among the objects a target maps and says at which file offsets
 * their functions begin.
 */
#ifndef MEMLEAKBPF_TARGET_PROVIDER_H
#define MEMLEAKBPF_TARGET_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/usdt_abi.h"
#include "user/target/allocator.h"
#include "user/target/provider_options.h"

struct object;

/* Is it one of the user's own functions, not a row of the built-in table? */
static inline bool provider_options_own(const struct provider_options *options,
					const struct alloc_fn *fn)
{
	return options->custom_count && fn >= options->custom &&
	       fn < options->custom + options->custom_count;
}

/* What the note of a USDT probe says of it (user/target/usdt_notes.h). */
struct usdt_note {
	/*
	 * offset in the file of the 16-bit count of those who want it, 0: it has none. The kernel
	 * counts there as it puts the probe into a process and takes it out
	 */
	uint64_t semaphore;
	struct usdt_spec spec; /* where its arguments are */
};

struct provider_fn {
	const struct alloc_fn *fn;
	uint64_t offset; /* of the function's first byte in the file */
	uint64_t size;	 /* bytes, 0 when the symbol does not say */
	/* as people read it: fn->shown, with the prefix if there is one ("je_malloc") */
	char *name;
	const struct usdt_note *note; /* the provider's; NULL: it is a function */
	/* OP_SCOPE: number of the function, and of the --scope that it is one of */
	uint16_t scope_function, scope_spec;
};

struct provider {
	struct object *object; /* a reference of the provider's own */
	/* sorted by offset; aliases at one offset appear once, under the table's name */
	struct provider_fn *fns;
	size_t count;
	struct usdt_note *notes; /* NULL: none of them is a USDT probe */
	/* C++ operators only, of an object that has no allocator: they say whose block it is */
	bool named;
	bool alone; /* -O: the functions of other objects get no probes */
	/* of a dynamic loader: the address of its struct r_debug (<link.h>), 0: unknown */
	uint64_t debugger_view;
	uint64_t own_found; /* bit i: it defines provider_options.custom[i], of the first 64 */
	bool from_symtab;   /* found in .symtab, not exported (static executables) */
};

/*
 * Looks in an object for the functions of the allocator table. It reads .dynsym first, and .symtab
 * when the object is an executable without malloc in .dynsym (static or statically linked).
 * .gnu_debugdata and separate debug files are not needed. GNU IFUNC symbols and symbols without
 * code are skipped.
 *
 * Libraries that merely import malloc are no providers, nor are wrappers like the dynamic loader's
 * own malloc (ld.so). A provider defines an allocating function AND a freeing one. With custom
 * functions and -O one is enough.
 *
 * 0 and *out (to be freed with provider_free()), -ENOENT when it provides nothing, or -errno for a
 * damaged file (logged at debug).
 */
int provider_find(struct object *object, const struct provider_options *options,
		  struct provider **out);
void provider_free(struct provider *provider);

#endif
