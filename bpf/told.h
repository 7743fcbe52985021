/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocations that are told: by code in the target that stands behind the allocator (user/gate), or
 * by the allocator itself. One probe has the block and its size, another one the block that is about
 * to be freed; there is no call to be followed. Whether it is a sample has been decided there.
 */
#ifndef MEMLEAKBPF_BPF_TOLD_H
#define MEMLEAKBPF_BPF_TOLD_H

#include "bpf/current.h"
#include "bpf/live.h"
#include "bpf/managed.h"
#include "bpf/stack.h"

/*
 * What the target has weighed tells how often it samples: a weight is a number of samples times the
 * bytes between them in the mean, and of most blocks one sample.
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
 * The thread, where it is known what it has allocated last. Where samples are told, what comes
 * between two of them is not seen.
 */
static __always_inline struct thread_state *told_last(struct thread_state *thread,
						      const struct target_info *target)
{
	if (!FIGURES(temporary) || config.sample_bytes || target->flags & TARGET_TELLS)
		return NULL;
	return thread;
}

/*
 * With config.sample_levels: a sample is counted, and user space told when there have been too many. False: the target has as
 * many as it may.
 */
static __always_inline bool told_sample(uint32_t target_id)
{
	struct process_event event = {.header = {.type = EVENT_SAMPLES, .target_id = target_id}};
	struct target_stats *stats = target_stats_of(target_id);
	uint64_t alarm = *(volatile uint64_t *)&shared.samples_alarm;

	if (__sync_fetch_and_add(&shared.samples, 1) + 1 >= alarm && alarm &&
	    __sync_val_compare_and_swap(&shared.samples_alarm, alarm, 0) == alarm) {
		event.header.time_ns = bpf_ktime_get_ns();
		/* The next look finds out as well. */
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
 * stands for, as the target says, which has TARGET_TELLS then and may be deep inside of its
 * allocator; 0: it does not say, and is at a function's entry. The walk up the stack begins at `pc`,
 * where the stack pointer must be as it is now; 0: where the probe is. `level` is read with config.sample_levels and
 * without `weighed`: the mean by which it was drawn, as that has it. `managed`: where the program is that
 * does the same for targets with a runtime.
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
	/* Also when what follows cannot record it. */
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
		/* A target that tells may have sampled it before we came. */
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
 * The block that was told as freed is there still, as realloc has failed. What its end has added is
 * taken away again: a snapshot in between lacks the block, which is better than a block more.
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
