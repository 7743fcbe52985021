/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processes wait for us inside the kernel (bpf/hold.h): we come first, and each goes on as soon as it has been seen to. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_HURRY_H
#define MEMLEAKBPF_TRACE_HURRY_H

#include <stddef.h>

#include "user/trace/event_queue.h"
#include "user/trace/trace.h"

/* Before these are handled: our priority, for as long as processes are held. */
void hurry_choose(struct trace *trace, const struct queued_event *events, size_t count);

/* All before the next one has been handled. */
void hurry_answer_until(struct trace *trace, const struct queued_event *next);

#endif
