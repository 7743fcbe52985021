/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The user's suppressions. */
#ifndef MEMLEAKBPF_SESSION_SUPPRESSIONS_H
#define MEMLEAKBPF_SESSION_SUPPRESSIONS_H

#include "user/analysis/suppress.h"
#include "user/session/session_config.h"

/*
 * Reads the files of --suppressions and adds the built-in ones. *out is NULL when there are none. 0
 * or -errno, logged.
 */
int suppress_open(const struct filter_config *config, struct suppressions **out);

/*
 * Do suppressions apply to this snapshot? If so all its stacks must be named. Built-in ones alone
 * apply only where leaks are judged: `judged` (--error-exitcode), or the snapshot has a verdict, or
 * should have.
 */
bool suppress_wanted(const struct filter_config *config, bool judged, const struct suppressions *s,
		     const struct snapshot *snapshot);

/*
 * Applies them to a report with named stacks, and --leak-only where the snapshot has a verdict:
 * formats leave out hidden stacks. 0 or -ENOMEM. `s` may be NULL.
 */
int suppress_stacks(const struct filter_config *config, bool judged, struct suppressions *s,
		    struct report *report);

/* The same for its misuses, which must have their names. */
void suppress_all_misuses(struct suppressions *s, struct report *report);
/* The same for some on their own. */
void suppress_misuses(struct suppressions *s, struct misuse *list, size_t count);

/* Logs unused ones and frees all. NULL is fine. */
void suppress_close(struct suppressions *s);

#endif
