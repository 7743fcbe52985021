/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A target's anchor is the thread by whose memory the kernel finds the target. The kernel does so
 * when it puts in the probes of links that are for one process. At first the anchor is the main
 * thread. When an anchor ends before the others (pthread_exit() in main), another thread takes its
 * place (user/probe/keeper.h). Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_ANCHOR_H
#define MEMLEAKBPF_TRACE_ANCHOR_H

#include "user/trace/target.h"

/* Chooses the anchor of a target that is about to get its first probes. */
void anchor_choose(struct trace *trace, struct target *target);
/* Attaches the probes of a->set in the target. 0, or -errno, logged but for -ESRCH. */
int anchor_attach(struct trace *trace, const struct target *target, struct target_attachment *a);
/* The thread `tid`, which was the anchor, has ended. */
void anchor_replace(struct trace *trace, struct target *target, pid_t tid);

/*
 * Are the probes of such a target still there? They may be taken out where keepers could not be
 * made. Counted as LOST_REMOVED_PROBES once an object, and said.
 */
void anchor_check(struct trace *trace, struct target *target);

#endif
