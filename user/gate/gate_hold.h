/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process that has just begun and has one thread stands still while it gets what it is to have before it goes on:
 * guards (user/guard), then all gates, one after the other, so that no call of any is missed.
 */
#ifndef MEMLEAKBPF_GATE_GATE_HOLD_H
#define MEMLEAKBPF_GATE_GATE_HOLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"

/* Without a holder: it runs. */
struct gate_hold {
	struct remote *holder; /* user/freeze/remote.h */
	uint64_t since_ns;     /* CLOCK_MONOTONIC */
	bool lost; /* it has gone on before all was made: from now on it is held for each part alone, and for less */
};

/* Has it more than one thread, or do other processes run in its memory? True also where that is unknown. */
bool gate_has_threads(pid_t pid);

/*
 * A thread of the process that is to make calls: the one that is held, which stays so; without `hold` any, until
 * gate_hold_leave(). That, too, where the process has come to have others before this one stood still: *hold then has no
 * holder, and who changes code has to stop all of them. `loose`: by this thread, as remote_begin_with() has it. 0, or
 * -errno with the reason.
 */
int gate_hold_enter(pid_t pid, struct gate_hold *hold, pid_t loose, struct remote **out,
		    char reason[static REASON_MAX]);

/*
 * Its calls are made, or have failed. For how long it has stood still, ns; 0 where it still does. `failed`: it is not held
 * any more. *loose is for the next try: a thread that may be in a call yet, or 0.
 */
uint64_t gate_hold_leave(struct gate_hold *hold, struct remote *remote, bool failed, pid_t *loose);

/*
 * Is what has failed by `err` after so many tries, 1 or more, to be tried again? Something has been mapped there meanwhile
 * (-EEXIST); no thread can be used at this moment (-EBUSY); or the thread, or who holds it, had no processor in time
 * (-ETIMEDOUT, -ECANCELED): then it waits, each time for longer, for some tenths of a second. What may not be used from the
 * beginning (-EPERM: frozen, stopped, traced) is not waited for; where it has come to that since the first try it is, without
 * holding anything.
 */
bool gate_hold_again(int err, int tries);

/* Lets the process go on. Nothing, where it does already. */
void gate_hold_end(struct gate_hold *hold);

#endif
