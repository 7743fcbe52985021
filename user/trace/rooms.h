/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Hands maps and programs of the BPF object to the rooms below, which read what the programs keep
 * in the kernel. These are stacks, figures, blocks, misuse, patch and capture. Private to
 * user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_ROOMS_H
#define MEMLEAKBPF_TRACE_ROOMS_H

#include "user/trace/state.h"

/* Before loading: constants of the programs and sizes of maps, by what is kept. 0 or -errno. */
int rooms_configure(struct trace *trace);

/* After loading. 0 or -errno, logged but for -ENOMEM. rooms_free() in any case. */
int rooms_start(struct trace *trace);
void rooms_free(struct trace *trace);

#endif
