/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Do the seccomp filters of a process let the stub's madvise pass? Internal to user/guard. */
#ifndef MEMLEAKBPF_GUARD_GUARD_FILTERS_H
#define MEMLEAKBPF_GUARD_GUARD_FILTERS_H

#include <stdbool.h>

#include "user/base/reason.h"
#include "user/guard/guard_pages.h"

/* Zero: nothing is known, of a process without any. */
struct guard_filters {
	bool looked;		 /* what follows is what has come of it */
	bool pass;		 /* all let it pass */
	int count;		 /* of each thread, guard_filters_count() */
	unsigned tries;		 /* at which it stood still */
	char reason[REASON_MAX]; /* why not, a clause about the process */
};

/*
 * How many filters each thread has; -1: not all have as many, or it is not known. Filters are never taken away, and a
 * thread begins with those of the one that has made it: as long as all have as many as when it was looked, and all had as many
 * then, they are the same ones.
 */
int guard_filters_count(pid_t pid);

/*
 * Looks, unless that has been done and nothing has come since: all threads stand still for it, and pages->pause_ns is raised
 * to that. Where it cannot be looked, it is at a few later calls; where it could not be held, for a debugger
 * has it or it is frozen, at each.
 */
void guard_filters_look(struct guard_pages *pages, struct guard_filters *filters);

#endif
