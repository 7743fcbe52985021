/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sums up the last snapshots of all targets: --error-exitcode. */
#ifndef MEMLEAKBPF_SESSION_OUTCOME_H
#define MEMLEAKBPF_SESSION_OUTCOME_H

#include <stdbool.h>

#include "user/model/report.h"

struct outcome {
	/*
	 * A last snapshot had leaks that are not suppressed: lost blocks with --verdict, live ones
	 * without it, or bad frees.
	 */
	bool found_leaks;
	bool left_unjudged; /* --verdict, and a process with live blocks ended without one */
	bool left_children; /* a child process was not looked at, or may not have been */
	bool left_heaps;    /* a process has a runtime whose own heap is not traced: heaps.kinds */
	bool left_unseen;   /* a process had grown beyond traced memory: growth.untraced */
};

/* Adds a target's last snapshot, with its suppressions. `verdict`: --verdict was given. */
void outcome_add(struct outcome *outcome, const struct report *last, bool verdict);

#endif
