// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Walks over all live allocations inside the kernel, on our own time and not the target's: for the
 * ages that counters cannot tell, and to clear out targets that have ended. One walk reads a
 * million entries in tens of milliseconds, without a copy to user space.
 */
#define MEMLEAKBPF_FIGURES

#include "bpf/live_age.h"

#include <bpf/bpf_core_read.h>

/* Both of these programs are run by bpf_prog_test_run (kernel >= 5.14). */
SEC("syscall")
int live_clock_read(void *ctx)
{
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();

	(void)ctx;
	/* Who runs this is the tool. */
	shared.tool_task = (uint64_t)BPF_CORE_READ(task, group_leader);
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

/* Removes the blocks of targets that have been reported for the last time: stats.swept_id. */
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
	if (stats && stats->swept_id == copy.target_id) {
		live_remove(&copy);
		if (config.check_frees)
			bpf_map_delete_elem(&families, &copy);
	}
	return 0;
}
