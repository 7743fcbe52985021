/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fork and exec of targets. Ids change here, in the kernel, at that very moment. So no allocation
 * of a new program counts for the old one, however late user space wakes up.
 */
#ifndef MEMLEAKBPF_BPF_PROCESS_H
#define MEMLEAKBPF_BPF_PROCESS_H

#include "bpf/hold.h"
#include "bpf/kernel_read.h"
#include "bpf/loss.h"
#include "bpf/number.h"
#include "bpf/pool.h"
#include "bpf/runtime/each.h"
#include "bpf/unwind.h"
#include "bpf/unwind_trails_map.h"

/*
 * Some kernels refuse programs that know the types of their arguments: programs on raw tracepoints
 * replace them (raw.bpf.c). The verifier takes their arguments for numbers. The task that forks,
 * execs or exits is the current one, whose type the verifier knows; a child's members are copied.
 */
#ifdef MEMLEAKBPF_RAW_TRACEPOINTS
#define ON_EVENT(name)	  SEC("?raw_tp/" name)
#define event_task(arg)	  ((void)(arg), bpf_get_current_task_btf())
#define event_child(x, m) BPF_CORE_READ(x, m)
#else
#define ON_EVENT(name)	  SEC("tp_btf/" name)
#define event_task(arg)	  ((struct task_struct *)(arg))
#define event_child(x, m) kernel_read(x, m)
#endif

/* False: the event is lost, which has been counted. */
static __always_inline bool send_event(struct process_event *event, uint32_t type,
				       uint32_t target_id)
{
	event->header.type = type;
	event->header.target_id = target_id;
	event->header.time_ns = bpf_ktime_get_ns();
	if (!bpf_ringbuf_output(&events, event, sizeof(*event), 0))
		return true;
	count_lost_anywhere(LOST_EVENTS);
	return false;
}

/* A tracer's options (PTRACE_O_*), in the kernel's form (include/linux/ptrace.h). */
#define PT_OPTIONS  (0x3000ffu << 3)
#define PT_SYSGOOD  (1u << 3)
#define PT_CLONE    (1u << 3 << 3)
#define PT_EXITKILL (1u << 20 << 3)

/*
 * Is it a copy of a process, which another memleakbpf makes to read its memory, or the helper that
 * makes the copy (user/freeze/forkcopy.c)? Neither ever runs, and only their tracer hears of their
 * ends. Other tracers ask for other options: strace and gdb for forks and execs as well.
 */
static __always_inline bool process_is_a_copy(struct task_struct *parent, struct task_struct *child)
{
	uint32_t options = parent->ptrace & PT_OPTIONS;

	if (event_child(child, exit_signal))
		return false;
	return kernel_read(parent, mm) == event_child(child, mm)
		       ? options == (PT_SYSGOOD | PT_CLONE)
		       : options & PT_EXITKILL;
}

/* A forked child has its parent's runtimes, of each language. */
#define PROCESS_FORKED(constant, name, text)	    name##_forked(info->id, fresh.id);
#define PROCESS_FORGOTTEN(constant, name, text)	    name##_forgotten(fresh.id);
#define PROCESS_FORGET_THREAD(constant, name, text) bpf_task_storage_delete(&name##_threads, task);

