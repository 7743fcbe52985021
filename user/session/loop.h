/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The event loop of watching and running. */
#ifndef MEMLEAKBPF_SESSION_LOOP_H
#define MEMLEAKBPF_SESSION_LOOP_H

#include <sys/types.h>

#include "user/session/selection.h"
#include "user/session/session.h"

/*
 * Runs until the count is reached, every target has ended, or a signal asks to stop; prints the
 * last snapshots. `child` is the command that we started (0: none): its end ends the loop, signals
 * go to it, and *child_status is its wait status. With a selection (NULL: none) the loop also
 * traces processes that come to match, and goes on when all targets have ended. 0 or -errno,
 * logged.
 */
int loop_run(struct session *session, const struct watch_config *config,
	     struct selection *selection, pid_t child, int *child_status);

#endif
