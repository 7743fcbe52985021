/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Do the seccomp filters of a process let the stub's madvise pass? Internal to user/guard. */
#ifndef MEMLEAKBPF_GUARD_GUARD_FILTERS_H
#define MEMLEAKBPF_GUARD_GUARD_FILTERS_H

#include <stdbool.h>

#include "user/base/reason.h"
#include "user/guard/guard_pages.h"

/* Zero: nothing is known yet, of a process without filters. */
struct guard_filters {
	bool looked;		 /* the rest is the result */
	bool pass;		 /* all let madvise pass */
	int count;		 /* of each thread, guard_filters_count() */
	unsigned tries;		 /* times that the process stood still for it */
	char reason[REASON_MAX]; /* why not, a clause about the process */
};

/*
 * How many filters each thread has; -1: not all have as many, or it is unknown. Filters are never
 * taken away, and a new thread has its maker's. So if all threads had the same number at the look,
 * and have it still, they have the same filters.
 */
int guard_filters_count(pid_t pid);

/*
 * Looks, unless that has been done and no filter has come since. All threads stand still for it,
 * and pages->pause_ns is raised to that time. If the look fails, a few later calls look again. If a
 * debugger or a freezer holds the process, each later call does.
 */
void guard_filters_look(struct guard_pages *pages, struct guard_filters *filters);

#endif
