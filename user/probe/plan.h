/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How this kernel is traced: the attach mode, and what we have to do without. */
#ifndef MEMLEAKBPF_PROBE_PLAN_H
#define MEMLEAKBPF_PROBE_PLAN_H

#include <stdbool.h>

#include "user/probe/attach_mode.h"
#include "user/kernel/feature.h"

struct attach_plan {
	enum attach_mode best; /* the wanted mode, if it works; meaningless when none does */
	bool possible;	       /* one of them works */
	bool old;	   /* before 5.15: bpf/old.bpf.c's programs, and stacks by frame pointers */
	bool hold;	   /* a process can be held at its end (bpf/leave.bpf.c) */
	bool hold_new;	   /* a new process can be held before it runs (bpf/hold.h) */
	bool task_storage; /* programs may keep data with a thread */
	bool find_vma;	   /* the kernel can be asked what is mapped at an address */
	bool loops;	   /* programs may have the kernel call a function many times */
	bool typed_reads; /* programs may not copy the kernel's memory, and read it by typed pointers */
	bool tail_calls; /* programs that have functions may go on in others */
};

/*
 * Does the mode work? Tries it, in some ten milliseconds; ATTACH_AUTO does not. The answer stays in
 * `features`.
 */
bool attach_mode_works(struct features *features, enum attach_mode mode);

/* Makes the plan. Tries what it has to, and no modes that are worse than one that works. */
void attach_plan(struct features *features, enum attach_mode wanted, struct attach_plan *out);

#endif
