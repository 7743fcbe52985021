/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Holds a process that has just begun and has one thread, until it has its guards (user/guard) and
 * then all gates, one after the other. So no call of any is missed.
 */
#ifndef MEMLEAKBPF_GATE_GATE_HOLD_H
#define MEMLEAKBPF_GATE_GATE_HOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"

/* Without a holder the process runs. */
struct gate_hold {
	struct remote *holder; /* user/freeze/remote.h */
	uint64_t since_ns;     /* CLOCK_MONOTONIC */
	/* it went on before all was made: from now on each part holds it alone, and for less */
	bool lost;
};

/*
 * Has it more than one thread, or do other processes share its memory? True also where that is
 * unknown.
 */
bool gate_has_threads(pid_t pid);

/*
 * Finds a thread of the process to make calls: the held one, which stays held; without `hold` any
 * thread, until gate_hold_leave(). Any thread, too, if the process made others before this one
 * stood still. Then *hold has no holder, and whoever changes code has to stop all threads. `loose`:
 * use this thread, as in remote_begin_with(). 0, or -errno with the reason.
 */
int gate_hold_enter(pid_t pid, struct gate_hold *hold, pid_t loose, struct remote **out,
		    char reason[static REASON_MAX]);

/*
 * The calls are made, or have failed. Returns for how long the thread has stood still, in ns; 0
 * where it still does. `failed`: it is not held any more. *loose is for the next try: a thread that
 * may still be in a call, or 0.
 */
uint64_t gate_hold_leave(struct gate_hold *hold, struct remote *remote, bool failed, pid_t *loose);

/*
 * Is a part that failed with `err` after so many tries (1 or more) to be tried again? Yes if
 * something has been mapped there meanwhile (-EEXIST), or no thread can be used at this moment
 * (-EBUSY). Yes also if the thread or its holder had no processor in time (-ETIMEDOUT, -ECANCELED).
 * Then it waits, each time for longer, for some tenths of a second. -EPERM (frozen, stopped,
 * traced) at the first try is no; later it waits as well, and holds nothing.
 */
bool gate_hold_again(int err, int tries);

/* Lets the process go on. Does nothing if it runs already. */
void gate_hold_end(struct gate_hold *hold);

#endif
