/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* That we work is told to the programs, which hold processes for us. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_WORK_H
#define MEMLEAKBPF_TRACE_WORK_H

#include "user/base/clock.h"
#include "user/trace/skeleton.h"
#include "user/trace/state.h"

/*
 * Tells the programs that we have done something. The kernel holds a process for as long as we go
 * on working. After it has held one in vain, it holds the next ones again (bpf/hold.h, bpf/wait.h).
 */
static inline void trace_note_work(struct trace *trace)
{
	struct shared *shared = &trace->skel->bss->shared;

	__atomic_store_n(&shared->worked_cpu_ns, clock_ns(CLOCK_THREAD_CPUTIME_ID),
			 __ATOMIC_RELEASE);
	__atomic_store_n(&shared->worked_ns, monotonic_ns(), __ATOMIC_RELEASE);
	__atomic_store_n(&shared->waited_ns, 0, __ATOMIC_RELEASE);
}

#endif
