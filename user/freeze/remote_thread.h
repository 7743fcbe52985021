/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Chooses the thread of a running process that is made to do system calls. Internal to user/freeze.
 */
#ifndef MEMLEAKBPF_FREEZE_REMOTE_THREAD_H
#define MEMLEAKBPF_FREEZE_REMOTE_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"
#include "user/freeze/call_thread.h"
#include "user/process/maps.h"

struct remote_thread {
	struct call_thread thread;
	bool filtered;	   /* its seccomp filter is suspended for as long as it is traced */
	bool alone;	   /* no other thread may stop later */
	uint64_t start_ns; /* when it stood still */
};

/*
 * Stops a thread that may be used with frames of `size` bytes: `only`, as long as it lives; 0: any.
 * Sets PTRACE_O_TRACESYSGOOD and, where that is permitted, PTRACE_O_SUSPEND_SECCOMP. 0 and *out, or
 * -errno with the reason, not logged. The caller's end lets threads go that did not stop in time;
 * the others are let go at once.
 */
int remote_thread_take(pid_t pid, pid_t only, const struct maps *maps, size_t size,
		       uint64_t deadline_ns, struct remote_thread *out,
		       char reason[static REASON_MAX]);

#endif
