/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why a process cannot be stopped. Internal to user/freeze. */
#ifndef MEMLEAKBPF_FREEZE_STOP_REFUSED_H
#define MEMLEAKBPF_FREEZE_STOP_REFUSED_H

#include <sys/types.h>

#include "user/freeze/stop.h"

/* The state in /proc/PID/task/TID/stat, 0 when it is gone. */
char stop_thread_state(pid_t pid, pid_t tid);

/* The name of the processes that hold others: tracing_child.c. */
#define STOP_TRACER_NAME "holding"

/*
 * Explains why PTRACE_SEIZE of a thread of `pid` has failed with the errno `err`. -errno, and the
 * reason; -EBUSY where another memleakbpf holds it, for a moment.
 */
int stop_explain(pid_t pid, int err, char reason[static REASON_MAX]);

#endif
