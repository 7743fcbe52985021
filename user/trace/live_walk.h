/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Going over all live blocks of all targets. A program of the kernel does it where the kernel lets
 * us load and run one (bpf/walk_live.bpf.c). Elsewhere user space reads the map in slices, which
 * takes some ten times as long. Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_LIVE_WALK_H
#define MEMLEAKBPF_TRACE_LIVE_WALK_H

#include "user/trace/state.h"

/* The clock that ages are told by: it is in the programs' shared.clock then. 0 or -errno. */
int live_walk_clock(struct trace *trace);

/*
 * Fills in trace->slots->ages, which the caller has cleared, by the clock of live_walk_clock(); and
 * those that have outlived others with lifetimes. 0 or -errno.
 */
int live_walk_ages(struct trace *trace);

/* Removes the blocks of targets whose target_stats.swept_id says so. 0 or -errno. */
int live_walk_sweep(struct trace *trace);

#endif
