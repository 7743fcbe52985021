/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The duties of a process that holds another one by ptrace, a child of the tool's for that alone
 * (tracer.c, remote_child.c). It is on its own, and ends in time whatever happens. Internal to
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
 * Keeps of the tool's only these descriptors (-1: none) and standard error: descriptors that hold
 * probes must not outlive the tool. No signal of the terminal's or for the tool's group reaches the
 * child. Ends the child when the tool has ended already.
 */
void tracing_child_be_alone(pid_t tool, const int *kept, size_t count);

/*
 * Sets whether the child ends with the tool (PR_SET_PDEATHSIG), as it does at first. False: the
 * tool has ended.
 */
bool tracing_child_end_with(pid_t tool, bool ends);

/* Makes the timer that kills the child. 0 or -errno with the reason. */
int tracing_child_make_killer(timer_t *killer, char reason[static REASON_MAX]);

/* SIGKILL at that time (CLOCK_MONOTONIC), whether we run or not; 0: never. */
void tracing_child_set_killer(timer_t killer, uint64_t at_ns);

/* The child is killed so long after it should have let go. */
#define TRACING_CHILD_GRACE_NS (50 * NS_PER_MS)

/*
 * Sends SIGKILL that long after the deadline, or after now if the deadline is past: the child can
 * still let go and answer.
 */
void tracing_child_set_deadline(timer_t killer, uint64_t deadline_ns);

#endif
