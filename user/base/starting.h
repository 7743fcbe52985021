/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * While the tool starts, nothing depends on it yet. So a signal that ends it takes effect at once,
 * and not when the loop comes to it. The signals are blocked (user/session/loop_events.h): long
 * work either lets them end the process, or looks for them between its steps.
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
 * From here to starting_end() SIGINT, SIGTERM, SIGHUP and SIGQUIT end the process by themselves,
 * even those that it was born ignoring. The kernel must be able to take back all that the process
 * holds by then, as after SIGKILL. Make no thread and no process that lives on.
 */
void starting_begin(struct starting *before);
void starting_end(const struct starting *before);

/* Is one of these signals pending, blocked? */
bool starting_is_cancelled(void);

/* Ends the process by the pending signal. Returns where none is pending. */
void starting_obey(void);

#endif
