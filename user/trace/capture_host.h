/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What user/blocks and user/capture are handed of a trace. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_CAPTURE_HOST_H
#define MEMLEAKBPF_TRACE_CAPTURE_HOST_H

#include "user/trace/state.h"

/* Sets trace->blocks, after trace->slots. 0 or -ENOMEM. */
int capture_host_new_blocks(struct trace *trace);
/* Sets trace->captures, once it is known whether the kernel tells ages. 0 or -ENOMEM. */
int capture_host_new(struct trace *trace);

#endif
