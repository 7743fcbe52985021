/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What frames of Ruby's are called, as the programs have copied it. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_RUBY_NAMES_H
#define MEMLEAKBPF_TRACE_RUBY_NAMES_H

#include "bpf/runtime/ruby_abi.h"
#include "user/stacks/stacks.h"
#include "user/trace/target.h"

void ruby_names_add(struct trace *trace, struct target *target,
		    const struct ruby_code_event *event);

/* As python_stack_weave(): a call of rb_vm_exec() stands for the frames of Ruby's that it runs, up to the one that C has called. */
bool ruby_names_weave(struct trace *trace, const struct target *target, uint64_t runtime,
		      struct stack_draft *draft);

#endif
