/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * While the tool starts nothing depends on it yet: a signal that ends it is obeyed at once then, and not
 * when the loop comes to it. Its signals are blocked (user/session/loop_events.h), so what takes long is
 * either made to end by them, or looks for them between its steps.
 */
#ifndef MEMLEAKBPF_BASE_STARTING_H
#define MEMLEAKBPF_BASE_STARTING_H

#include <signal.h>
#include <stdbool.h>

#define STARTING_SIGNALS 4

struct starting {
	sigset_t mask;
	struct sigaction actions[STARTING_SIGNALS];
};

/*
 * From here to starting_end() SIGINT, SIGTERM, SIGHUP and SIGQUIT end the process, by themselves: those
 * too that it was born ignoring. What it holds by then the kernel must be able to take back, as after
 * SIGKILL; no thread and no process may be made that lives on.
 */
void starting_begin(struct starting *before);
void starting_end(const struct starting *before);

/* Is one of them there, blocked? */
bool starting_is_cancelled(void);

/* Ends the process by the one that is there. Returns where none is. */
void starting_obey(void);

#endif
