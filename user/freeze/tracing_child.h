/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a process owes that holds another one by ptrace, a child of the tool's for that alone
 * (tracer.c, remote_child.c): to be on its own, and to end in time whatever happens. Internal to
 * user/freeze.
 */
#ifndef MEMLEAKBPF_FREEZE_TRACING_CHILD_H
#define MEMLEAKBPF_FREEZE_TRACING_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "user/base/clock.h"
#include "user/base/reason.h"

/*
 * What the child has of the tool's: these descriptors (-1: none) and standard error, nothing that
 * must not outlive it, as descriptors that hold probes. And no signal of the terminal's or for the
 * tool's group reaches it. Ends it when the tool has ended already.
 */
void tracing_child_be_alone(pid_t tool, const int *kept, size_t count);

/*
 * Does it end with the tool (PR_SET_PDEATHSIG), as it does until it says otherwise? False: the tool
 * has ended.
 */
bool tracing_child_end_with(pid_t tool, bool ends);

/* The timer that kills it. 0 or -errno with the reason. */
int tracing_child_make_killer(timer_t *killer, char reason[static REASON_MAX]);

/* SIGKILL at that time (CLOCK_MONOTONIC), whether we run or not; 0: never. */
void tracing_child_set_killer(timer_t killer, uint64_t at_ns);

/* So much later than it should have let go the child is killed. */
#define TRACING_CHILD_GRACE_NS (50 * NS_PER_MS)

/*
 * SIGKILL so much after the deadline, or after now if that has been: it can still let go and answer.
 */
void tracing_child_set_deadline(timer_t killer, uint64_t deadline_ns);

#endif
