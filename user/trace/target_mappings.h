/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Targets' mappings, as the unwinder has them. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_TARGET_MAPPINGS_H
#define MEMLEAKBPF_TRACE_TARGET_MAPPINGS_H

#include "user/trace/target.h"

/*
 * Gives the unwinder the mappings, if they have changed since. Failures are logged: stacks then end
 * early, and say so.
 */
void target_publish(struct trace *trace, struct target *target);
/* All targets' likewise, and takes away those of targets that have ended. */
void targets_publish(struct trace *trace);
/*
 * Makes the mappings that the target had at the last record those of UNWIND_OWN_TARGET. The kernel
 * has to know the present ones, so these are kept apart. 0 or -errno.
 */
int target_walk_here(struct trace *trace, const struct target *target);

#endif
