/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A target's PHP: what is known of it, and of its functions. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_TARGET_PHP_H
#define MEMLEAKBPF_RUNTIME_TARGET_PHP_H

#include "user/runtime/interpreter.h"
#include "user/runtime/php/php_engine.h"
#include "user/runtime/php/php_handlers.h"

/* What has been named. */
struct php_code {
	struct runtime_code code;
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
	struct interpreter_state interpreter;
	struct php_runtime runtime;
	struct php_handlers handlers; /* none before handlers_read */
	bool handlers_read;
};

/* For interpreter_kind.free_code. */
void php_code_free(struct runtime_code *code);

#endif
