// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Fork, exec and exit of targets, and new mappings in their memory. */
#include "bpf/process.h"
#include "bpf/rss.h"

ON_EVENT("sched_process_fork")
int on_fork(uint64_t *ctx)
{
	return process_forked(ctx, false);
}

ON_EVENT("sched_process_exec")
int on_exec(uint64_t *ctx)
{
	return process_execed(ctx, false);
}

/*
 * The process's memory at its end. Until Linux 6.16 it has been given back when the tracepoint
 * fires: 0.
 */
static __always_inline uint32_t anon_pages_at_end(struct task_struct *task)
{
	struct mm_struct *mm = kernel_read(task, mm);

	/* Without the number of CPUs that user space sets: it was refused, or is unknown. */
	if (!mm || !possible_cpus)
		return 0;
	rss_measure_offsets();
	return (uint32_t)(rss_pages(mm, MM_ANONPAGES) + rss_pages(mm, MM_SWAPENTS));
}

/* A thread ends, and others of its process go on: do the probes depend on it? */
static __always_inline void anchor_ended(uint32_t tgid, uint32_t tid)
{
	struct target_info *info = bpf_map_lookup_elem(&targets, &tgid);
	struct target_stats *stats = info ? target_stats_of(info->id) : NULL;
	struct process_event event = {.pid = tid};

	if (!stats || info->flags & TARGET_VFORK)
		return;
	if (((uint32_t)stats->anchor ?: tgid) != tid)
		return;
	stats->anchor_ended = 1;
	send_event(&event, EVENT_ANCHOR_ENDED, info->id);
}

/* As wait(2) has it: the process's own end, else that of its main thread. */
static __always_inline uint32_t end_of(struct task_struct *task, const struct target_info *info)
{
	uint32_t end = kernel_read(task, signal, flags) & SIGNAL_GROUP_EXIT
			       ? kernel_read(task, signal, group_exit_code)
			       : kernel_read(task, group_leader, exit_code);

	return (end & 0xffff) | (info->victim ? ABI_END_VICTIM : 0);
}

#ifndef MEMLEAKBPF_RAW_TRACEPOINTS
/*
 * The kernel runs short of memory, its own or a control group's, and has chosen a process.
 * Argument: the thread's id, or since 6.9 the task. If the process's main thread has ended, only
 * the task tells the process.
 */
SEC("raw_tp/mark_victim")
int on_victim(uint64_t *ctx)
{
	struct target_info *info;
	uint32_t tgid = (uint32_t)ctx[0];

	if (bpf_core_field_exists(struct trace_event_raw_mark_victim, uid))
		tgid = BPF_CORE_READ((struct task_struct *)ctx[0], tgid);
	info = bpf_map_lookup_elem(&targets, &tgid);
	if (info)
		info->victim = 1;
	return 0;
}
#endif

#ifndef MEMLEAKBPF_RAW_TRACEPOINTS
/* SIGCHLD, SIGCONT, SIGSTOP to SIGTTOU, SIGURG, SIGWINCH end nobody. */
#define HARMLESS_SIGNALS                                                               \
	(1ull << 17 | 1ull << 18 | 1ull << 19 | 1ull << 20 | 1ull << 21 | 1ull << 22 | \
	 1ull << 23 | 1ull << 28)

/*
 * Did the current process send it? The kernel takes 0 (SEND_SIG_NOINFO) for a kill() by the current
 * process. It also passes 0 when it tells a process of its own broken pipe (SIGPIPE), or of a file
 * that is too large (SIGXFSZ). 1 (SEND_SIG_PRIV) is the kernel itself.
 */
static __always_inline bool signal_is_from_current(uint64_t info, uint32_t signal, bool itself)
{
	int code;

	if (info <= 1)
		return !info && !(itself && (signal == 13 || signal == 25));
	code = BPF_CORE_READ((struct kernel_siginfo *)info, si_code);
	/* SI_USER, SI_QUEUE and SI_TKILL; timers and what is asynchronous come while somebody else runs. */
	return code == 0 || code == -1 || code == -6;
}

/* Arguments: signal, struct kernel_siginfo or 0 or 1, task, whole group, result. */
SEC("raw_tp/signal_generate")
int on_signal(uint64_t *ctx)
{
	uint32_t signal = (uint32_t)ctx[0], own = bpf_get_current_pid_tgid() >> 32, tgid;
	struct target_stats *stats;
	struct target_info *info;
	struct signal_sent *sent;

	if (!signal || signal > 64 || (signal < 32 && HARMLESS_SIGNALS & 1ull << signal))
		return 0;
	tgid = BPF_CORE_READ((struct task_struct *)ctx[2], tgid);
	info = bpf_map_lookup_elem(&targets, &tgid);
	stats = info && !(info->flags & TARGET_VFORK) ? target_stats_of(info->id) : NULL;
	if (!stats)
		return 0;
	sent = &stats->sent;
	if (!signal_is_from_current(ctx[1], signal, own == tgid)) {
		*sent = (struct signal_sent){.signal = signal};
	} else if (own != tgid) {
		*sent = (struct signal_sent){.signal = signal, .sender = own};
		bpf_get_current_comm(sent->comm, sizeof(sent->comm));
	} else if (sent->signal == signal && sent->sender) {
		/* A handler has cleaned up, and ends the process as it would have ended. */
		sent->how = SIGNAL_AGAIN;
	} else {
		*sent = (struct signal_sent){.signal = signal, .how = SIGNAL_BY_ITSELF};
	}
	return 0;
}
#endif

/* Argument: task. */
ON_EVENT("sched_process_exit")
int on_exit(uint64_t *ctx)
{
	struct task_struct *task = event_task(ctx[0]);
	uint32_t tid = task->pid, tgid = task->tgid;
	struct process_event event = {};
	struct target_info *info;
	uint32_t id, flags;

	bpf_map_delete_elem(&threads, &tid);
	/* The kernel frees them with the task. */
	if (config.task_storage &&
	    bpf_task_storage_get(&thread_trails, bpf_get_current_task_btf(), NULL, 0))
		__sync_fetch_and_sub(&shared.trail_threads, 1);
	if ((int)kernel_read(task, signal, live.counter) > 0) {
		/* Of a process that ends as a whole the others are about to follow. */
		if (!(kernel_read(task, signal, flags) & SIGNAL_GROUP_EXIT))
			anchor_ended(tgid, tid);
		return 0;
	}
	if (tgid == config.tool)
		shared.tool_gone = 1;
	info = bpf_map_lookup_elem(&targets, &tgid);
	if (!info)
		return 0;
	id = info->id;
	flags = info->flags;
	event.end = end_of(task, info);
	/*
	 * The last two threads of a process can both see that no other is left: one of them
	 * deletes.
	 */
	if (bpf_map_delete_elem(&targets, &tgid))
		return 0;
	event.pid = tgid;
	if (flags & TARGET_VFORK) {
		event.ended = 1;
		send_event(&event, EVENT_VFORK_EXIT, id);
		return 0;
	}
	event.anon_pages = anon_pages_at_end(task);
	bpf_get_current_comm(event.comm, sizeof(event.comm));
	send_event(&event, EVENT_EXIT, id);
	return 0;
}

#ifndef MEMLEAKBPF_RAW_TRACEPOINTS
/*
 * New memory takes a place: the unwinder's knowledge of that place is out of date (a library was
 * closed, another one came at its address). Fires where the kernel chooses the address. Fixed
 * mappings lie within one of those, or replace the program's own. Arguments: address (or an error),
 * struct vm_unmapped_area_info.
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
#endif
