/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * --peak: the most live bytes of a target, and of each of its stacks. User space is told whenever
 * the target has 1/32 more than at the last look, and then keeps its stacks' bytes.
 */
#ifndef MEMLEAKBPF_BPF_PEAK_H
#define MEMLEAKBPF_BPF_PEAK_H

#include "bpf/bpf_maps.h"
#include "bpf/figures.h"

/* Of two at once the higher number wins; a loser of so many races had others above it. */
#define PEAK_TRIES 16

#ifdef MEMLEAKBPF_FIGURES
static __always_inline struct target_peak *peak_of(uint32_t slot, uint32_t *target_id)
{
	const struct slot_info *info = bpf_map_lookup_elem(&slot_infos, &slot);
	uint32_t row;

	if (!info)
		return NULL;
	*target_id = info->target_id;
	row = info->target_id % ABI_TARGET_SLOTS;
	return bpf_map_lookup_elem(&target_peaks, &row);
}

/* True: it is the highest so far. */
static __always_inline bool peak_raise(uint64_t *highest, uint64_t now)
{
	uint32_t i;

	for (i = 0; i < PEAK_TRIES; i++) {
		uint64_t before = *(volatile uint64_t *)highest;

		if (now <= before)
			return false;
		if (__sync_val_compare_and_swap(highest, before, now) == before)
			return true;
	}
	return false;
}

/* Tells user space once, until it has looked. */
static __always_inline void peak_tell(struct target_peak *peak, uint32_t target_id, uint64_t live)
{
	uint64_t now = bpf_ktime_get_ns(), at = peak->tell_at;
	struct process_event event = {
		.header = {.type = EVENT_PEAK, .target_id = target_id, .time_ns = now}};

	if (now < peak->tell_after || live <= at ||
	    __sync_val_compare_and_swap(&peak->tell_at, at, ~0ull) != at)
		return;
	if (bpf_ringbuf_output(&events, &event, sizeof(event), 0))
		peak->tell_at = at;
}

static __always_inline void peak_grown(uint32_t slot, struct stack_counters *c, uint64_t bytes)
{
	uint64_t live, allocated, *highest;
	struct target_peak *peak;
	uint32_t target_id = 0;

	/* Reads the freed bytes last, so that the result is never too large. */
	allocated = *(volatile uint64_t *)&c->alloc_bytes;
	live = allocated - *(volatile uint64_t *)&c->free_bytes;
	highest = bpf_map_lookup_elem(&slot_peaks, &slot);
	if (highest && (int64_t)live > 0)
		peak_raise(highest, live);
	peak = peak_of(slot, &target_id);
	if (!peak)
		return;
	live = __sync_fetch_and_add(&peak->live, bytes) + bytes;
	/* A sampled weight that rounds up may have freed more than there was. */
	if ((int64_t)live <= 0)
		return;
	if (live > peak->bytes && peak_raise(&peak->bytes, live))
		peak->ticks = bpf_jiffies64();
	if (live > peak->tell_at)
		peak_tell(peak, target_id, live);
}

static __always_inline void peak_shrunk(uint32_t slot, uint64_t bytes)
{
	uint32_t target_id;
	struct target_peak *peak = peak_of(slot, &target_id);

	if (peak)
		__sync_fetch_and_add(&peak->live, -bytes);
}
#endif

/* After the stack's counters have been changed by so many bytes. */
static __always_inline void peak_add(uint32_t slot, struct stack_counters *c, uint64_t bytes)
{
#ifdef MEMLEAKBPF_FIGURES
	if (config.peak)
		peak_grown(slot, c, bytes);
#else
	(void)slot, (void)c, (void)bytes;
#endif
}

static __always_inline void peak_take(uint32_t slot, uint64_t bytes)
{
#ifdef MEMLEAKBPF_FIGURES
	if (config.peak)
		peak_shrunk(slot, bytes);
#else
	(void)slot, (void)bytes;
#endif
}

#endif
