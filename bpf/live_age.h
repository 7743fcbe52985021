/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The clock for ages, and a live block's part in the ages of its stack. */
#ifndef MEMLEAKBPF_BPF_LIVE_AGE_H
#define MEMLEAKBPF_BPF_LIVE_AGE_H

#include "bpf/live.h"

/* The distance to the first reading, at the trace's beginning, tells how long a tick is. */
static __always_inline void live_clock_update(void)
{
	uint64_t now = bpf_ktime_get_ns(), ticks = bpf_jiffies64();

	if (!shared.first_ns) {
		shared.first_ns = now;
		shared.first_ticks = ticks;
	}
	shared.clock.now_ns = now;
	shared.clock.now_ticks = (uint32_t)ticks;
	if (ticks > shared.first_ticks)
		shared.clock.tick_ns = (now - shared.first_ns) / (ticks - shared.first_ticks);
	shared.kernel_clock = shared.clock;
	/* As live_now() does for births. */
	if (FIGURES(lifetimes)) {
		shared.clock.now_ticks = (uint32_t)(now >> LIVE_TIME_SHIFT);
		shared.clock.tick_ns = 1u << LIVE_TIME_SHIFT;
	}
}

/* Counts it if it is far older than others of its stack become. */
static __always_inline void live_outlived(const struct live_value *value, uint64_t age_ns)
{
	uint32_t slot = live_slot(value);
	struct slot_outlived *row;

	if (!FIGURES(lifetimes))
		return;
	row = bpf_map_lookup_elem(&slots_outlived, &slot);
	if (!row || !row->far_ns || age_ns < row->far_ns)
		return;
	row->count += figure_weight(value);
	row->bytes += figure_bytes(value);
}

/* Written by one walk at a time (user space runs it from one thread), so no atomics. */
static __always_inline void live_age(const struct live_value *value, const struct live_clock *clock)
{
	uint32_t slot = live_slot(value);
	struct slot_age *age = bpf_map_lookup_elem(&slot_ages, &slot);
	uint64_t born, age_ns, weight;

	if (!age)
		return;
	age_ns = live_age_ns(clock, value->time);
	live_outlived(value, age_ns);
	born = clock->now_ns - age_ns;
	if (!age->oldest_ns || born < age->oldest_ns)
		age->oldest_ns = born;
	if (age_ns >= config.older_ns) {
		/* In the units of the counters: weighted under sampling. */
		if (live_weighed(value)) {
			age->older_bytes += value->weighed;
			age->older_count += live_weighed_count(value);
			return;
		}
		weight = sample_weight_at(value->size, live_level(value));
		age->older_bytes += (value->size * weight) >> 16;
		age->older_count += config.sample_bytes ? weight : 1;
	}
}

static long live_one_age(void *map, struct live_key *key, struct live_value *value,
			 struct live_clock *clock)
{
	(void)map;
	(void)key;
	live_age(value, clock);
	return 0;
}

/*
 * Takes the ages of all live blocks. A callback costs a tenth of an iterator's turn: no sequence
 * file, one call per entry.
 */
static __always_inline void live_walk_ages(void)
{
	struct live_clock clock = shared.clock;

	bpf_for_each_map_elem(&live, live_one_age, &clock, 0);
}

#endif
