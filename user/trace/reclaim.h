/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Clearing out what ended targets leave in the kernel. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_RECLAIM_H
#define MEMLEAKBPF_TRACE_RECLAIM_H

#include "user/trace/state.h"

/* Clears slots, stacks and blocks of the ended targets and frees them. */
void reclaim_ended(struct trace *trace);
/* The same once enough have ended: each clearing walks the whole live map. */
void reclaim_many(struct trace *trace);

#endif
