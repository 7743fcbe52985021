/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What JavaScript's functions are called, and the lines in which they begin. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_V8_NAMES_H
#define MEMLEAKBPF_RUNTIME_V8_NAMES_H

#include "bpf/runtime/v8_abi.h"
#include "user/runtime/runtime_ops.h"
#include "user/runtime/v8/target_v8.h"

/*
 * Takes down the function that the kernel has told of, and the lines of its calls; its script's text is read from the target, once. What
 * of that cannot be read is counted, and has no line.
 */
void v8_names_add(struct runtimes *runtimes, struct runtime_target *target,
		  const struct v8_function_event *event);

/* NULL: none has come that is called so. */
const struct v8_function *v8_names_find(const struct target_v8 *v8, uint64_t code, uint32_t cookie);

#endif
