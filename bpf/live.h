/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The books: live allocations by (target, address), and the counters of their stacks. */
#ifndef MEMLEAKBPF_BPF_LIVE_H
#define MEMLEAKBPF_BPF_LIVE_H

#include "bpf/figures.h"
#include "bpf/loss.h"
#include "bpf/mapped.h"
#include "bpf/peak.h"
#include "bpf/sample.h"

#define ERR_EXIST 17

/*
 * Both compute the same weight from the size, so a free takes away what its block has added, to the
 * last bit.
 */
static __always_inline void count_alloc(uint32_t slot, uint64_t bytes, uint64_t level)
{
	struct stack_counters *c = bpf_map_lookup_elem(&counters, &slot);
	uint64_t weight;

	if (!c)
		return;
	if (!config.sample_bytes) {
		__sync_fetch_and_add(&c->alloc_bytes, bytes);
		__sync_fetch_and_add(&c->alloc_count, 1);
		peak_add(slot, c, bytes);
		return;
	}
	weight = sample_weight_at(bytes, level);
	__sync_fetch_and_add(&c->alloc_bytes, (bytes * weight) >> 16);
	__sync_fetch_and_add(&c->alloc_count, weight);
	__sync_fetch_and_add(&c->variance, sample_variance_at(bytes, weight, level));
	peak_add(slot, c, (bytes * weight) >> 16);
}

static __always_inline void count_free(uint32_t slot, uint64_t bytes, uint64_t level)
{
	struct stack_counters *c = bpf_map_lookup_elem(&counters, &slot);
	uint64_t weight;

	if (!c)
		return;
	if (!config.sample_bytes) {
		__sync_fetch_and_add(&c->free_bytes, bytes);
		__sync_fetch_and_add(&c->free_count, 1);
		peak_take(slot, bytes);
		return;
	}
	weight = sample_weight_at(bytes, level);
	__sync_fetch_and_add(&c->free_bytes, (bytes * weight) >> 16);
	__sync_fetch_and_add(&c->free_count, weight);
	__sync_fetch_and_add(&c->variance, -sample_variance_at(bytes, weight, level));
	peak_take(slot, (bytes * weight) >> 16);
}

static __always_inline struct stack_counters *counters_of(const struct live_value *block)
{
	uint32_t room;

	return bpf_map_lookup_elem(&counters, live_slot_key(block, &room));
}

/* The same for a block with a weight from the target. */
static __always_inline uint64_t live_weighed_count(const struct live_value *block)
{
	return block->size ? (block->weighed << 16) / block->size : SAMPLE_ONE;
}

static __always_inline void count_alloc_of(const struct live_value *block)
{
	struct stack_counters *c;

	if (!live_weighed(block)) {
		count_alloc(live_slot(block), block->size, live_level(block));
		return;
	}
	c = counters_of(block);
	if (!c)
		return;
	__sync_fetch_and_add(&c->alloc_bytes, block->weighed);
	__sync_fetch_and_add(&c->alloc_count, live_weighed_count(block));
	peak_add(live_slot(block), c, block->weighed);
}

static __always_inline void count_free_of(const struct live_value *block)
{
	struct stack_counters *c;

	scope_count_free(block);
	if (!live_weighed(block)) {
		count_free(live_slot(block), block->size, live_level(block));
		return;
	}
	c = counters_of(block);
	if (!c)
		return;
	__sync_fetch_and_add(&c->free_bytes, block->weighed);
	__sync_fetch_and_add(&c->free_count, live_weighed_count(block));
	peak_take(live_slot(block), block->weighed);
}

/* Takes back count_free_of(): the block was not freed. */
static __always_inline void count_kept(const struct live_value *block)
{
	struct stack_counters *c = counters_of(block);
	uint64_t weight = sample_weight_at(block->size, live_level(block)),
		 bytes = (block->size * weight) >> 16;

	scope_count_kept(block);
	if (!c)
		return;
	if (live_weighed(block)) {
		bytes = block->weighed;
		weight = live_weighed_count(block);
	} else if (!config.sample_bytes) {
		weight = 1;
	}
	__sync_fetch_and_add(&c->free_bytes, -bytes);
	__sync_fetch_and_add(&c->free_count, -weight);
	peak_add(live_slot(block), c, bytes);
	if (!live_weighed(block))
		__sync_fetch_and_add(&c->variance,
				     sample_variance_at(block->size, weight, live_level(block)));
}

/* Only new_bytes are left of the block, which lives on. A weighed block stands for itself alone. */
static __always_inline void count_cut(struct live_value *block, uint64_t new_bytes)
{
	struct stack_counters *c = counters_of(block);

	scope_count_resized(block, new_bytes);
	if (config.sample_bytes && !live_weighed(block)) {
		count_free(live_slot(block), block->size, live_level(block));
		count_alloc(live_slot(block), new_bytes, live_level(block));
	} else if (c) {
		__sync_fetch_and_add(&c->free_bytes, block->size - new_bytes);
		peak_take(live_slot(block), block->size - new_bytes);
	}
	if (live_weighed(block))
		block->weighed = new_bytes;
	block->size = new_bytes;
}

