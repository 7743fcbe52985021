/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The seccomp filters of a thread that the caller holds by ptrace. Internal to user/freeze. */
#ifndef MEMLEAKBPF_FREEZE_THREAD_FILTERS_H
#define MEMLEAKBPF_FREEZE_THREAD_FILTERS_H

#include <sys/types.h>

#include "user/base/reason.h"
#include "user/freeze/seccomp_filter.h"

/*
 * Do all filters let the call pass? 0: yes, or there are none. -EPERM: one may not, or they cannot
 * be read; with the reason, a clause about the process. Or another -errno. *count: how many there
 * are.
 */
int thread_filters_allow(pid_t tid, const struct filter_call *call, unsigned *count,
			 char reason[static REASON_MAX]);

#endif
