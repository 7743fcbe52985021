/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Is an object PHP's interpreter, and how does that keep its frames? */
#ifndef MEMLEAKBPF_RUNTIME_PHP_ENGINE_H
#define MEMLEAKBPF_RUNTIME_PHP_ENGINE_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/runtime/php_abi.h"
#include "user/base/reason.h"
#include "user/process/object.h"

struct php_runtime {
	const char *version; /* "8.2"; NULL: unknown. Static. */
	/* Without where its code is; `current` is a link-time address. */
	struct php_row row;
	uint64_t exec, exec_end; /* the function that runs PHP's: offsets in the file */
	/* Where in it what it does for each kind of instruction begins, likewise, in order; none: unknown. */
	uint64_t *handlers;
	size_t handler_count;
};

/*
 * Not logged.
 *
 * - 0 and *out, for php_runtime_free()
 * - -ENOENT: it is not PHP
 * - -ENOTSUP, with the reason: the frames of this PHP are not known; *out has its version
 * - -EIO, -ENOMEM
 */
int php_find(struct object *object, struct php_runtime *out, char reason[static REASON_MAX]);
void php_runtime_free(struct php_runtime *runtime);

#endif
