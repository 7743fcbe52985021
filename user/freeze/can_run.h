/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Can a process be made to do anything by itself? Not while something else has it stand still. */
#ifndef MEMLEAKBPF_FREEZE_CAN_RUN_H
#define MEMLEAKBPF_FREEZE_CAN_RUN_H

#include <sys/types.h>

#include "user/base/reason.h"
#include "user/process/frozen.h"

/*
 * 0, or -errno with the reason, a clause about "it", not logged. -EPERM: it is traced, stopped by a
 * signal, or frozen, until somebody else lets it go on, at any moment. -EBUSY: another memleakbpf
 * holds it, for a moment. -ESRCH. Costs some reads of /proc and of its control groups' files; stops
 * nothing.
 */
int can_run_check(pid_t pid, char reason[static REASON_MAX]);

/*
 * Is a thread frozen? It may be in another control group than its process. 0 or -EPERM with the
 * reason.
 */
int can_run_check_thread(pid_t tid, char reason[static REASON_MAX]);

/* Refuses a frozen thread: -EPERM, and the reason. */
int can_run_refuse(const struct frozen *frozen, char reason[static REASON_MAX]);

#endif
