/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Targets that have V8: the programs are told where it has what its functions are. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_V8_ROWS_H
#define MEMLEAKBPF_TRACE_V8_ROWS_H

#include "bpf/runtime/v8_abi.h"
#include "user/trace/target.h"

/* Is there V8 in the target's image? Each time that this has changed. Failures are logged. */
void v8_rows_look(struct trace *trace, struct target *target);

/* Nothing more is wanted of the target's V8. */
void v8_rows_drop(struct trace *trace, uint32_t target_id);

/* The programs cannot follow its frames. */
void v8_rows_failed(const struct trace *trace, const struct runtime_failed_event *event);

#endif
