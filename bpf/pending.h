/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Allocator calls of one thread that have not returned: a small stack. The outermost call owns the
 * allocation, so calls made inside it are not entered at all. Several entries are needed: a thread
 * can leave a call for another stack (signal on an alternate stack, coroutine) and allocate there.
 */
#ifndef MEMLEAKBPF_BPF_PENDING_H
#define MEMLEAKBPF_BPF_PENDING_H

#include "bpf/alloc_op.h"
#include "bpf/kernel_read.h"
#include "bpf/live.h"
#include "bpf/regs.h"

/*
 * Is the call that was entered at `sp` still running? While it is, its return address on the stack
 * is the kernel's uretprobe trampoline. After an exception or longjmp later calls overwrite that.
 * If we cannot have the trampoline's address (and on aarch64, where it is in a register), only the
 * order of stack pointers tells.
 */
static __always_inline bool call_is_active(const struct pending *p)
{
#if defined(__TARGET_ARCH_x86)
	bool bare = p->flags & PENDING_BARE;
	struct task_struct *task = kernel_current_task();
	uint64_t trampoline = kernel_read(task, mm, uprobes_state.xol_area, vaddr);
	uint64_t return_address = 0;

	if (!trampoline && !bare)
		return true;
	if (bpf_probe_read_user(&return_address, sizeof(return_address), (void *)p->sp))
		return false;
	/* A bare call may end by a jump to a function that has a return probe. */
	if (bare && return_address == p->return_address)
		return true;
	return return_address == trampoline;
#else
	(void)p;
	return true;
#endif
}

/*
 * Calls without a return probe (PENDING_BARE: functions that an exception may leave) have their own
 * return address at sp. It may be an old one, at a place that no later call has written to. So we
 * check more:
 *
 * - A call above it, or one of the same function at the same place, is not inside it.
 * - The unwinder is watched. Once it has begun, the call may be over (PENDING_UNWOUND): deeper
 *   allocations then count for themselves. Dropping the call would be wrong. The exception may be
 *   caught inside it, and it then returns with its block. The catching frame calls
 *   __cxa_begin_catch, whose stack pointer tells which of the two it is.
 *
 * A stack may still be unwound by means that are not watched; should such a call be dropped later,
 * it is counted as lost.
 */
static __always_inline bool bare_call_is_over(const struct pending *p, uint64_t sp, uint64_t ip)
{
	if (sp > p->sp || (sp == p->sp && (p->ip == ip || p->flags & PENDING_UNWOUND)))
		return true;
	return !call_is_active(p);
}

static __always_inline bool call_is_over(const struct pending *p, uint64_t sp, uint64_t ip)
{
	return p->flags & PENDING_BARE ? bare_call_is_over(p, sp, ip) : !call_is_active(p);
}

/*
 * Drops a call that never returned. A resize's old block is still there, unless its address has
 * been handed out again.
 */
static __always_inline void pending_abandon(struct pending *p)
{
	struct live_key key = {.address = p->old_address, .target_id = p->target_id};
	struct live_value value = p->old;

	if ((p->flags & (PENDING_BARE | PENDING_UNWOUND)) == PENDING_BARE && p->slot != ABI_NO_SLOT)
		count_lost(p->target_id, LOST_PENDING);
	if (p->op != OP_REALLOC || value.slot == ABI_NO_SLOT)
		return;
	if (live_put(&key, &value, BPF_NOEXIST)) {
		count_free_of(&value);
		count_lost(p->target_id, LOST_LIVE_FULL);
	}
}

/*
 * The pending call number `index`, NULL when there are not so many. The barrier makes the compiler
 * compare the very register that it then uses, for the verifier to see.
 */
static __always_inline struct pending *pending_at(struct thread_state *thread, uint64_t index)
{
	barrier_var(index);
	if (index >= ABI_MAX_PENDING || index >= thread->depth)
		return NULL;
	return &thread->pending[index];
}

/*
 * Drops calls that were unwound. Then says whether the call of the function at `ip` that is entered
 * at `sp` is inside another one.
 */
static __always_inline bool pending_nested(struct thread_state *thread, uint64_t sp, uint64_t ip)
{
	uint32_t i;

	for (i = 0; i < ABI_MAX_PENDING; i++) {
		struct pending *top = pending_at(thread, (uint64_t)thread->depth - 1);

		if (!top)
			return false;
		if (!call_is_over(top, sp, ip)) {
			if (top->flags & PENDING_UNWOUND)
				return false;
			/*
			 * Deeper in the same stack: inside. At the same place: a tail call, such as
			 * glibc's realloc(NULL, n) makes to malloc. Above it: another stack,
			 * another call.
			 */
			return sp <= top->sp;
		}
		pending_abandon(top);
		thread->depth--;
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

/* The call that is entered at `sp` is a tail call: its return is also the pending call's. */
static __always_inline bool pending_tail_call(struct thread_state *thread, uint64_t sp)
{
	struct pending *top = pending_at(thread, (uint64_t)thread->depth - 1);

	return top && top->sp == sp && top->flags & PENDING_BARE;
}

/* An exception has been thrown, or longjmp called: the pending calls may be over. */
static __always_inline void pending_unwind(struct thread_state *thread)
{
	uint32_t i;

	for (i = 0; i < ABI_MAX_PENDING; i++) {
		struct pending *p = pending_at(thread, i);

		if (p && p->flags & PENDING_BARE)
			p->flags |= PENDING_UNWOUND;
	}
}

/*
 * The frame that ends at `sp` has caught the exception: calls made from it or deeper are over, the
 * others are not.
 */
static __always_inline void pending_caught(struct thread_state *thread, uint64_t sp)
{
	uint32_t i;

	for (i = 0; i < ABI_MAX_PENDING; i++) {
		struct pending *p = pending_at(thread, i);

		if (!p || !(p->flags & PENDING_BARE))
			continue;
		if (p->sp > sp)
			p->flags &= ~PENDING_UNWOUND;
		else if (p->flags & PENDING_UNWOUND)
			p->sp = 0; /* below every other: dropped at the next look */
	}
}

/*
 * Takes out the call that was entered at `sp`, with all that lie above it; NULL when there is none
 * (nested or filtered calls).
 */
static __always_inline struct pending *pending_pop(struct thread_state *thread, uint64_t sp)
{
	uint32_t i;

	for (i = 0; i < ABI_MAX_PENDING; i++) {
		uint64_t index = (uint64_t)thread->depth - 1 - i;
		struct pending *p = pending_at(thread, index);

		if (!p)
			return NULL;
		if (p->sp == sp) {
			thread->depth = (uint32_t)index;
			return p;
		}
	}
	return NULL;
}

#endif
