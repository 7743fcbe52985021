/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Python's functions among the C functions of a stack. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_PYTHON_STACK_H
#define MEMLEAKBPF_TRACE_PYTHON_STACK_H

#include "bpf/abi.h"
#include "bpf/runtime/python_abi.h"
#include "user/stacks/stacks.h"
#include "user/trace/target.h"

/*
 * Puts the Python functions with the hash `python` in the draft. draft->end is set where the stack does not go on. False: there
 * is no such chain.
 *
 * A call of CPython's evaluating function stands for the Python functions that it runs, up to the one that C
 * has called. Unless options.native_frames is set, it and the other functions of CPython that
 * lie between Python functions and behind them are left out.
 */
bool python_stack_weave(struct trace *trace, const struct target *target, uint64_t python,
			struct stack_draft *draft);

#endif
