/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The page faults of a process's threads, those to come too, given to a BPF program. */
#ifndef MEMLEAKBPF_PATCH_GUARD_FAULTS_H
#define MEMLEAKBPF_PATCH_GUARD_FAULTS_H

#include <stdbool.h>
#include <sys/types.h>

#include "user/base/reason.h"

struct guard_faults;

/*
 * All threads stand still meanwhile, so that none is born unseen; `held`: it has one, which does already. `program` is the descriptor of one of type
 * perf_event. 0 and *out; or -errno with the reason, a clause about the process, not logged.
 */
int guard_faults_open(pid_t pid, bool held, int program, struct guard_faults **out,
		      char reason[static REASON_MAX]);

/* NULL is fine. */
void guard_faults_free(struct guard_faults *faults);

#endif
