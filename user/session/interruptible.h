/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes to somebody who does not read. SIGINT, SIGTERM, SIGHUP and SIGQUIT are blocked and taken
 * by the loop (loop.h), which does not come to that while a write waits.
 */
#ifndef MEMLEAKBPF_SESSION_INTERRUPTIBLE_H
#define MEMLEAKBPF_SESSION_INTERRUPTIBLE_H

#include <stdbool.h>
#include <stdio.h>

/*
 * Between these two one signal is kept for the loop, so that a slow reader gets everything. The
 * next one ends us, like a program that does not handle it. They do nothing where the signals are
 * not blocked. Main thread only, not nested.
 */
void interruptible_begin(void);
void interruptible_end(void);

/* caller_file_create(); the first signal ends us in it: a FIFO may have no reader. */
struct caller_file_kept;
FILE *interruptible_create(const char *path, bool secret, struct caller_file_kept *kept);

#endif
