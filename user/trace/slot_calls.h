/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The stack that a slot stands for, in what is reported of a call. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_SLOT_CALLS_H
#define MEMLEAKBPF_TRACE_SLOT_CALLS_H

#include "user/model/reported_call.h"
#include "user/trace/state.h"

/* Not known where the slot is ABI_NO_SLOT. */
void slot_call_fill(struct reported_call *call, const struct trace *trace, uint32_t target_id,
		    uint32_t slot);

#endif
