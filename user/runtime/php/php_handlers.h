/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which of PHP's instructions does the evaluating function run where it calls something? Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_PHP_HANDLERS_H
#define MEMLEAKBPF_RUNTIME_PHP_HANDLERS_H

#include <stddef.h>
#include <stdint.h>

#include "user/process/object.h"
#include "user/runtime/php/php_engine.h"

struct php_handlers {
	/* In order of `returns`: the return address of a call, and where the handler begins that it is made for. File offsets. */
	struct php_handled {
		uint64_t returns, handler;
	} * calls;
	size_t count;
};

/*
 * Those of which it is certain: from where the handler begins the code leads there in one line, and nothing leads into it
 * behind that. 0, -ENOMEM, -EIO, or -ENOTSUP: nothing is known.
 */
int php_handlers_read(const struct object *object, const struct php_runtime *runtime,
		      struct php_handlers *out);
void php_handlers_free(struct php_handlers *handlers);

/* Where the handler begins that has made the call which returns there; 0: unknown. */
uint64_t php_handlers_find(const struct php_handlers *handlers, uint64_t returns);

#endif
