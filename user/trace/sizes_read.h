/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sizes of each stack's live blocks (--sizes): read out of the table of blocks when they are asked
 * for, so that the target pays nothing. Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_SIZES_READ_H
#define MEMLEAKBPF_TRACE_SIZES_READ_H

#include <stdint.h>

#include "user/trace/state.h"

/*
 * Fills in the sizes of the snapshot's stacks, whose figures are there; `by_slot` and `slots` as for
 * figures_read(). What the process allocates and frees meanwhile may be in them or not. -EAGAIN: not
 * again so soon, to save time; or -errno, not logged.
 */
int sizes_read(struct trace *trace, uint32_t target_id, struct snapshot *snapshot,
	       const uint32_t *by_slot, uint32_t slots);

#endif
