/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the programs tell of runtimes, each to whoever knows it. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_RUNTIME_EVENTS_H
#define MEMLEAKBPF_TRACE_RUNTIME_EVENTS_H

#include "bpf/abi.h"
#include "user/trace/target.h"

/* One of EVENT_RUNTIME_CHAIN to EVENT_PERL_FAILED. */
void runtime_event_handle(struct trace *trace, const struct event_header *header);

#endif
