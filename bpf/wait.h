/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread that waits for user space, in a sleepable program.
 *
 * BPF has nothing to sleep on that would end with the tool, so it looks again and again, and gives
 * the processor to others meanwhile. It stops looking when the tool has ended or is stopped itself,
 * when the process is killed, and when ptrace asks it to stop. It stops in any case after some
 * time. A tool for which somebody has waited all that time, and that has done nothing since, is not
 * waited for again.
 */
#ifndef MEMLEAKBPF_BPF_WAIT_H
#define MEMLEAKBPF_BPF_WAIT_H

#include "bpf/kernel_read.h"

#include <bpf/bpf_helpers.h>

#define LOOKS  (1u << 23) /* the most that bpf_loop() does */
#define ROUNDS 16	  /* a round of looks may be over in a second */

/*
 * Probes take 3 to 30 ms, but the tool may be writing a report and reading debug information. A
 * tool that does not answer costs the target this once. It is more where each program is to be seen
 * from its first instruction, less where a process in use opens a library.
 */
#define WAIT_EXACT_NS 5000000000ull
#define WAIT_LATE_NS  200000000ull
/* And so much longer while it loads programs, which it does once for each kind of target. */
#define WAIT_LOADING_NS 5000000000ull

/* Bits of the kernel's include/linux/sched/jobctl.h and sched/signal.h; the same since 3.0. */
#define JOBCTL_TRAPS	  ((1ul << 19) | (1ul << 20)) /* JOBCTL_TRAP_STOP, JOBCTL_TRAP_NOTIFY */
#define SIGNAL_GROUP_EXIT 0x4u

/*
 * sched.h: __TASK_STOPPED and __TASK_TRACED, the same since 4.14; TASK_FROZEN, since 6.1. And
 * JOBCTL_TRAP_FREEZE.
 */
#define STATE_STILL  (0x4u | 0x8u | 0x8000u)
#define JOBCTL_STILL (1ul << 23)

#define FLAG_NO_EXEC 0x40u /* PF_FORKNOEXEC of sched.h, the same since 2.6 */

struct wait {
	struct task_struct *task;
	uint64_t until_ns;
	uint64_t sp; /* an address to read at; 0: the caller gives the processor to others */
	/* It waits until user space has handled all events up to then; 0: for ptrace */
	uint64_t handled_ns;
	bool done, handled;
	/* goes on while user space does work that waits for running programs to end */
	bool patient;
};

/*
 * By SIGSTOP, Ctrl-Z, a debugger or the freezer. After its end another task may lie there. What was
 * kept of it is no typed pointer.
 */
static __always_inline bool tool_stands_still(void)
{
	struct task_struct *tool = (void *)shared.tool_task;

	return tool && !kernel_typed() &&
	       (BPF_CORE_READ(tool, __state) & STATE_STILL ||
		BPF_CORE_READ(tool, jobctl) & JOBCTL_STILL);
}

/*
 * It would go on, and has no processor: since it worked last it has used less of one than it is waited for. Of a tool whose
 * first thread is not the one that works that is never seen.
 */
static __always_inline bool tool_is_starved(void)
{
	struct task_struct *tool = (void *)shared.tool_task;

	return tool && !BPF_CORE_READ(tool, __state) &&
	       BPF_CORE_READ(tool, se.sum_exec_runtime) -
			       *(volatile uint64_t *)&shared.worked_cpu_ns <
		       WAIT_EXACT_NS;
}

static __always_inline bool tool_answers(void)
{
	return shared.waited_ns <= *(volatile uint64_t *)&shared.handled_ns;
}

/* What lies in memory is no typed pointer. The task that waits is the current one. */
static __always_inline struct task_struct *wait_task(const struct wait *wait)
{
	return kernel_typed() ? kernel_current_task() : wait->task;
}

/*
 * Does ptrace ask it to stop? For us, or, if it can wait no longer, for anybody. A process that has
 * just begun need not stop for its debugger before it has its probes.
 */
static __always_inline bool trapped(const struct wait *wait)
{
	struct task_struct *task = wait_task(wait);

	if (!(kernel_read(task, jobctl) & JOBCTL_TRAPS))
		return false;
	/* The tool, or a child of it that is the same program. */
	return !wait->patient || (uint32_t)kernel_read(task, parent, tgid) == config.tool ||
	       ((uint32_t)kernel_read(task, parent, real_parent, tgid) == config.tool &&
		kernel_read(task, parent, flags) & FLAG_NO_EXEC);
}

static __always_inline bool waited_enough(const struct wait *wait)
{
	uint64_t now = bpf_ktime_get_ns();

	return now > wait->until_ns &&
	       (!*(volatile uint32_t *)&shared.loading || now > wait->until_ns + WAIT_LOADING_NS);
}

/* 1: enough. */
static long look(uint32_t i, struct wait *wait)
{
	struct task_struct *task = wait_task(wait);
	uint64_t word;

	(void)i;
	wait->handled =
		wait->handled_ns && *(volatile uint64_t *)&shared.handled_ns >= wait->handled_ns;
	if (wait->handled || trapped(wait) ||
	    kernel_read(task, signal, flags) & SIGNAL_GROUP_EXIT ||
	    (wait->handled_ns && !wait->patient && *(volatile uint32_t *)&shared.hands_full) ||
	    shared.tool_gone || tool_stands_still() || waited_enough(wait)) {
		wait->done = true;
		return 1;
	}
	/*
	 * The kernel calls cond_resched() in there. A kernel that does not preempt itself might
	 * otherwise have no processor left for the tool.
	 */
	if (!wait->sp)
		return 0;
	bpf_copy_from_user_task(&word, sizeof(word), (void *)wait->sp, bpf_get_current_task_btf(),
				0);
	return 0;
}

/*
 * One round; nonzero when it is enough. A function of its own: the verifier goes through it once,
 * and not in each round. bpf_loop() works only with its caller's stack.
 */
__weak __noinline int wait_round(struct wait *wait)
{
	struct wait own;

	if (!wait)
		return 1;
	own = *wait;
	bpf_loop(LOOKS, look, &own, 0);
	*wait = own;
	return own.done;
}

static __always_inline void wait_for_tool(struct wait *wait)
{
	uint64_t now = bpf_ktime_get_ns();

	for (int i = 0; i < ROUNDS; i++) {
		if (wait_round(wait))
			break;
	}
	if (!wait->handled && bpf_ktime_get_ns() > wait->until_ns)
		shared.waited_ns = now;
}

#endif
