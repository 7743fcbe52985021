/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A thread that is made to do system calls (calls.h): which thread may be, and the steps. For the
 * process that traces it, with all signals blocked and SIGCHLD not ignored (tracing_child.h).
 * Internal to user/freeze.
 */
#ifndef MEMLEAKBPF_FREEZE_CALL_THREAD_H
#define MEMLEAKBPF_FREEZE_CALL_THREAD_H

#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>

#include "user/base/reason.h"
#include "user/freeze/calls.h"
#include "user/process/maps.h"

/* Stops, as call_thread_next_stop() returns them. */
/* with PTRACE_O_TRACESYSGOOD: a system call's beginning or end */
#define STOP_CALL  (SIGTRAP | 0x80)
#define STOP_CLONE (SIGTRAP | PTRACE_EVENT_CLONE << 8)
#define STOP_ASKED (SIGTRAP | PTRACE_EVENT_STOP << 8)

/* A thread that stands in a stop made by PTRACE_INTERRUPT. */
struct call_thread {
	pid_t tid;
	uint64_t tls;
	struct user_regs_struct registers;
};

/*
 * Finds where `size` bytes may be written below the thread's stack pointer. The stack is the
 * process's own, or one whose owner lies above it, as pthread_create() makes them. Returns a
 * multiple of 64; 0: nowhere.
 */
uint64_t call_thread_room(const struct maps *maps, const struct call_thread *t, size_t size);

/*
 * May the thread be made to do calls as it stands, with frames of `size` bytes? 0, or -errno with
 * the reason, a clause about "it", not logged.
 */
int call_thread_check(pid_t pid, const struct maps *maps, const struct call_thread *t, size_t size,
		      char reason[static REASON_MAX]);

/*
 * Waits for a tracee's next stop, and returns what waitpid() says without its low byte. Leaves the
 * stop to be seen again: see user/freeze/tracees.c. -errno: no stop came by then (CLOCK_MONOTONIC),
 * or the thread ended.
 */
int call_thread_next_stop(pid_t tid, uint64_t deadline_ns);

/* -EINTR: another stop came. */
int call_thread_expect_stop(pid_t tid, int wanted, uint64_t deadline_ns);

/* ptrace(2), with -errno for failures. */
int call_thread_get_registers(pid_t tid, struct user_regs_struct *regs);
int call_thread_set_registers(pid_t tid, const struct user_regs_struct *regs);
int call_thread_set_mask(pid_t tid, uint64_t mask);
int call_thread_resume(pid_t tid, enum __ptrace_request how);

#endif
