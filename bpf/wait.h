/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread that waits for user space, in a sleepable program.
 *
 * There is nothing in BPF to sleep on that would end with the tool, so it looks again and again,
 * and gives the processor to others meanwhile. It stops looking when the tool has ended, when the
 * process is killed, when ptrace asks it to stop, and in any case after some time.
 */
#ifndef MEMLEAKBPF_BPF_WAIT_H
#define MEMLEAKBPF_BPF_WAIT_H

#include "bpf/config.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define LOOKS  (1u << 23) /* the most that bpf_loop() does */
#define ROUNDS 16	  /* a round of looks may be over in a second */

/* Bits of the kernel's include/linux/sched/jobctl.h and sched/signal.h; the same since 3.0. */
#define JOBCTL_TRAPS	  ((1ul << 19) | (1ul << 20)) /* JOBCTL_TRAP_STOP, JOBCTL_TRAP_NOTIFY */
#define SIGNAL_GROUP_EXIT 0x4u

struct wait {
	struct task_struct *task;
	uint64_t until_ns, sp;
	/* What it waits for: that user space has handled all that happened until then; 0: ptrace */
	uint64_t handled_ns;
	bool done, handled;
};

/* 1: enough. */
static long look(uint32_t i, struct wait *wait)
{
	struct task_struct *task = wait->task;
	uint64_t word;

	(void)i;
	wait->handled =
		wait->handled_ns && *(volatile uint64_t *)&shared.handled_ns >= wait->handled_ns;
	if (wait->handled || BPF_CORE_READ(task, jobctl) & JOBCTL_TRAPS ||
	    BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT ||
	    (wait->handled_ns && *(volatile uint32_t *)&shared.hands_full) || shared.tool_gone ||
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

static __always_inline void wait_for_tool(struct wait *wait)
{
	for (int i = 0; i < ROUNDS && !wait->done; i++)
		bpf_loop(LOOKS, look, wait, 0);
}

#endif
