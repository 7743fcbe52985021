/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Targets that run CRuby: the programs are told of it. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_RUBY_ROWS_H
#define MEMLEAKBPF_TRACE_RUBY_ROWS_H

#include "bpf/runtime/ruby_abi.h"
#include "user/trace/target.h"

/* Is there a Ruby in the target's image? Each time that it has changed. Failures are logged. */
void ruby_rows_look(struct trace *trace, struct target *target);

/* Nothing more is wanted of the target's Ruby. */
void ruby_rows_drop(struct trace *trace, uint32_t target_id);

/* The programs cannot follow its frames. */
void ruby_rows_failed(const struct trace *trace, const struct runtime_failed_event *event);

#endif
