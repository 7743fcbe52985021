/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Taking probes off. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_DETACH_H
#define MEMLEAKBPF_TRACE_DETACH_H

#include "user/trace/state.h"

/*
 * attachment_free(). Without a bin for links we wait meanwhile until running programs have ended,
 * those too that wait for us: they go on at once.
 */
void trace_detach(struct trace *trace, struct attachment *attachment);

#endif
