/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Counts what could not be recorded. Every map update that can fail ends here. */
#ifndef MEMLEAKBPF_BPF_LOSS_H
#define MEMLEAKBPF_BPF_LOSS_H

#include "bpf/config.h"
#include "bpf/bpf_maps.h"

static __always_inline struct target_stats *target_stats_of(uint32_t target_id)
{
	uint32_t row = target_id % ABI_TARGET_SLOTS;

	return bpf_map_lookup_elem(&target_stats, &row);
}

static __always_inline void count_lost(uint32_t target_id, enum lost_cause cause)
{
	struct target_stats *stats = target_stats_of(target_id);

	if (stats)
		__sync_fetch_and_add(&stats->lost[cause], 1);
}

/* A stack is walked since the thread does not remember it: `-v` says how often that is so. */
static __always_inline void count_walk(uint32_t target_id)
{
	struct target_stats *stats = target_stats_of(target_id);

	if (stats)
		__sync_fetch_and_add(&stats->walks, 1);
}

/* For losses that belong to no target: shown with each. */
static __always_inline void count_lost_anywhere(enum lost_cause cause)
{
	__sync_fetch_and_add(&shared.lost[cause], 1);
}

#endif
