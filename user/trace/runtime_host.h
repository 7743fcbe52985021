/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A trace as user/runtime sees it, and what it is told of languages. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_RUNTIME_HOST_H
#define MEMLEAKBPF_TRACE_RUNTIME_HOST_H

#include "bpf/abi.h"
#include "user/trace/target.h"

/* trace->runtimes, once the programs are loaded. 0 or -ENOMEM. */
int runtime_host_new(struct trace *trace);

/* Takes in what a language tells: event_is_of_runtime(). What nobody would take away is left alone. */
void runtime_host_event(struct trace *trace, const struct event_header *header);

#endif
