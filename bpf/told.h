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
#include "bpf/stack.h"

/*
 * A block has been allocated, and the program has not seen it yet. The walk up the stack begins at
 * `pc`, where the stack pointer must be as it is now; 0: where the probe is.
 */
static __always_inline int told_alloc(const struct pt_regs *ctx, uint64_t pc, uint64_t block,
				      uint64_t size)
{
	struct thread_state *thread = NULL;
	struct target_info target;
	uint32_t slot;

	if (!block || size < config.min_size || size > config.max_size)
		return 0;
	if (!current_target(&target, &thread))
		return 0;
	if (!thread)
		thread = current_thread_new(&target);
	if (!thread)
		return 0;
	slot = stack_slot(ctx, pc, thread, target.id);
	if (slot != ABI_NO_SLOT)
		live_insert(target.id, block, size, slot, false);
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

	if (!block || !current_target(&target, &thread))
		return 0;
	if (!live_take(target.id, block, &value)) {
		count_unknown_free(target.id);
		return 0;
	}
	count_free(value.slot, value.size);
	if (!resized)
		return 0;
	if (!thread)
		thread = current_thread_new(&target);
	if (!thread)
		return 0;
	thread->told.block = block;
	thread->told.target_id = target.id;
	thread->told.value = value;
	return 0;
}

/* The block that was told as freed is there still, as realloc has failed. */
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
	if (live_put(&key, &value, BPF_NOEXIST))
		count_lost(key.target_id, LOST_LIVE_FULL);
	else
		count_alloc(value.slot, value.size);
	return 0;
}

#endif
