/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a process had allocated at one time, so that a later profile says what has changed since. */
#ifndef MEMLEAKBPF_SERVE_PROFILE_BASE_H
#define MEMLEAKBPF_SERVE_PROFILE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/model/report.h"

struct profile_base;

/* Of the report nothing is kept. NULL when out of memory. */
struct profile_base *profile_base_new(const struct report *report);
void profile_base_free(struct profile_base *base); /* NULL is fine */

/* How much memory it takes. */
size_t profile_base_bytes(const struct profile_base *base);

/*
 * Makes the amounts of the report's stacks, and the time it covers, those since the base. What has become less is as an
 * int64_t of the same bits would be. False: the report is of another process, or of what this one has become by exec, and
 * stays as it is.
 */
bool profile_base_subtract(const struct profile_base *base, struct report *report);

#endif
