/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The functions of a target's runtimes in a stack. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_STACK_WEAVE_H
#define MEMLEAKBPF_TRACE_STACK_WEAVE_H

#include "bpf/abi.h"
#include "user/stacks/stacks.h"
#include "user/trace/target.h"

/*
 * Has the functions of runtimes put in the draft, of one after the other: V8's while there is a place for each frame still. False:
 * nothing is known of them, and it is as the walk has found it. `frames`: the addresses of the draft's places.
 */
bool stack_weave(struct trace *trace, const struct target *target,
		 const struct runtime_hashes *runtime, const uint64_t *frames,
		 struct stack_draft *draft);

#endif
