/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Targets that have a JVM: the programs are told of its code. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_JAVA_ROWS_H
#define MEMLEAKBPF_TRACE_JAVA_ROWS_H

#include "bpf/runtime/hotspot_abi.h"
#include "user/trace/target.h"

/*
 * Is there a JVM in the target's image, and is it so far that its code can be told of? Each time that the image has changed, and
 * at reports, for it comes into being after its library. Failures are logged.
 */
void java_rows_look(struct trace *trace, struct target *target);

/* Is it known where the target's JVM has its code? Looks where it was not. */
bool java_rows_ready(struct trace *trace, struct target *target);

/* Nothing more is wanted of the target's JVM. */
void java_rows_drop(struct trace *trace, uint32_t target_id);

/* The programs cannot follow its frames. */
void java_rows_failed(const struct trace *trace, const struct runtime_failed_event *event);

#endif
