/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How this kernel is traced: which attach modes work, the best of them, and what has to be done
 * without.
 */
#ifndef MEMLEAKBPF_PROBE_PLAN_H
#define MEMLEAKBPF_PROBE_PLAN_H

#include <stdbool.h>

#include "user/probe/attach.h"
#include "user/kernel/feature.h"

struct attach_plan {
	bool works[ATTACH_MODES];
	enum attach_mode best; /* meaningless when none works */
	bool possible;	       /* one of them works */
	bool old;	   /* before 5.15: bpf/old.bpf.c's programs, and stacks by frame pointers */
	bool hold;	   /* a process can be held at its end (bpf/leave.bpf.c) */
	bool sleepers;	   /* there is an iterator over the threads of one process */
	bool task_storage; /* programs may keep data with a thread */
	bool find_vma;	   /* the kernel can be asked what is mapped at an address */
};

/* Tries what it has to; the answers stay in `features`. */
void attach_plan(struct features *features, struct attach_plan *out);

#endif
