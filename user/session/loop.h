/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The event loop of watching and running. */
#ifndef MEMLEAKBPF_SESSION_LOOP_H
#define MEMLEAKBPF_SESSION_LOOP_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "user/session/session.h"

/*
 * Blocks the signals that the loop reads (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2,
 * SIGCHLD) and ignores SIGPIPE. To be called before anything else, so that no signal is lost; *old
 * is the mask that a command we start must get back.
 */
int loop_block_signals(sigset_t *old);

/* Those signals. */
void loop_signal_set(sigset_t *set);

/*
 * Each object of a target costs a descriptor, and so does each link. *old is the limit that a
 * command we start must get back.
 */
void loop_raise_file_limit(struct rlimit *old);

/*
 * Runs until the count is reached, every target has ended, or a signal asks to stop; prints the
 * last snapshots. `child` is the command that we started (0: none): its end ends the loop, signals
 * go to it, and *child_status is its wait status. 0 or -errno, logged.
 */
int loop_run(struct session *session, const struct watch_config *config, pid_t child,
	     int *child_status);

#endif
