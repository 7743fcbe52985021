// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A target on its way out: after its exit handlers, before the system call that takes its other
 * threads and its memory away. User space is told, and the thread waits until ptrace has asked it
 * to stop, which it then does before its next instruction.
 *
 * There is nothing in BPF to sleep on that would end with the tool, so it looks again and again,
 * and gives the processor to others meanwhile. It stops looking when the tool has ended, when the
 * process is killed, and in any case after some seconds; the process then ends as if nothing had
 * been.
 */
#include "bpf/loss.h"
#include "bpf/regs.h"

#include <bpf/bpf_core_read.h>
#include "bpf/own_stack.h"

#define LOOKS	(1u << 23) /* the most that bpf_loop() does */
#define WAIT_NS 10000000000ull
#define ROUNDS	16 /* a round of looks may be over in a second */

/* Bits of the kernel's include/linux/sched/jobctl.h and sched/signal.h; the same since 3.0. */
#define JOBCTL_TRAPS	  ((1ul << 19) | (1ul << 20)) /* JOBCTL_TRAP_STOP, JOBCTL_TRAP_NOTIFY */
#define SIGNAL_GROUP_EXIT 0x4u

struct wait {
	struct task_struct *task;
	uint64_t until_ns, sp;
	bool done;
};

/* 1: enough. */
static long look(uint32_t i, struct wait *wait)
{
	struct task_struct *task = wait->task;
	uint64_t word;

	(void)i;
	if (BPF_CORE_READ(task, jobctl) & JOBCTL_TRAPS ||
	    BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT || shared.tool_gone ||
	    bpf_ktime_get_ns() > wait->until_ns) {
		wait->done = true;
		return 1;
	}
	/*
	 * On the way the kernel calls cond_resched(): without it a kernel that does not preempt
	 * itself might have no processor left for the tool.
	 */
	bpf_copy_from_user_task(&word, sizeof(word), (void *)wait->sp, bpf_get_current_task_btf(),
				0);
	return 0;
}

static __always_inline void announce(uint32_t target_id, uint32_t tgid)
{
	struct process_event event = {
		.header = {.type = EVENT_LEAVE,
			   .target_id = target_id,
			   .time_ns = bpf_ktime_get_ns()},
		.pid = tgid,
	};

	bpf_get_current_comm(event.comm, sizeof(event.comm));
	if (bpf_ringbuf_output(&events, &event, sizeof(event), 0))
		count_lost_anywhere(LOST_EVENTS);
}

SEC("uprobe.s")
int on_leave(struct pt_regs *ctx)
{
	uint64_t both = bpf_get_current_pid_tgid();
	uint32_t tgid = both >> 32, tid = (uint32_t)both, first;
	struct target_info *target = bpf_map_lookup_elem(&targets, &tgid);
	struct wait wait = {
		.task = (struct task_struct *)bpf_get_current_task(),
		.until_ns = bpf_ktime_get_ns() + WAIT_NS,
		.sp = regs_sp(ctx),
	};

	use_own_stack();
	/* Of a vfork the memory is its parent's, which goes on. */
	if (!target || target->flags & TARGET_VFORK)
		return 0;
	/*
	 * _exit of some libraries calls _Exit. Of other threads that end the process as well, none
	 * may be faster than the stop.
	 */
	first = __sync_val_compare_and_swap(&target->leaver, 0, tid);
	if (first == tid)
		return 0;
	if (!first)
		announce(target->id, tgid);
	for (int i = 0; i < ROUNDS && !wait.done; i++)
		bpf_loop(LOOKS, look, &wait, 0);
	return 0;
}
