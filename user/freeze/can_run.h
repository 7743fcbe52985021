/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether a process can be made to do anything by itself: not while something else has it stand still. */
#ifndef MEMLEAKBPF_FREEZE_CAN_RUN_H
#define MEMLEAKBPF_FREEZE_CAN_RUN_H

#include <sys/types.h>

#include "user/base/reason.h"
#include "user/process/frozen.h"

/*
 * 0, or -errno with the reason, a clause about "it", not logged: -EPERM (it is traced, stopped by a signal, or frozen: until somebody
 * else has it go on, which may be at any moment), -EBUSY (another memleakbpf holds it, for a moment), -ESRCH. Costs some reads
 * of /proc and of its control groups' files; nothing is stopped.
 */
int can_run_check(pid_t pid, char reason[static REASON_MAX]);

/* The same of one of its threads, which may be in another control group: is it frozen? 0 or -EPERM with the reason. */
int can_run_check_thread(pid_t tid, char reason[static REASON_MAX]);

/* What is said of one that is: -EPERM, and the reason. */
int can_run_refuse(const struct frozen *frozen, char reason[static REASON_MAX]);

#endif
