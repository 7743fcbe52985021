/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Causes of loss, which the programs count and people are shown. Most of user/ does not include this
 * header, so that a new cause rebuilds only who counts or names them.
 */
#ifndef MEMLEAKBPF_BPF_LOST_CAUSE_H
#define MEMLEAKBPF_BPF_LOST_CAUSE_H

#include "bpf/language.h"

#define LOST_ENUMERATOR(constant, name, text) LOST_##constant,

/*
 * Things that could not be recorded, by cause. Counted per target (where the target is known),
 * shown when not zero.
 */
enum lost_cause {
	LOST_LIVE_FULL = 0, /* allocation: no room in the live map */
	LOST_STACKS_FULL,   /* allocation counted, stack not: no counter slot left */
	LOST_FRAMES,	    /* allocation counted, stack not: ring buffer full */
	LOST_THREADS_FULL,  /* allocation: no room for the thread's state */
	/* allocation: a return without its call (stack switched, or attached in mid-call) */
	LOST_PENDING,
	LOST_MISSED_FREE, /* free: an address was handed out again, so its free had not been seen */
	LOST_OUT_POINTER, /* allocation: the result pointer could not be read */
	LOST_EVENTS,	  /* process event (fork, exec, exit) not delivered: ring buffer full */
	LOST_TARGETS_FULL,  /* child process not followed: no room in the target table */
	LOST_BAD_FREES,	    /* bad frees not recorded: too many different ones */
	LOST_PARTIAL_UNMAP, /* munmap that splits a mapping, or has too large a range to search */
	/*
	 * process or mapping event: the kernel did not run our program
	 * (user/trace/recursion_misses.h), and counted that itself
	 */
	LOST_RECURSION,
	/* allocator: its probes came when the program could already have called it */
	LOST_LATE_PROBES,
	LOST_SHORT_CHILDREN, /* child process: it ended before its probes were in */
	LOST_REMOVED_PROBES, /* everything for a while: the kernel took an object's probes out */
	/* allocation: no room among the samples that the gate keeps in the target */
	LOST_GATE_FULL,
	LOST_PYTHON, /* allocation counted, its Python functions not followed: bpf/runtime/python_abi.h */
	LOST_JAVA, /* allocation counted, some of its Java frames not followed or not named: bpf/runtime/hotspot_abi.h */
	LOST_SCOPES, /* call of a --scope function not followed: too deep, or no room */
	LOST_V8, /* allocation counted, some of its JavaScript frames not followed or without their line: bpf/runtime/v8_abi.h */
	LOST_KEPT_FULL, /* allocation: the process has its maximum of live samples (--keep-live) */
	/* allocation counted, its frames of that interpreter (LOST_RUBY, ...) not followed */
	RUNTIME_INTERPRETERS(LOST_ENUMERATOR) LOST_CAUSES,
};

#endif
