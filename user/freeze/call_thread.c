// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/freeze/call_thread.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>

#include "user/base/clock.h"
#include "user/freeze/signal_frames.h"

/* Newer than some libcs' headers: linux/ptrace.h of 5.13 and 6.4. */
#define GET_RSEQ_CONFIGURATION		 0x420f
#define GET_SYSCALL_USER_DISPATCH_CONFIG 0x4211

#define RED_ZONE 128	     /* below the stack pointer, may be in use */
#define LOOK_NS	 (NS_PER_MS) /* at a stop whose signal we have not got */

/* ---- may it be used? ---------------------------------------------------------------------- */

/*
 * Is the thread in a sequence that the kernel must restart when it moves the thread to another
 * processor? Other registers would make the kernel forget that.
 */
static bool call_thread_may_be_in_rseq(pid_t pid, const struct call_thread *t)
{
	struct {
		uint64_t address;
		uint32_t size, signature, flags, pad;
	} config;
	uint64_t sequence = 0;
	struct iovec to = {&sequence, sizeof(sequence)}, from;

	if (call_is_in_kernel(&t->registers))
		return false;
	if (ptrace((enum __ptrace_request)GET_RSEQ_CONFIGURATION, t->tid, sizeof(config), &config) <
	    0)
		return errno != EINVAL; /* EINVAL: the thread has none */
	if (!config.address)
		return false;
	/* struct rseq: cpu_id_start, cpu_id, rseq_cs. */
	from = (struct iovec){(void *)(uintptr_t)(config.address + 8), sizeof(sequence)};
	return process_vm_readv(pid, &to, 1, &from, 1, 0) != (ssize_t)sizeof(sequence) || sequence;
}

/* Wine and the like: a system call from an unexpected place becomes a signal. */
static bool call_thread_dispatches_calls(pid_t tid)
{
	struct {
		uint64_t mode, selector, offset, size;
	} config = {0};

	return ptrace((enum __ptrace_request)GET_SYSCALL_USER_DISPATCH_CONFIG, tid, sizeof(config),
		      &config) >= 0 &&
	       config.mode;
}

uint64_t call_thread_room(const struct maps *maps, const struct call_thread *t, size_t size)
{
	uint64_t sp = call_sp(&t->registers), base = (sp - RED_ZONE - size) & ~63ull;
	const struct mapping *m = maps_find(maps, sp);

	if (!m || !m->write || m->shared || m->ino || base < m->start + 4096 || base > sp)
		return 0;
	if (strcmp(m->path, "[stack]") != 0 && (t->tls <= sp || t->tls >= m->end))
		return 0;
	return base;
}

struct frames_room {
	uint64_t sp, base;
};

static bool call_thread_would_leave(void *ctx, const struct signal_frame *frame)
{
	const struct frames_room *room = ctx;

	return room->sp - frame->stack < frame->stack_size && room->base < frame->stack;
}

/*
 * A handler may run on an array that lies on the thread's own stack (sigaltstack): the stack that
 * it interrupted goes on below.
 */
static bool call_thread_leaves_handlers_stack(pid_t pid, const struct call_thread *t, uint64_t base)
{
	struct frames_room room = {.sp = call_sp(&t->registers), .base = base};

	return signal_frames_any(pid, room.sp, call_thread_would_leave, &room);
}

int call_thread_check(pid_t pid, const struct maps *maps, const struct call_thread *t, size_t size,
		      char reason[static REASON_MAX])
{
	struct user_regs_struct regs = t->registers;
	uint64_t room = call_thread_room(maps, t, size);

	if (!call_is_possible(&t->registers))
		return refuse(reason, -EBUSY,
			      "its thread %d runs 32-bit code, or waits in a call that cannot be "
			      "resumed",
			      (int)t->tid);
	if (!room || call_thread_leaves_handlers_stack(pid, t, room))
		return refuse(reason, -EBUSY,
			      "its thread %d has no room on a stack of the usual kind",
			      (int)t->tid);
	if (!call_registers_resumed(&regs, pid))
		return refuse(reason, -EBUSY,
			      "its thread %d waits in a call that cannot be resumed", (int)t->tid);
	if (call_thread_may_be_in_rseq(pid, t))
		return refuse(reason, -EBUSY,
			      "its thread %d is in a restartable sequence (rseq), or may be",
			      (int)t->tid);
	if (call_thread_dispatches_calls(t->tid))
		return refuse(reason, -EPERM,
			      "its system calls are turned into signals (syscall user dispatch, as "
			      "Wine does)");
	return 0;
}

/* ---- steps -------------------------------------------------------------------------------- */

int call_thread_next_stop(pid_t tid, uint64_t deadline_ns)
{
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	for (;;) {
		siginfo_t info = {0};
		struct timespec patience;
		uint64_t now;

		if (waitid(P_PID, (id_t)tid, &info,
			   WSTOPPED | WEXITED | WNOHANG | WNOWAIT | __WALL))
			return -errno;
		if (info.si_pid)
			return info.si_code == CLD_TRAPPED || info.si_code == CLD_STOPPED
				       ? info.si_status
				       : -ESRCH;
		now = monotonic_ns();
		if (now > deadline_ns)
			return -ETIMEDOUT;
		patience = ns_timespec(deadline_ns - now < LOOK_NS ? deadline_ns - now : LOOK_NS);
		/* A sleep until the deadline would take longer than the stop: 50 us and more. */
		sigtimedwait(&child, NULL, &patience);
	}
}

int call_thread_expect_stop(pid_t tid, int wanted, uint64_t deadline_ns)
{
	int stop = call_thread_next_stop(tid, deadline_ns);

	if (stop == wanted)
		return 0;
	return stop < 0 ? stop : -EINTR;
}

int call_thread_get_registers(pid_t tid, struct user_regs_struct *regs)
{
	struct iovec to = {regs, sizeof(*regs)};

	return ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &to) ? -errno : 0;
}

int call_thread_set_registers(pid_t tid, const struct user_regs_struct *regs)
{
	struct iovec from = {(void *)regs, sizeof(*regs)};

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &from) ? -errno : 0;
}

int call_thread_set_mask(pid_t tid, uint64_t mask)
{
	return ptrace(PTRACE_SETSIGMASK, tid, sizeof(mask), &mask) ? -errno : 0;
}

int call_thread_resume(pid_t tid, enum __ptrace_request how)
{
	return ptrace(how, tid, NULL, NULL) ? -errno : 0;
}
