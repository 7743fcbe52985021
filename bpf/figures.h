/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Figures of each stack beside its counters: how long its blocks lived, and how many of them were
 * temporary. They are kept on request, by programs of their own (figures.bpf.c). The usual programs
 * have none of this, not even a test.
 */
#ifndef MEMLEAKBPF_BPF_FIGURES_H
#define MEMLEAKBPF_BPF_FIGURES_H

#include "bpf/config.h"
#include "bpf/figures_maps.h"
#include "bpf/sample.h"
#include "bpf/scope_books.h"

#ifdef MEMLEAKBPF_FIGURES
#define FIGURES(kind) (config.kind)
#else
#define FIGURES(kind) false
#endif

/* ---- the slot and the birth of a block ---------------------------------------------------- */

static __always_inline uint32_t live_slot(const struct live_value *block)
{
	return FIGURES(lifetimes) ? block->slot & LIVE_SLOT_MASK : block->slot;
}

/* The same, as a map's key; `room` is for a slot that has to be computed. */
static __always_inline const uint32_t *live_slot_key(const struct live_value *block, uint32_t *room)
{
	if (!FIGURES(lifetimes))
		return &block->slot;
	*room = live_slot(block);
	return room;
}

/* Reading the kernel's ticks takes no time, bpf_ktime_get_ns() 35 ns. */
static __always_inline uint64_t live_fine_now(void)
{
	return FIGURES(lifetimes) ? bpf_ktime_get_ns() : 0;
}

/* live_value.time of a block that is allocated at live_fine_now(), */
static __always_inline uint32_t live_now(uint64_t fine)
{
	return (uint32_t)(FIGURES(lifetimes) ? fine >> LIVE_TIME_SHIFT : bpf_jiffies64());
}

/* and its live_value.slot. */
static __always_inline uint32_t live_slot_stamped(uint32_t slot, uint64_t now)
{
	if (!FIGURES(lifetimes))
		return slot;
	return (slot & LIVE_SLOT_MASK) | (uint32_t)(now >> LIVE_FINE_SHIFT) << LIVE_SLOT_BITS;
}

/* How many blocks it stands for, in the units of the counters. */
static __always_inline uint64_t figure_weight(const struct live_value *block)
{
	if (live_weighed(block))
		return block->size ? (block->weighed << 16) / block->size : SAMPLE_ONE;
	return config.sample_bytes ? sample_weight_at(block->size, live_level(block)) : 1;
}

static __always_inline uint64_t figure_bytes(const struct live_value *block)
{
	if (live_weighed(block))
		return block->weighed;
	return config.sample_bytes
		       ? (block->size * sample_weight_at(block->size, live_level(block))) >> 16
		       : block->size;
}

/* ---- lifetimes ---------------------------------------------------------------------------- */

/* Powers of two of microseconds: slot_lifetimes.freed. */
static __always_inline uint32_t lifetime_bucket(const struct live_value *block)
{
	const uint64_t mask = (1ull << (32 + LIVE_FINE_BITS)) - 1;
	uint64_t born = (uint64_t)block->time << LIVE_FINE_BITS | block->slot >> LIVE_SLOT_BITS;
	uint64_t lived = ((bpf_ktime_get_ns() >> LIVE_FINE_SHIFT) - born) & mask;
	uint32_t us, bucket = 0;

	/* A unit is 1.024 us. */
	lived = lived * 131 >> 7;
	if (lived >> LIFETIME_BUCKETS)
		return LIFETIME_BUCKETS - 1;
	us = (uint32_t)lived;
#define LIFETIME_SHIFT(bits)      \
	if (us >> (bits)) {       \
		us >>= (bits);    \
		bucket += (bits); \
	}
	LIFETIME_SHIFT(16)
	LIFETIME_SHIFT(8)
	LIFETIME_SHIFT(4)
	LIFETIME_SHIFT(2)
	LIFETIME_SHIFT(1)
#undef LIFETIME_SHIFT
	return bucket;
}

static __always_inline void lifetime_count(const struct live_value *block, uint32_t bucket,
					   uint64_t count)
{
	uint32_t row = live_slot(block) * config.lifetimes +
		       (bpf_get_smp_processor_id() & (config.lifetimes - 1));
	struct slot_lifetimes *lifetimes = bpf_map_lookup_elem(&slot_lifetimes, &row);

	/* Blocks without a stack have no row. */
	if (lifetimes && bucket < LIFETIME_BUCKETS)
		__sync_fetch_and_add(&lifetimes->freed[bucket], count);
}

/* ---- temporary blocks --------------------------------------------------------------------- */

/*
 * Makes a block the thread's last one. That it stays until the next allocation, whatever the thread
 * frees.
 */
static __always_inline void temporary_born(struct thread_state *thread, uint64_t address,
					   const struct live_value *block)
{
	if (!FIGURES(temporary) || !thread)
		return;
	thread->last.address = address;
	thread->last.slot = block->slot;
	thread->last.time = block->time;
}

/*
 * The thread allocates something, recorded or not. A resized block (0: none) is looked at once the
 * resize is known to have succeeded.
 */
static __always_inline void temporary_passed(struct thread_state *thread, uint64_t resized)
{
	if (FIGURES(temporary) && thread && (!resized || thread->last.address != resized))
		thread->last.address = 0;
}

/*
 * Is the block the thread's last one? Another thread may have freed that, and got its address for a
 * block of its own.
 */
static __always_inline bool temporary_is(const struct thread_state *thread, uint64_t address,
					 const struct live_value *block)
{
	return thread->last.address == address && thread->last.slot == block->slot &&
	       thread->last.time == block->time;
}

static __always_inline void temporary_count(const struct live_value *block, int64_t sign)
{
	uint64_t weight = figure_weight(block);
	uint32_t slot = live_slot(block);
	struct slot_temporary *row = bpf_map_lookup_elem(&slot_temporaries, &slot);

	if (!row)
		return;
	__sync_fetch_and_add(&row->bytes, figure_bytes(block) * sign);
	__sync_fetch_and_add(&row->count, weight * sign);
	if (config.sample_bytes && !live_weighed(block))
		__sync_fetch_and_add(&row->variance,
				     sample_variance_at(block->size, weight, live_level(block)) *
					     sign);
}

/* ---- both --------------------------------------------------------------------------------- */

/*
 * Counts a freed block where it belongs. `thread` may be NULL: it has allocated nothing. The result
 * is for figures_kept().
 */
static __always_inline uint32_t figures_freed(const struct thread_state *thread, uint64_t address,
					      const struct live_value *block)
{
	uint32_t told = 0;

	if (FIGURES(lifetimes)) {
		told = lifetime_bucket(block);
		lifetime_count(block, told, figure_weight(block));
	}
	if (FIGURES(temporary) && thread && temporary_is(thread, address, block)) {
		temporary_count(block, 1);
		told |= 1u << 31;
	}
	return told;
}

/* Takes a free back that did not happen. */
static __always_inline void figures_kept(const struct live_value *block, uint32_t told)
{
	if (FIGURES(lifetimes))
		lifetime_count(block, told & 0xff, -figure_weight(block));
	if (FIGURES(temporary) && told >> 31)
		temporary_count(block, -1);
}

#endif
