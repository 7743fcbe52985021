/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sizes of each stack's live blocks (--sizes). They are read out of the map of blocks only when
 * somebody asks for them, so the target pays nothing.
 */
#ifndef MEMLEAKBPF_FIGURES_SIZES_READ_H
#define MEMLEAKBPF_FIGURES_SIZES_READ_H

#include <stdint.h>

#include "bpf/config.h"
#include "user/figures/size_rows.h"

/*
 * Fills in the sizes of the snapshot's stacks, whose figures are there; `by_slot` and `slots` as for
 * figures_read(). With options.group_sizes `rows` gets them as well, with ages by the clock (NULL: they
 * are not known), and there is no waiting. What the process allocates and frees meanwhile may be in them or not. -EAGAIN: not
 * again so soon, to save time; or -errno, not logged.
 */
int sizes_read(struct figures *figures, uint32_t target_id, struct snapshot *snapshot,
	       const uint32_t *by_slot, uint32_t slots, const struct live_clock *clock,
	       struct size_rows *rows);

#endif
