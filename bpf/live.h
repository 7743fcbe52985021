/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The books: live allocations by (target, address), and the counters of their stacks. */
#ifndef MEMLEAKBPF_BPF_LIVE_H
#define MEMLEAKBPF_BPF_LIVE_H

#include "bpf/loss.h"
#include "bpf/sample.h"

#define ERR_EXIST 17

static __always_inline uint32_t live_now(void)
{
	return (bpf_ktime_get_ns() - config.start_ns) >> ABI_TIME_SHIFT;
}

/* Both compute the same weight from the size, so what a block has added its free takes away to the last bit. */
static __always_inline void count_alloc(uint32_t slot, uint64_t bytes)
{
	struct stack_counters *c = bpf_map_lookup_elem(&counters, &slot);
	uint64_t weight;

	if (!c)
		return;
	if (!config.sample_bytes) {
		__sync_fetch_and_add(&c->alloc_bytes, bytes);
		__sync_fetch_and_add(&c->alloc_count, 1);
		return;
	}
	weight = sample_weight(bytes);
	__sync_fetch_and_add(&c->alloc_bytes, (bytes * weight) >> 16);
	__sync_fetch_and_add(&c->alloc_count, weight);
	__sync_fetch_and_add(&c->variance, sample_variance(bytes, weight));
}

static __always_inline void count_free(uint32_t slot, uint64_t bytes)
{
	struct stack_counters *c = bpf_map_lookup_elem(&counters, &slot);
	uint64_t weight;

	if (!c)
		return;
	if (!config.sample_bytes) {
		__sync_fetch_and_add(&c->free_bytes, bytes);
		__sync_fetch_and_add(&c->free_count, 1);
		return;
	}
	weight = sample_weight(bytes);
	__sync_fetch_and_add(&c->free_bytes, (bytes * weight) >> 16);
	__sync_fetch_and_add(&c->free_count, weight);
	__sync_fetch_and_add(&c->variance, -sample_variance(bytes, weight));
}

/* A part of the block is gone, the block itself lives on. */
static __always_inline void count_cut(uint32_t slot, uint64_t old_bytes, uint64_t new_bytes)
{
	struct stack_counters *c = bpf_map_lookup_elem(&counters, &slot);

	if (config.sample_bytes) {
		count_free(slot, old_bytes);
		count_alloc(slot, new_bytes);
	} else if (c) {
		__sync_fetch_and_add(&c->free_bytes, old_bytes - new_bytes);
	}
}

/* A free or resize of a block that is not in the books; under sampling that is the rule and means nothing. */
static __always_inline void count_unknown_free(uint32_t target_id)
{
	struct target_stats *stats = config.sample_bytes ? NULL : target_stats_of(target_id);

	if (stats)
		__sync_fetch_and_add(&stats->unknown_frees, 1);
}

/*
 * Takes a block out of the live map. True and *out filled when it was there; of two that race for one block only one gets it. The counters
 * are the caller's business.
 */
static __always_inline bool live_take(uint32_t target_id, uint64_t address, struct live_value *out)
{
	struct live_key key = {.address = address, .target_id = target_id};
	struct live_value *value = bpf_map_lookup_elem(&live, &key);

	if (!value)
		return false;
	*out = *value;
	return bpf_map_delete_elem(&live, &key) == 0;
}

static __always_inline bool live_has(uint32_t target_id, uint64_t address)
{
	struct live_key key = {.address = address, .target_id = target_id};

	return bpf_map_lookup_elem(&live, &key) != NULL;
}

/*
 * Enters a new block and counts it. An address that is still live means that its free was not seen (made by code that is
 * not probed): the old block is closed, and that is counted.
 */
static __always_inline void live_insert(uint32_t target_id, uint64_t address, uint64_t size,
					uint32_t slot, bool replaces)
{
	struct live_key key = {.address = address, .target_id = target_id};
	struct live_value value = {.size = size, .slot = slot, .time = live_now()};
	long err = bpf_map_update_elem(&live, &key, &value, BPF_NOEXIST);

	if (err == -ERR_EXIST) {
		struct live_value *old = bpf_map_lookup_elem(&live, &key);

		if (old)
			count_free(old->slot, old->size);
		if (!replaces)
			count_lost(target_id, LOST_MISSED_FREE);
		err = bpf_map_update_elem(&live, &key, &value, BPF_ANY);
	}
	if (err)
		count_lost(target_id, LOST_LIVE_FULL);
	else
		count_alloc(slot, size);
}

#endif
