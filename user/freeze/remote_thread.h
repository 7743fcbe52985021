/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which thread of a running process is made to do system calls. Internal to user/freeze. */
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
	bool filtered; /* it has a seccomp filter, which is suspended for as long as it is traced */
	bool alone;    /* none of the others may stop later */
	uint64_t start_ns; /* when it stood still */
};

/*
 * Stops one that may be used with frames of `size` bytes: `only`, as long as there is that one; 0:
 * any. Its options are PTRACE_O_TRACESYSGOOD and, where that is permitted, PTRACE_O_SUSPEND_SECCOMP.
 * 0 and *out, or -errno with the reason, not logged. Threads that did not stop in time are let go by
 * the caller's end, and others at once.
 */
int remote_thread_take(pid_t pid, pid_t only, const struct maps *maps, size_t size,
		       uint64_t deadline_ns, struct remote_thread *out,
		       char reason[static REASON_MAX]);

#endif
