/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Python's functions among the C functions of a stack. Private to user/runtime/python. */
#ifndef MEMLEAKBPF_RUNTIME_PYTHON_STACK_H
#define MEMLEAKBPF_RUNTIME_PYTHON_STACK_H

#include "user/runtime/runtime_ops.h"

/* For runtime_ops.weave: see interpreter_stack_weave(). */
bool python_stack_weave(struct runtimes *runtimes, struct runtime_target *target, uint64_t hash,
			const uint64_t *frames, struct stack_draft *draft);

#endif
