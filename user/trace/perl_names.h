/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What frames of Perl's are called, as the programs have copied it. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_PERL_NAMES_H
#define MEMLEAKBPF_TRACE_PERL_NAMES_H

#include "bpf/runtime/perl_abi.h"
#include "user/stacks/stacks.h"
#include "user/trace/target.h"

void perl_names_add(struct trace *trace, struct target *target,
		    const struct perl_code_event *event);

/* As python_stack_weave(): a call of Perl_runops_standard() stands for the subroutines that it runs, up to the one that C has called. */
bool perl_names_weave(struct trace *trace, const struct target *target, uint64_t runtime,
		      struct stack_draft *draft);

#endif
