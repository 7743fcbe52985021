/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of JavaScript's in a stack, those that V8 has inlined among them. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_V8_STACK_H
#define MEMLEAKBPF_RUNTIME_V8_STACK_H

#include "bpf/runtime/v8_abi.h"
#include "user/runtime/runtime_ops.h"
#include "user/runtime/v8/target_v8.h"

/* Takes down which functions optimised code is in at each of its calls. What of that cannot be read is not known. */
void v8_stack_add(struct runtime_target *target, const struct v8_code_event *event);

/*
 * Names the places of a walk, one for each of its addresses `frames`, by the functions of the chain
 * with the hash. Puts inlined functions in front of the place that they are in. False: there is no
 * such chain.
 */
bool v8_stack_weave(struct runtimes *runtimes, struct runtime_target *target, uint64_t hash,
		    const uint64_t *frames, struct stack_draft *draft);

#endif
