/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What frames of PHP's are called, as the programs have copied it. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_PHP_NAMES_H
#define MEMLEAKBPF_TRACE_PHP_NAMES_H

#include "bpf/runtime/php_abi.h"
#include "user/stacks/stacks.h"
#include "user/trace/target.h"

void php_names_add(struct trace *trace, struct target *target, const struct php_code_event *event);

/* As python_stack_weave(): a call of execute_ex() stands for the functions of PHP's that it runs, up to the one that C has called. */
bool php_names_weave(struct trace *trace, const struct target *target, uint64_t runtime,
		     struct stack_draft *draft);

#endif
