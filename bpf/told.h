/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocations that the target reports: by code that stands behind the allocator (user/gate), or by
 * the allocator itself. One probe has the block and its size, another one the block that is about
 * to be freed; there is no call to follow. The target has decided whether it is a sample.
 */
#ifndef MEMLEAKBPF_BPF_TOLD_H
#define MEMLEAKBPF_BPF_TOLD_H

#include "bpf/current.h"
#include "bpf/live.h"
#include "bpf/managed.h"
#include "bpf/stack.h"

/*
 * The target's weights tell how often it samples: a weight is a number of samples times the mean
 * bytes between them. Most blocks have one sample.
 */
static __always_inline void told_weighed(uint32_t target_id, uint32_t slot, uint64_t weighed)
{
	struct target_stats *stats = target_stats_of(target_id);
	struct slot_info *info = bpf_map_lookup_elem(&slot_infos, &slot);

	if (info)
		info->weighed = 1;
	if (stats && (!stats->tells_every || weighed % stats->tells_every))
		stats->tells_every = weighed;
}

/*
 * The thread, if its last allocation is known. If only samples are reported, allocations between
 * two of them are not seen.
 */
static __always_inline struct thread_state *told_last(struct thread_state *thread,
						      const struct target_info *target)
{
	if (!FIGURES(temporary) || config.sample_bytes || target->flags & TARGET_TELLS)
		return NULL;
	return thread;
}

/*
 * With config.sample_levels: counts a sample, and tells user space of too many. False: the target
 * has its maximum.
 */
static __always_inline bool told_sample(uint32_t target_id)
{
	struct process_event event = {.header = {.type = EVENT_SAMPLES, .target_id = target_id}};
	struct target_stats *stats = target_stats_of(target_id);
	uint64_t alarm = *(volatile uint64_t *)&shared.samples_alarm;

	if (__sync_fetch_and_add(&shared.samples, 1) + 1 >= alarm && alarm &&
	    __sync_val_compare_and_swap(&shared.samples_alarm, alarm, 0) == alarm) {
		event.header.time_ns = bpf_ktime_get_ns();
		/* If this is lost, the next look finds out as well. */
		bpf_ringbuf_output(&events, &event, sizeof(event), 0);
	}
	if (!stats)
		return true;
	__sync_fetch_and_add(&stats->samples, 1);
	if (*(volatile uint64_t *)&stats->live_samples < config.max_live_target)
		return true;
	count_lost(target_id, LOST_KEPT_FULL);
	return false;
}

/*
 * A block has been allocated, and the program has not seen it yet. `weighed`: how many bytes it
 * stands for, by the target, which has TARGET_TELLS then and may be deep inside of its allocator.
 * 0: the target does not say, and is at a function's entry. The walk up the stack begins at `pc`,
 * where the stack pointer must be the same as now; 0: at the probe. `level`, read with
 * config.sample_levels and without `weighed`: the level of the mean by which it was drawn.
 * `managed`: the array with the program that does the same for targets with a runtime.
 */
static __always_inline int told_alloc(const struct pt_regs *ctx, uint64_t pc, uint64_t block,
				      uint64_t size, uint64_t weighed, uint64_t level,
				      void *managed)
{
	struct thread_state *thread = NULL;
	struct target_info target;
	uint32_t slot;

	if (FIGURES(temporary) && (size < config.min_size || size > config.max_size))
		temporary_passed(current_thread(), 0);
	if (!block || size < config.min_size || size > config.max_size)
		return 0;
	if (!current_target(&target, &thread) || !(target.flags & TARGET_TELLS) != !weighed)
		return 0;
	go_on_managed(ctx, &target, managed);
	if (!thread)
		thread = current_thread_new(&target);
	if (!thread)
		return 0;
	if (!SCOPES && config.sample_levels && !weighed && !told_sample(target.id))
		return 0;
	/* Also when the rest cannot record it. */
	temporary_passed(thread, 0);
	thread->event.arena = 0;
	if (SCOPES && !scope_look(ctx, thread, target.id))
		return 0;
	slot = stack_slot(ctx, pc, weighed ? UNWIND_INSIDE : 0, thread, &target);
	if (slot == ABI_NO_SLOT)
		return 0;
	if (weighed)
		told_weighed(target.id, slot, weighed);
	else if (SCOPES)
		weighed = scope_mark_of(thread);
	else if (config.sample_levels)
		weighed = LIVE_LEVEL_MARK | (level > LIVE_LEVEL_MAX ? 0 : level);
	live_insert(told_last(thread, &target), target.id, block, size, weighed, slot, false);
	return 0;
}

/*
 * A block is going to be freed. `resized`: by realloc, which may fail; told_kept() then follows in
 * this thread.
 */
static __always_inline int told_free(uint64_t block, bool resized)
{
	struct thread_state *thread = NULL;
	struct target_info target;
	struct live_value value;
	uint32_t figures;

	if (!block || !current_target(&target, &thread))
		return 0;
	if (!live_take(target.id, block, &value)) {
		/* A target that reports may have sampled it before we came. */
		if (!(target.flags & TARGET_TELLS))
			count_unknown_free(target.id);
		return 0;
	}
	count_free_of(&value);
	figures = figures_freed(told_last(thread, &target), block, &value);
	if (!resized)
		return 0;
	if (!thread)
		thread = current_thread_new(&target);
	if (!thread)
		return 0;
	thread->told.block = block;
	thread->told.target_id = target.id;
	thread->told.value = value;
	if (FIGURES(lifetimes) || FIGURES(temporary))
		thread->told.figures = figures;
	return 0;
}

/*
 * realloc has failed: the block that was told as freed still exists. Takes the effect of its end
 * back. A snapshot in between lacks the block, which is better than a block too many.
 */
static __always_inline int told_kept(uint64_t block)
{
	struct thread_state *thread = current_thread();
	struct live_key key = {.address = block};
	struct live_value value;

	if (!thread || !block || thread->told.block != block)
		return 0;
	thread->told.block = 0;
	value = thread->told.value;
	key.target_id = thread->told.target_id;
	if (target_is_given_up(thread, key.target_id))
		return 0;
	if (live_put(&key, &value, BPF_NOEXIST)) {
		count_lost(key.target_id, LOST_LIVE_FULL);
		return 0;
	}
	count_kept(&value);
	figures_kept(&value, thread->told.figures);
	return 0;
}

#endif
