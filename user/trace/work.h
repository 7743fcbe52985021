/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* That we work is told to the programs, which hold processes for us. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_WORK_H
#define MEMLEAKBPF_TRACE_WORK_H

#include "user/base/clock.h"
#include "user/trace/skeleton.h"
#include "user/trace/state.h"

/*
 * We have done something. Who is held is held for as long as that goes on, and after one that was held in vain the next ones
 * are held again (bpf/hold.h, bpf/wait.h).
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
