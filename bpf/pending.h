/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocator calls of one thread that have not returned: a small stack. The outermost call owns the allocation, so calls made inside
 * it are not entered at all. Several entries are needed because a thread can leave a call for another stack (signal on an
 * alternate stack, coroutine) and allocate there.
 */
#ifndef MEMLEAKBPF_BPF_PENDING_H
#define MEMLEAKBPF_BPF_PENDING_H

#include <bpf/bpf_core_read.h>

#include "bpf/live.h"
#include "bpf/regs.h"

/*
 * Is the call that was entered at `sp` still running? While it is, its return address on the stack is the kernel's
 * uretprobe trampoline; an exception or longjmp that unwound it leaves the slot to be overwritten by later calls. Where the
 * trampoline's address cannot be had (and on aarch64, where it is in a register) only the order of stack pointers tells.
 */
static __always_inline bool call_is_active(uint64_t sp)
{
#if defined(__TARGET_ARCH_x86)
	struct task_struct *task = (struct task_struct *)bpf_get_current_task();
	uint64_t trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
	uint64_t return_address = 0;

	if (!trampoline)
		return true;
	if (bpf_probe_read_user(&return_address, sizeof(return_address), (void *)sp))
		return false;
	return return_address == trampoline;
#else
	(void)sp;
	return true;
#endif
}

/* A resize that never returned: the old block is still there, unless its address has been handed out again. */
static __always_inline void pending_abandon(struct pending *p)
{
	struct live_key key = {.address = p->old_address, .target_id = p->target_id};
	struct live_value value = {.size = p->old_size, .slot = p->old_slot, .time = p->old_time};

	if (p->op != OP_REALLOC || p->old_slot == ABI_NO_SLOT)
		return;
	if (bpf_map_update_elem(&live, &key, &value, BPF_NOEXIST)) {
		count_free(p->old_slot, p->old_size);
		count_lost(p->target_id, LOST_LIVE_FULL);
	}
}

/*
 * Drops calls that were unwound, then says whether the call now at `sp` is inside another one.
 */
static __always_inline bool pending_nested(struct thread_state *thread, uint64_t sp)
{
	uint32_t i;

	for (i = 0; i < ABI_MAX_PENDING; i++) {
		uint32_t top = thread->depth - 1;

		if (!thread->depth || top >= ABI_MAX_PENDING)
			return false;
		if (call_is_active(thread->pending[top].sp)) {
			/* Deeper in the same stack: inside. At the same place: a tail call, as glibc's realloc(NULL, n)
			 * makes to malloc. Above it: another stack, another call. */
			return sp <= thread->pending[top].sp;
		}
		pending_abandon(&thread->pending[top]);
		thread->depth = top;
	}
	return false;
}

/* Room for one more pending call, or NULL: then the allocation is lost, and counted. */
static __always_inline struct pending *pending_push(struct thread_state *thread, uint32_t target_id)
{
	uint32_t depth = thread->depth;

	if (depth >= ABI_MAX_PENDING) {
		count_lost(target_id, LOST_PENDING);
		return NULL;
	}
	thread->depth = depth + 1;
	return &thread->pending[depth];
}

/* Takes out the call that was entered at `sp`, with all that lie above it; NULL when there is none (nested or filtered calls). */
static __always_inline struct pending *pending_pop(struct thread_state *thread, uint64_t sp)
{
	uint32_t i;

	for (i = 0; i < ABI_MAX_PENDING; i++) {
		uint32_t top = thread->depth - 1 - i;

		if (thread->depth <= i || top >= ABI_MAX_PENDING)
			return NULL;
		if (thread->pending[top].sp == sp) {
			thread->depth = top;
			return &thread->pending[top];
		}
	}
	return NULL;
}

#endif