/* The block is larger by now. Not for a block weighed by its size: it may stand for others. */
static __always_inline void count_grown(struct live_value *block, uint64_t new_bytes)
{
	struct stack_counters *c = counters_of(block);

	scope_count_resized(block, new_bytes);
	if (c) {
		__sync_fetch_and_add(&c->alloc_bytes, new_bytes - block->size);
		peak_add(live_slot(block), c, new_bytes - block->size);
	}
	if (live_weighed(block))
		block->weighed = new_bytes;
	block->size = new_bytes;
}

/*
 * Counts a free or resize of a block that is not in the books; under sampling that is the rule and
 * means nothing.
 */
static __always_inline void count_unknown_free(uint32_t target_id)
{
	struct target_stats *stats =
		config.sample_bytes || SCOPES_ONLY ? NULL : target_stats_of(target_id);

	if (stats)
		__sync_fetch_and_add(&stats->unknown_frees, 1);
}

/* With config.sample_levels. */
static __always_inline void live_count_sample(uint32_t target_id, int64_t change)
{
	struct target_stats *stats = config.sample_levels ? target_stats_of(target_id) : NULL;

	if (stats)
		__sync_fetch_and_add(&stats->live_samples, change);
}

/* The filter's counter for a block. */
static __always_inline uint32_t *live_filter_of(const struct live_key *key)
{
	uint32_t i = live_filter_row(key->address, key->target_id);

	return bpf_map_lookup_elem(&live_filter, &i);
}

/*
 * False: certainly not there. A block is counted before the program gets its address, so no free
 * comes too early.
 */
static __always_inline bool live_may_have(const struct live_key *key)
{
	uint32_t *n = config.sample_bytes ? live_filter_of(key) : NULL;

	return !n || *(volatile uint32_t *)n;
}

static __always_inline void live_filter_add(const struct live_key *key, uint32_t n)
{
	uint32_t *count = config.sample_bytes ? live_filter_of(key) : NULL;

	if (count)
		__sync_fetch_and_add(count, n);
}

/*
 * Everything enters the live map here, and leaves it by live_remove(). `flags` are for the update;
 * 0 or -errno.
 */
static __always_inline long live_put(const struct live_key *key, const struct live_value *value,
				     uint64_t flags)
{
	long err = bpf_map_update_elem(&live, key, value, flags);

	if (!err) {
		live_filter_add(key, 1);
		mapped_count(key, 1);
		mapped_note_size(key, value->size);
		live_count_sample(key->target_id, 1);
	}
	return err;
}

static __always_inline long live_remove(const struct live_key *key)
{
	long err = bpf_map_delete_elem(&live, key);

	if (!err) {
		live_filter_add(key, -1);
		mapped_count(key, -1);
		live_count_sample(key->target_id, -1);
	}
	return err;
}

/* Notes it before its removal: the reader finds it in the table or among the notes. */
static __always_inline void live_note(const struct live_key *key, const struct live_value *value)
{
	struct noted_free note = {.address = key->address, .value = *value};

	if (!config.note_frees || *(volatile uint32_t *)&shared.noted_target != key->target_id)
		return;
	if (bpf_ringbuf_output(&noted_frees, &note, sizeof(note), BPF_RB_NO_WAKEUP))
		__sync_fetch_and_add(&shared.notes_lost, 1);
}

/*
 * Takes a block out of the live map. True and *out filled when it was there; if two race for one
 * block, only one gets it. The caller changes the counters.
 */
static __always_inline bool live_take(uint32_t target_id, uint64_t address, struct live_value *out)
{
	struct live_key key = {.address = address, .target_id = target_id};
	struct live_value *value;

	if (!live_may_have(&key))
		return false;
	value = bpf_map_lookup_elem(&live, &key);
	if (!value)
		return false;
	*out = *value;
	live_note(&key, out);
	return live_remove(&key) == 0;
}

static __always_inline bool live_has(uint32_t target_id, uint64_t address)
{
	struct live_key key = {.address = address, .target_id = target_id};

	return bpf_map_lookup_elem(&live, &key) != NULL;
}

/*
 * Enters a new block and counts it. If the address is still live, its free was not seen (code
 * without probes made it): closes the old block, and counts that. The new one is the thread's last
 * block from then on.
 */
static __always_inline void live_insert(struct thread_state *thread, uint32_t target_id,
					uint64_t address, uint64_t size, uint64_t weighed,
					uint32_t slot, bool replaces)
{
	struct live_key key = {.address = address, .target_id = target_id};
	uint64_t now = live_fine_now();
	struct live_value value = {.size = size,
				   .slot = live_slot_stamped(slot, now),
				   .time = live_now(now),
				   .weighed = weighed};
	long err = live_put(&key, &value, BPF_NOEXIST);

	temporary_born(thread, address, &value);
	if (err == -ERR_EXIST) {
		struct live_value *old = bpf_map_lookup_elem(&live, &key);

		if (old) {
			count_free_of(old);
			live_note(&key, old);
		}
		if (!replaces)
			count_lost(target_id, LOST_MISSED_FREE);
		live_remove(&key);
		err = live_put(&key, &value, BPF_ANY);
	}
	if (err) {
		count_lost(target_id, LOST_LIVE_FULL);
		return;
	}
	count_alloc_of(&value);
	scope_count_alloc(&value);
}

#endif
