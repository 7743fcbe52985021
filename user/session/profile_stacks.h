/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What runtimes' own profiles have, as a snapshot: for formats that show stacks and nothing else. */
#ifndef MEMLEAKBPF_SESSION_PROFILE_STACKS_H
#define MEMLEAKBPF_SESSION_PROFILE_STACKS_H

#include "user/model/inspection.h"
#include "user/model/report.h"

/* The frames of such a snapshot. */
struct profile_stacks;

/*
 * 0, *out, and *report, which must be freed before *out; -ENOMEM. The inspection must outlive both.
 * Amounts are what the samples stand for.
 */
int profile_stacks_new(const struct inspection *inspection, struct profile_stacks **out,
		       struct report **report);
void profile_stacks_free(struct profile_stacks *stacks); /* NULL is fine */

#endif
