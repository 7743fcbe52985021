/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How a target ends: its status or signal, and what it was killed for. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_TARGET_ENDS_H
#define MEMLEAKBPF_TRACE_TARGET_ENDS_H

#include "bpf/abi.h"
#include "user/trace/target.h"

/* Keeps what its end is to be compared with; from the time on that it is traced. */
void target_ends_begin(struct target *target);

/* `end`: as struct process_event has it. `sent`: the last signal to it. */
void target_ends_note(struct target *target, uint32_t end, const struct signal_sent *sent);

#endif
