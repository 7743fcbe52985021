/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What this kernel and our privileges allow. Each feature is tried when first asked for, then
 * remembered. A kernel's version says little (distributions backport). So we use each feature for
 * real on a function of our own, and look at its effect.
 */
#ifndef MEMLEAKBPF_KERNEL_FEATURE_H
#define MEMLEAKBPF_KERNEL_FEATURE_H

#include <stdbool.h>

enum feature {
	FEATURE_BTF,		 /* the kernel describes its types */
	FEATURE_BPF,		 /* we may load programs */
	FEATURE_RINGBUF,	 /* 5.8: events to user space in order */
	FEATURE_THREAD_ITERATOR, /* 6.1: programs that walk over the threads of one process */
	FEATURE_TASK_EVENTS,	 /* 5.5: programs on fork, exec and exit that see the task */
	FEATURE_FIND_VMA,	 /* 5.17: programs that look up a mapping */
	FEATURE_LOOP,		 /* 5.17: bpf_loop() */
	FEATURE_TAIL_CALL, /* 5.10, on aarch64 6.0: from a program that has functions of its own */
	FEATURE_READ_KERNEL,   /* bpf_probe_read_kernel(), which lockdown=confidentiality refuses */
	FEATURE_TASK_STORAGE,  /* 5.12: data kept with a task, from probe programs */
	FEATURE_TASK_WORK,     /* 6.18: programs that run in a task before it goes on */
	FEATURE_UPROBE,	       /* single uprobes */
	FEATURE_UPROBE_COOKIE, /* 5.15: ... that carry a cookie */
	FEATURE_UPROBE_SLEEPS, /* 6.0: programs on uprobes that may wait */
	FEATURE_UPROBE_MULTI,  /* 6.6: many probes in one link */
	FEATURE_UPROBE_MULTI_PID, /* 6.10: filtered by process, all its threads included */
	FEATURE_UPROBE_SESSION,	  /* 6.13: entry and return in one program; implies the filter */
	FEATURES,
};

struct features;

struct features *features_new(void);	       /* NULL when out of memory */
void features_free(struct features *features); /* NULL is fine */

/* Tries the feature, once; takes milliseconds. Not to be called from two threads at a time. */
bool features_have(struct features *features, enum feature feature);

/*
 * Which step failed in the trial, with the system's error: "creating a uprobe: Permission denied".
 * "" when the feature was not tried or is there.
 */
const char *features_why(const struct features *features, enum feature feature);

/*
 * The trial's error as -errno. 0 when the feature was not tried or is there, and when it works
 * otherwise than it should.
 */
int features_error(const struct features *features, enum feature feature);

#endif
