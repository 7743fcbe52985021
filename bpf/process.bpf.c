// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Fork, exec and exit of targets. Ids change here, in the kernel, at the moment it happens, so no allocation of a new program
 * is counted to the old one however late user space wakes up.
 */
#include "bpf/loss.h"

#include "bpf/unwind.h"

#include <bpf/bpf_core_read.h>

static __always_inline uint32_t new_target_id(void)
{
	return __sync_fetch_and_add(&shared.last_target_id, 1) + 1;
}

static __always_inline void send_event(struct process_event *event, uint32_t type,
				       uint32_t target_id)
{
	event->header.type = type;
	event->header.target_id = target_id;
	event->header.time_ns = bpf_ktime_get_ns();
	if (bpf_ringbuf_output(&events, event, sizeof(*event), 0))
		count_lost_anywhere(LOST_EVENTS);
}

/* Arguments: parent, child. */
SEC("tp_btf/sched_process_fork")
int on_fork(uint64_t *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	uint32_t parent_tgid = parent->tgid, child_tgid = child->tgid;
	struct process_event event = {};
	struct target_info *info, fresh;

	if (parent_tgid == child_tgid)
		return 0;
	info = bpf_map_lookup_elem(&targets, &parent_tgid);
	if (!info)
		return 0;
	fresh = *info;
	if (parent->mm == child->mm) {
		/* vfork: what it allocates before exec is in its parent's heap. */
		fresh.flags |= TARGET_VFORK;
		if (bpf_map_update_elem(&targets, &child_tgid, &fresh, BPF_ANY)) {
			count_lost(info->id, LOST_TARGETS_FULL);
		} else if (info->flags & TARGET_FOLLOW) {
			event.pid = child_tgid;
			send_event(&event, EVENT_VFORK, info->id);
		}
		return 0;
	}
	if (!(info->flags & TARGET_FOLLOW))
		return 0;
	fresh.id = new_target_id();
	fresh.flags &= ~TARGET_VFORK;
	fresh.leaver = 0;
	if (bpf_map_update_elem(&targets, &child_tgid, &fresh, BPF_ANY)) {
		count_lost(info->id, LOST_TARGETS_FULL);
		return 0;
	}
	unwind_forked(info->id, fresh.id);
	event.other_id = info->id;
	event.pid = child_tgid;
	event.parent_pid = parent_tgid;
	bpf_probe_read_kernel_str(event.comm, sizeof(event.comm), child->comm);
	send_event(&event, EVENT_FORK, fresh.id);
	return 0;
}

/* Arguments: task, the tid it had before (a thread that execs takes over its leader's), binprm. */
SEC("tp_btf/sched_process_exec")
int on_exec(uint64_t *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	uint32_t tgid = task->tgid, tid = task->pid, old_tid = (uint32_t)ctx[1];
	struct process_event event = {};
	struct target_info *info = bpf_map_lookup_elem(&targets, &tgid);
	struct target_info fresh;

	if (!info)
		return 0;
	if (config.task_storage)
		bpf_task_storage_delete(&thread_storage, task);
	bpf_map_delete_elem(&threads, &tid);
	bpf_map_delete_elem(&threads, &old_tid);
	if ((info->flags & TARGET_VFORK) && !(info->flags & TARGET_FOLLOW)) {
		bpf_map_delete_elem(&targets, &tgid);
		return 0;
	}
	fresh.id = new_target_id();
	fresh.flags = info->flags & ~TARGET_VFORK;
	fresh.leaver = fresh.pad = 0;
	event.other_id = (info->flags & TARGET_VFORK) ? 0 : info->id;
	event.pid = tgid;
	bpf_probe_read_kernel_str(event.comm, sizeof(event.comm), task->comm);
	if (bpf_map_update_elem(&targets, &tgid, &fresh, BPF_ANY)) {
		count_lost(info->id, LOST_TARGETS_FULL);
		return 0;
	}
	send_event(&event, EVENT_EXEC, fresh.id);
	return 0;
}

/* Argument: task. */
SEC("tp_btf/sched_process_exit")
int on_exit(uint64_t *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	uint32_t tid = task->pid, tgid = task->tgid;
	struct process_event event = {};
	struct target_info *info;
	uint32_t id, flags;

	bpf_map_delete_elem(&threads, &tid);
	if (task->signal->live.counter > 0)
		return 0;
	if (tgid == config.tool)
		shared.tool_gone = 1;
	info = bpf_map_lookup_elem(&targets, &tgid);
	if (!info)
		return 0;
	id = info->id;
	flags = info->flags;
	/* The last two threads of a process can both see that none is left: one of them deletes. */
	if (bpf_map_delete_elem(&targets, &tgid))
		return 0;
	event.pid = tgid;
	if (flags & TARGET_VFORK) {
		if (flags & TARGET_FOLLOW)
			send_event(&event, EVENT_VFORK_EXIT, id);
		return 0;
	}
	event.exit_code = task->exit_code;
	bpf_probe_read_kernel_str(event.comm, sizeof(event.comm), task->comm);
	send_event(&event, EVENT_EXIT, id);
	return 0;
}

/*
 * New memory takes a place: what the unwinder knew there no longer holds (a library that was closed, another one at its address). Fires
 * where the kernel chooses the address; fixed mappings lie within one of those, or replace what the program itself had put there.
 * Arguments: address (or an error), struct vm_unmapped_area_info.
 */
SEC("tp_btf/vm_unmapped_area")
int on_mapping(uint64_t *ctx)
{
	struct vm_unmapped_area_info *info = (void *)ctx[1];
	uint32_t tgid = bpf_get_current_pid_tgid() >> 32;
	struct target_info *target = bpf_map_lookup_elem(&targets, &tgid);

	if (target)
		unwind_remapped(target->id, ctx[0], info->length);
	return 0;
}
