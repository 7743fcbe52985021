/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Is an object a language's runtime, which may have memory of its own beside malloc's? */
#ifndef MEMLEAKBPF_RUNTIME_RUNTIME_H
#define MEMLEAKBPF_RUNTIME_RUNTIME_H

#include <stdint.h>

#include "bpf/language.h"
#include "user/process/object.h"

/* By what it exports; Go by its sections. */
enum runtime runtime_of(struct object *object);

/* Which of its mappings are arenas (struct pool_row), and what people are told of one. NULL: of none. */
struct runtime_pool {
	uint64_t sizes[2];
	const char *shown;
};

/* `version`: sys.hexversion of CPython, 0: unknown. NULL: the runtime has no arenas. Static. */
const struct runtime_pool *runtime_pool(enum runtime runtime, uint32_t version);

/* What a language whose frames are not followed is called, and what its stacks have instead. NULL: they are. Static. */
const char *runtime_not_followed(enum runtime runtime, const char **instead);

/* "Python": a language whose functions are no code of a file; NULL: Go's are, or there is none. Static. */
const char *runtime_managed_language(enum runtime runtime);

#endif
