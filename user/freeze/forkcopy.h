/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A copy of a stopped process, by a fork that one of its threads is made to do (--snapshot=fork).
 * The copy never runs: it is a picture of the process's private memory at that moment.
 * docs/verdicts.md says what the process notices of it, and why nothing is left behind whenever the
 * tool is killed.
 *
 * forkcopy_make() is for the process that traces it (user/freeze/tracer.c). The copy is orphaned
 * when it is made, so process 1 of its PID namespace buries it.
 */
#ifndef MEMLEAKBPF_FREEZE_FORKCOPY_H
#define MEMLEAKBPF_FREEZE_FORKCOPY_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"
#include "user/freeze/call_thread.h"

/*
 * May the process be forked without harm, and where are the instructions? Call it before the
 * process is stopped. 0 and *out, or -errno with the reason, a clause about "it", not logged.
 */
int forkcopy_prepare(pid_t pid, struct call_code *out, char reason[static REASON_MAX]);

/*
 * Makes the copy. The calling thread must have stopped all threads of `pid`; one of the given
 * threads is used, and stands afterwards as before. 0 and *copy, a process that the calling thread
 * traces and that dies with it; or -errno with the reason. `deadline_ns` is on CLOCK_MONOTONIC.
 */
int forkcopy_make(pid_t pid, const struct call_code *code, const struct call_thread *threads,
		  size_t thread_count, uint64_t deadline_ns, pid_t *copy,
		  char reason[static REASON_MAX]);

#endif
