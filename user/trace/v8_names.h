/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What JavaScript's functions are called, and the lines in which they begin. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_V8_NAMES_H
#define MEMLEAKBPF_TRACE_V8_NAMES_H

#include "bpf/v8_abi.h"
#include "user/trace/stacks.h"
#include "user/trace/target.h"

/*
 * Takes down the function that the kernel has told of, and the lines of its calls; its script's text is read from the target, once. What
 * of that cannot be read is counted, and has no line.
 */
void v8_names_add(struct trace *trace, struct target *target,
		  const struct v8_function_event *event);

/*
 * Names the places of a walk, one for each of its addresses `frames`, that the functions of the chain with the hash `runtime` are
 * at. False: there is no such chain.
 */
bool v8_names_weave(struct trace *trace, const struct target *target, const uint64_t *frames,
		    uint64_t runtime, struct stack_draft *draft);

#endif
