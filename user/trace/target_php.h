/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A target's PHP: what is known of it, and of its functions. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_TARGET_PHP_H
#define MEMLEAKBPF_TRACE_TARGET_PHP_H

#include "user/base/hash.h"
#include "user/model/frame.h"
#include "user/runtime/php/php_engine.h"
#include "user/trace/php_handlers.h"
#include "user/trace/runtime_rows.h"

/* What has been named. */
struct php_code {
	struct runtime_call call; /* the key, without PHP_ENTRY */
	UT_hash_handle hh;
	const struct frame *frame; /* of stack_table_keep_frame() */
	uint32_t handler,
		opcode; /* of the instruction where the frame stands: struct php_code_event */
	bool internal;
	/*
	 * What runs the function's instructions, each once, with their line; 0: that is on several. None: its instructions are not
	 * known.
	 */
	struct php_op *ops;
	size_t op_count;
};

struct target_php {
	struct runtime_mapped mapped;
	struct php_runtime runtime;
	struct php_handlers handlers; /* none before handlers_read */
	bool handlers_read;
	struct php_code *codes; /* uthash by call: php_names.h */
};

void target_php_free(struct target_php *php); /* NULL is fine */

#endif