/* Arguments: parent, child. hold: it is to wait for its probes (a constant). */
static __always_inline int process_forked(uint64_t *ctx, bool hold)
{
	struct task_struct *parent = event_task(ctx[0]), *child = (void *)ctx[1];
	uint32_t parent_tgid = parent->tgid, child_tgid = event_child(child, tgid);
	struct process_event event = {};
	struct target_info *info, fresh;

	if (parent_tgid == child_tgid || parent_tgid == shared.copied_pid ||
	    process_is_a_copy(parent, child))
		return 0;
	info = bpf_map_lookup_elem(&targets, &parent_tgid);
	if (!info)
		return 0;
	fresh = *info;
	if (kernel_read(parent, mm) == event_child(child, mm)) {
		/* vfork: what it allocates before exec is in its parent's heap. */
		fresh.flags |= TARGET_VFORK;
		fresh.victim = 0;
		if (bpf_map_update_elem(&targets, &child_tgid, &fresh, BPF_ANY)) {
			count_lost(info->id, LOST_TARGETS_FULL);
			return 0;
		}
		event.pid = child_tgid;
		/* It may live on without exec: user space has to know. */
		if (!send_event(&event, EVENT_VFORK, info->id))
			bpf_map_delete_elem(&targets, &child_tgid);
		return 0;
	}
	if (!(info->flags & TARGET_FOLLOW))
		return 0;
	fresh.id = number_target();
	/* The child may free its parent's blocks. */
	fresh.flags &= ~(TARGET_VFORK | TARGET_WHOLE);
	fresh.leaver = fresh.victim = 0;
	if (!fresh.id || bpf_map_update_elem(&targets, &child_tgid, &fresh, BPF_ANY)) {
		count_lost(info->id, LOST_TARGETS_FULL);
		number_target_back(fresh.id);
		return 0;
	}
	unwind_forked(info->id, fresh.id);
	RUNTIME_LANGUAGES(PROCESS_FORKED)
	pool_forked(info->id, fresh.id);
	event.other_id = info->id;
	event.pid = child_tgid;
	event.parent_pid = parent_tgid;
	/* A child has its parent's name, and the parent is who forks. */
	bpf_get_current_comm(event.comm, sizeof(event.comm));
	if (hold)
		event.held = hold_begin(child, fresh.id);
	/*
	 * A process that user space does not know is no target: nobody would ever read its
	 * counters.
	 */
	if (!send_event(&event, EVENT_FORK, fresh.id)) {
		if (hold)
			hold_call_off(child);
		bpf_map_delete_elem(&targets, &child_tgid);
		RUNTIME_LANGUAGES(PROCESS_FORGOTTEN)
		pool_forgotten(fresh.id);
		number_target_back(fresh.id);
	}
	return 0;
}

/*
 * Arguments: task, the tid it had before (a thread that execs takes over its leader's), binprm.
 * hold: as above; only with config.own_exec.
 */
static __always_inline int process_execed(uint64_t *ctx, bool hold)
{
	struct task_struct *task = event_task(ctx[0]);
	uint32_t tgid = task->tgid, tid = task->pid, old_tid = (uint32_t)ctx[1];
	struct process_event event = {};
	struct target_info *info = bpf_map_lookup_elem(&targets, &tgid);
	struct target_info fresh;

	if (!info)
		return 0;
	if (config.task_storage) {
		bpf_task_storage_delete(&thread_storage, task);
		if (!bpf_task_storage_delete(&thread_trails, task))
			__sync_fetch_and_sub(&shared.trail_threads, 1);
		RUNTIME_LANGUAGES(PROCESS_FORGET_THREAD)
	}
	bpf_map_delete_elem(&threads, &tid);
	bpf_map_delete_elem(&threads, &old_tid);
	if ((info->flags & TARGET_VFORK) && !(info->flags & TARGET_FOLLOW)) {
		uint32_t id = info->id;

		bpf_map_delete_elem(&targets, &tgid);
		event.pid = tgid;
		send_event(&event, EVENT_VFORK_EXIT, id);
		return 0;
	}
	fresh.id = number_target();
	/* Nobody knows yet whether the new program reports its allocations. */
	fresh.flags = info->flags & ~(TARGET_VFORK | TARGET_TELLS);
	fresh.leaver = fresh.victim = 0;
	if (hold && fresh.id)
		event.held = hold_begin(task, fresh.id);
	if (config.own_exec && (event.held || !hold))
		fresh.flags |= TARGET_WHOLE;
	event.other_id = (info->flags & TARGET_VFORK) ? 0 : info->id;
	event.by_thread = old_tid != tgid;
	event.pid = tgid;
	bpf_get_current_comm(event.comm, sizeof(event.comm));
	if (!fresh.id || bpf_map_update_elem(&targets, &tgid, &fresh, BPF_ANY)) {
		/* The counts of the program before stay as they are. */
		count_lost(info->id, LOST_TARGETS_FULL);
		if (hold)
			hold_call_off(task);
		bpf_map_delete_elem(&targets, &tgid);
		number_target_back(fresh.id);
		send_event(&event, EVENT_EXEC, 0);
		return 0;
	}
	if (!send_event(&event, EVENT_EXEC, fresh.id)) {
		if (hold)
			hold_call_off(task);
		bpf_map_delete_elem(&targets, &tgid);
		number_target_back(fresh.id);
	}
	return 0;
}

#endif
