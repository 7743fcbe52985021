// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Walks over all live allocations inside the kernel, on our own time and not the target's: for the ages that counters cannot tell, and to
 * clear out targets that have ended. One walk reads a million entries in tens of milliseconds, without a copy to user space.
 */
#include "bpf/loss.h"

/* Written by one walk at a time (user space reads the iterator from one thread), so no atomics. */
SEC("iter/bpf_map_elem")
int live_ages(struct bpf_iter__bpf_map_elem *ctx)
{
	struct live_key *key = ctx->key;
	struct live_value *value = ctx->value;
	struct slot_age *age;
	uint64_t born;
	uint32_t slot;

	if (!key || !value)
		return 0;
	slot = value->slot;
	age = bpf_map_lookup_elem(&slot_ages, &slot);
	if (!age)
		return 0;
	born = config.start_ns + ((uint64_t)value->time << ABI_TIME_SHIFT);
	if (!age->oldest_ns || born < age->oldest_ns)
		age->oldest_ns = born;
	if (bpf_ktime_get_ns() - born >= config.older_ns) {
		age->older_bytes += value->size;
		age->older_count++;
	}
	return 0;
}

/* Removes the blocks of targets that have been reported for the last time: those with a bit set in ended_targets. */
SEC("iter/bpf_map_elem")
int live_sweep(struct bpf_iter__bpf_map_elem *ctx)
{
	struct live_key *key = ctx->key;
	struct live_key copy;
	struct target_stats *stats;

	if (!key || !ctx->value)
		return 0;
	copy = *key;
	stats = target_stats_of(copy.target_id);
	if (stats && stats->swept_id == copy.target_id)
		bpf_map_delete_elem(&live, &copy);
	return 0;
}
