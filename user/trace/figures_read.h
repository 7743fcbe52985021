/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel side keeps of stacks beside their counters, where options.figures ask for it:
 * bpf/figures.h. Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_FIGURES_READ_H
#define MEMLEAKBPF_TRACE_FIGURES_READ_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/config.h"
#include "user/trace/state.h"

/* Before loading: the programs' constants and the maps' sizes. 0 or -errno. */
int figures_configure(struct trace *trace);

/* A slot has been given back: nothing is left of its stack. */
void figures_release_slot(struct trace *trace, uint32_t slot);

/* Before a walk over the live blocks: how old one is that has outlived its stack's. */
void figures_before_walk(struct trace *trace);

/*
 * The figures of the snapshot's stacks. `by_slot`: which of them a slot belongs to, UINT32_MAX: none,
 * for `slots` slots. `walked`: the last walk is good for it. `clock`: the
 * kernel's, now. 0 or -ENOMEM.
 */
int figures_read(struct trace *trace, const struct target *target, struct snapshot *snapshot,
		 const uint32_t *by_slot, uint32_t slots, bool walked,
		 const struct live_clock *clock);

#endif
