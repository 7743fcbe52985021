/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Python's functions among the C functions of a stack. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_PYTHON_STACK_H
#define MEMLEAKBPF_TRACE_PYTHON_STACK_H

#include "bpf/abi.h"
#include "bpf/python_abi.h"
#include "user/trace/stacks.h"
#include "user/trace/target.h"

#define RUNTIME_STACK_MAX (ABI_MAX_FRAMES + RUNTIME_MAX_CALLS)

/*
 * Puts together what the walk has found (`count` locations) and the Python functions with the hash
 * `python`, into `places`, and returns how many there are. *id, which is the walk's, becomes the
 * stack's own: over what the functions are called, and not where they lie. *end is set where the stack does
 * not go on.
 *
 * A call of CPython's evaluating function stands for the Python functions that it runs, up to the one that C
 * has called. Unless options.native_frames is set, it and the other functions of CPython that
 * lie between Python functions and behind them are left out.
 */
size_t python_stack_weave(struct trace *trace, const struct target *target,
			  const struct location *locations, size_t count, uint64_t python,
			  struct stack_place places[static RUNTIME_STACK_MAX], uint64_t *id,
			  uint8_t *end);

#endif
