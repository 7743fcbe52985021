/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Targets that run Perl: the programs are told of it. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_PERL_ROWS_H
#define MEMLEAKBPF_TRACE_PERL_ROWS_H

#include "bpf/runtime/perl_abi.h"
#include "user/trace/target.h"

/* Is there a Perl in the target's image? Each time that it has changed. Failures are logged. */
void perl_rows_look(struct trace *trace, struct target *target);

/* Nothing more is wanted of the target's Perl. */
void perl_rows_drop(struct trace *trace, uint32_t target_id);

/* The programs cannot follow its frames. */
void perl_rows_failed(const struct trace *trace, const struct runtime_failed_event *event);

#endif
