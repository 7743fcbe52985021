/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Why a process that a filter of --keep names is not sampled. Part of the keeper. */
#ifndef MEMLEAKBPF_KEEP_KEEP_REFUSED_H
#define MEMLEAKBPF_KEEP_KEEP_REFUSED_H

#include <stdbool.h>

#include "user/keep/keep_entry.h"

/* Keeps the reason, and logs the first one since it was sampled, if ever; not one that has ended. */
void keep_refused_note(struct kept *kept, const char *reason, bool ended);

/*
 * Does somebody have it stand still (frozen, stopped, traced)? Then that is the reason, and nothing
 * is tried. Each tick looks again, which costs some reads of files. The process can be sampled from
 * the first tick that finds it otherwise.
 */
bool keep_refused_stands(struct kept *kept);

#endif
