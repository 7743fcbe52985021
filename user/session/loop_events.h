/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Events that all our loops wait for: signals, by a descriptor, and the next interval. */
#ifndef MEMLEAKBPF_SESSION_LOOP_EVENTS_H
#define MEMLEAKBPF_SESSION_LOOP_EVENTS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/signalfd.h>

/*
 * Blocks the signals that loops read (SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD)
 * and ignores SIGPIPE. Call it before anything else, so that no signal is lost. *old is the mask
 * that a command we start must get back. 0 or -errno, not logged.
 */
int loop_block_signals(sigset_t *old);

/*
 * Raises the limit of open files: each object of a target costs a descriptor, and so does each
 * link. *old is the limit that a command we start must get back.
 */
void loop_raise_file_limit(struct rlimit *old);

/* Poll both for reading; neither blocks. */
struct loop_events {
	int signals; /* the ones that loop_block_signals() has blocked */
	int timer;
};

/* interval_ns: 0 is never. 0 or -errno, logged; call loop_events_close() in either case. */
int loop_events_open(uint64_t interval_ns, struct loop_events *events);
void loop_events_close(struct loop_events *events);

/* Takes the next signal that has come; false: there is none. */
bool loop_events_signal(const struct loop_events *events, struct signalfd_siginfo *info);

/* Has an interval passed since the last call that returned true? Several at once count as one. */
bool loop_events_interval(const struct loop_events *events);

#endif
