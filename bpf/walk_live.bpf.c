// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Walks over all live allocations inside the kernel, on our own time and not the target's: for the ages that counters cannot tell, and to
 * clear out targets that have ended. One walk reads a million entries in tens of milliseconds, without a copy to user space.
 */
#include "bpf/live.h"

/* Written by one walk at a time (user space runs it from one thread), so no atomics. */
static long live_age(void *map, struct live_key *key, struct live_value *value,
		     struct live_clock *clock)
{
	uint32_t slot = value->slot;
	struct slot_age *age = bpf_map_lookup_elem(&slot_ages, &slot);
	uint64_t born, age_ns, weight;

	(void)map;
	(void)key;
	if (!age)
		return 0;
	age_ns = live_age_ns(clock, value->time);
	born = clock->now_ns - age_ns;
	if (!age->oldest_ns || born < age->oldest_ns)
		age->oldest_ns = born;
	if (age_ns >= config.older_ns) {
		/* In the units of the counters: weighted under sampling. */
		weight = sample_weight(value->size);
		age->older_bytes += (value->size * weight) >> 16;
		age->older_count += config.sample_bytes ? weight : 1;
	}
	return 0;
}

/*
 * How long a tick is, is told by the distance to the first reading, which is made when the trace begins. Both of these programs are run by
 * bpf_prog_test_run (kernel >= 5.14).
 */
SEC("syscall")
int live_clock_read(void *ctx)
{
	uint64_t now = bpf_ktime_get_ns(), ticks = bpf_jiffies64();

	(void)ctx;
	if (!shared.first_ns) {
		shared.first_ns = now;
		shared.first_ticks = ticks;
	}
	shared.clock.now_ns = now;
	shared.clock.now_ticks = (uint32_t)ticks;
	if (ticks > shared.first_ticks)
		shared.clock.tick_ns = (now - shared.first_ns) / (ticks - shared.first_ticks);
	return 0;
}

/* A callback costs a tenth of an iterator's turn: no sequence file, one call per entry. */
SEC("syscall")
int live_ages(void *ctx)
{
	struct live_clock clock = shared.clock;

	(void)ctx;
	bpf_for_each_map_elem(&live, live_age, &clock, 0);
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
		live_remove(&copy);
	return 0;
}
