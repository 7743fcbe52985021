// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Reads the threads of a process that sleep in certain system calls, with their registers. These
 * are in the kernel's memory, where the thread left them when it entered the kernel and when it
 * left its processor. Nobody is woken. An object of its own, which needs none of the tracing maps.
 *
 * A thread may wake up while this looks at it, or later: a record holds as long as `switches` does
 * not change. The kernel adds to that before anybody sees a thread off the processor that it leaves
 * (__schedule() of kernel/sched/core.c). So a thread that is off its processor now, with the same
 * number, has not run in between.
 */
#include "bpf/sleepers_abi.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual BSD/GPL";

#define TASK_INTERRUPTIBLE 1u
#define PF_KTHREAD	   0x00200000u

/* A bit for each system call in which a thread may be left asleep. */
const volatile uint64_t calls[SLEEPER_CALLS / 64];

/* Otherwise only who sleeps. */
bool registers_wanted;

/* One look at a time. */
struct {
	struct sleeper head;
	uint8_t vector[SLEEPER_VECTOR_MAX];
} record;

uint32_t order;

/*
 * Later reads see a state no older than earlier ones. An addition whose result is used is a full
 * barrier.
 */
static __always_inline void barrier_between_reads(void)
{
	volatile uint32_t before = __sync_fetch_and_add(&order, 1);

	(void)before;
}

static __always_inline uint64_t switches_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, nvcsw) + BPF_CORE_READ(task, nivcsw);
}

/*
 * `on_cpu` is an int; on 7.3 it is a byte with others behind it, one of which says that the thread
 * is blocked. Reads as many bytes as this kernel has.
 */
static __always_inline bool is_asleep(struct task_struct *task)
{
	return !BPF_CORE_READ_BITFIELD_PROBED(task, on_cpu) &&
	       BPF_CORE_READ(task, __state) & TASK_INTERRUPTIBLE;
}

#if defined(__TARGET_ARCH_x86)
/* Since 6.16 it lies behind the task. */
struct thread_struct___before_6_16 {
	struct fpu fpu;
} __attribute__((preserve_access_index));

struct task_struct___before_6_16 {
	struct thread_struct___before_6_16 thread;
} __attribute__((preserve_access_index));

/* All bits set: it is in the kernel for another reason. */
static __always_inline uint32_t call_of(const struct pt_regs *regs)
{
	return (uint32_t)BPF_CORE_READ(regs, orig_ax);
}

/* XSAVE's area in the kernel's form, compacted or not. */
static __always_inline const void *vector_of(struct task_struct *task, uint32_t *size)
{
	struct task_struct___before_6_16 *old = (void *)task;
	struct fpstate *state;
	struct fpu *fpu;

	if (bpf_core_field_exists(old->thread.fpu))
		fpu = &old->thread.fpu;
	else
		fpu = (void *)task + bpf_core_type_size(struct task_struct);
	state = BPF_CORE_READ(fpu, fpstate);
	*size = BPF_CORE_READ(state, size);
	return &state->regs;
}

static __always_inline void read_bases(struct task_struct *task)
{
	record.head.tls = BPF_CORE_READ(task, thread.fsbase);
	record.head.gs_base = BPF_CORE_READ(task, thread.gsbase);
}
#else
static __always_inline uint32_t call_of(const struct pt_regs *regs)
{
	const struct pt_regs___whole *whole = (const void *)regs;

	return (uint32_t)BPF_CORE_READ(whole, syscallno);
}

/* In a system call only the first 128 bits of a vector register count. */
static __always_inline const void *vector_of(struct task_struct *task, uint32_t *size)
{
	*size = bpf_core_field_size(task->thread.uw.fpsimd_state.vregs);
	return &task->thread.uw.fpsimd_state.vregs;
}

static __always_inline void read_bases(struct task_struct *task)
{
	record.head.tls = BPF_CORE_READ(task, thread.uw.tp_value);
	record.head.gs_base = 0;
}
#endif

/* False: treat it as a thread that runs. */
static __always_inline bool read_vector(struct task_struct *task)
{
	const void *from;
	uint32_t size;

	record.head.vector_size = 0;
	if (!registers_wanted)
		return true;
	from = vector_of(task, &size);
	if (!size || size > SLEEPER_VECTOR_MAX || bpf_probe_read_kernel(record.vector, size, from))
		return false;
	record.head.vector_size = size;
	return true;
}

SEC("iter/task")
int sleepers(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	const struct pt_regs *regs;
	uint64_t switches;
	uint32_t size, call;

	if (!task)
		return 0;
	switches = switches_of(task);
	barrier_between_reads();
	if (!is_asleep(task) || task->flags & PF_KTHREAD)
		return 0;
	barrier_between_reads();
	regs = (const void *)bpf_task_pt_regs(task);
	if (bpf_probe_read_kernel(record.head.general, sizeof(record.head.general), regs))
		return 0;
	/* Threads that work for io_uring have no registers of their own. */
	if (!record.head.general[SLEEPER_SP])
		return 0;
	call = call_of(regs);
	if (call >= SLEEPER_CALLS)
		return 0;
	barrier_var(call); /* not combined: the verifier would not see the limit */
	if (!(calls[call / 64 % (SLEEPER_CALLS / 64)] >> call % 64 & 1))
		return 0;
	record.head.tid = (uint32_t)task->pid;
	record.head.switches = switches;
	read_bases(task);
	if (!read_vector(task) || switches_of(task) != switches)
		return 0;
	size = sizeof(record.head) + ((record.head.vector_size + 7) & ~7u);
	if (size <= sizeof(record))
		bpf_seq_write(ctx->meta->seq, &record, size);
	return 0;
}
