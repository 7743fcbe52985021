/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What frames of PHP's are called, as the programs have copied it. Private to user/runtime/php. */
#ifndef MEMLEAKBPF_RUNTIME_PHP_NAMES_H
#define MEMLEAKBPF_RUNTIME_PHP_NAMES_H

#include "bpf/runtime/php_abi.h"
#include "user/runtime/interpreter.h"

void php_names_add(struct runtimes *runtimes, struct runtime_target *target,
		   const struct php_code_event *event);

interpreter_frame_fn php_names_frame;

#endif
