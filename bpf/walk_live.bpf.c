// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Walks over all live allocations inside the kernel, on our own time and not the target's. It
 * serves ages that counters cannot tell, and to clear out targets that have ended. One walk reads a
 * million entries in tens of milliseconds, without a copy to user space.
 *
 * User space runs all of these by bpf_prog_test_run. It does the walks itself where the kernel
 * refuses them (user/blocks/blocks.c).
 */
#define MEMLEAKBPF_FIGURES

#include "bpf/kernel_read.h"
#include "bpf/live_age.h"

/* A kind of program that all kernels can run so, since 5.10: those before 5.15 get it as well. */
SEC("raw_tp")
int live_clock_read(void *ctx)
{
	struct task_struct *task = kernel_current_task();

	(void)ctx;
	/* Who runs this is the tool. */
	shared.tool_task = (uint64_t)kernel_read(task, group_leader);
	live_clock_update();
	return 0;
}

SEC("syscall")
int live_ages(void *ctx)
{
	(void)ctx;
	live_walk_ages();
	return 0;
}

static long live_sweep_one(void *map, struct live_key *key, struct live_value *value, void *ctx)
{
	struct live_key copy = *key;
	struct target_stats *stats = target_stats_of(copy.target_id);

	(void)map;
	(void)value;
	(void)ctx;
	if (!stats || stats->swept_id != copy.target_id)
		return 0;
	live_remove(&copy);
	if (config.check_frees)
		bpf_map_delete_elem(&families, &copy);
	return 0;
}

/* Removes the blocks of targets that have been reported for the last time: stats.swept_id. */
SEC("syscall")
int live_sweep(void *ctx)
{
	(void)ctx;
	bpf_for_each_map_elem(&live, live_sweep_one, NULL, 0);
	return 0;
}
