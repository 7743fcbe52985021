/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds who has hit a probe: the target, and the thread's state. */
#ifndef MEMLEAKBPF_BPF_CURRENT_H
#define MEMLEAKBPF_BPF_CURRENT_H

#include "bpf/loss.h"
#include "bpf/bpf_maps.h"
#include "bpf/runtime/runtimes.h"

static __always_inline struct thread_state *thread_in_storage(uint64_t flags)
{
	if (!config.task_storage)
		return NULL;
	return bpf_task_storage_get(&thread_storage, bpf_get_current_task_btf(), NULL, flags);
}

/* NULL: this thread has not called an allocator yet. */
static __always_inline struct thread_state *current_thread(void)
{
	struct thread_state *thread = thread_in_storage(0);
	uint32_t tid;

	if (thread)
		return thread;
	tid = (uint32_t)bpf_get_current_pid_tgid();
	return bpf_map_lookup_elem(&threads, &tid);
}

/* The initial value of a thread's state: too large for the BPF stack. Never written. */
const struct thread_state thread_zero __attribute__((weak)) = {};

/* The thread's state, made if it has none. NULL: no room, which is counted. */
static __always_inline struct thread_state *current_thread_new(const struct target_info *target)
{
	struct thread_state *thread = current_thread();
	uint32_t tid = (uint32_t)bpf_get_current_pid_tgid();

	if (!thread)
		thread = thread_in_storage(BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread) {
		bpf_map_update_elem(&threads, &tid, &thread_zero, BPF_NOEXIST);
		thread = bpf_map_lookup_elem(&threads, &tid);
	}
	if (!thread)
		count_lost(target->id, LOST_THREADS_FULL);
	return thread;
}

/*
 * The target of the current thread; false: none. *thread is filled in when that comes for free;
 * NULL says nothing. A thread remembers its target. It changes by exec (then the thread's state is
 * dropped) and when user space says so.
 */
static __always_inline bool current_target(struct target_info *out, struct thread_state **thread)
{
	/* Read before the table: the remembered target may be newer than that, not older. */
	uint32_t epoch = *(volatile uint32_t *)&shared.target_epoch, tgid;
	struct thread_state *state = thread_in_storage(0);
	struct target_info *target;

	*thread = state;
	if (state && state->target_epoch == epoch) {
		*out = state->target;
		return true;
	}
	tgid = bpf_get_current_pid_tgid() >> 32;
	target = bpf_map_lookup_elem(&targets, &tgid);
	if (!target)
		return false;
	*out = *target;
#ifndef MEMLEAKBPF_OLD_KERNEL
	if (config.task_storage && *(volatile uint32_t *)&shared.runtimes)
		out->flags |= (uint32_t)runtimes_of(out->id);
#endif
	if (!state)
		state = *thread = current_thread();
	if (state) {
		state->target = *out;
		state->target_epoch = epoch;
	}
	return true;
}

/*
 * The same for probes on functions: not for a target that reports its allocations itself. Such a
 * target may have them for a moment, before it is known or after, and with --children
 * exact-systemwide.
 */
static __always_inline bool current_watched(struct target_info *out, struct thread_state **thread)
{
	return current_target(out, thread) && !(out->flags & TARGET_TELLS);
}

/*
 * Has user space given up the target since a call was entered for it? Then nothing may be counted
 * for the id: its row and its slots may be another's. Costs nothing while the table is the same.
 */
static __always_inline bool target_is_given_up(const struct thread_state *thread,
					       uint32_t target_id)
{
	struct target_info *target;
	uint32_t tgid;

	if (thread->target_epoch == *(volatile uint32_t *)&shared.target_epoch)
		return false;
	tgid = bpf_get_current_pid_tgid() >> 32;
	target = bpf_map_lookup_elem(&targets, &tgid);
	return !target || target->id != target_id;
}

#endif
