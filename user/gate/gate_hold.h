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

#include "user/base/log.h"

/* Zero: it runs. */
struct gate_hold {
	struct remote *holder; /* user/freeze/remote.h */
	uint64_t since_ns;     /* CLOCK_MONOTONIC */
};

/*
 * A thread of the process that is to make calls: the one that is held, which stays so; without `hold` any, until
 * gate_hold_leave(). 0, or -errno with the reason.
 */
int gate_hold_enter(pid_t pid, struct gate_hold *hold, struct remote **out,
		    char reason[static REASON_MAX]);

/* Its calls are made. For how long it has stood still, ns; 0 where it still does. `failed`: it is not held any more. */
uint64_t gate_hold_leave(struct gate_hold *hold, struct remote *remote, bool failed);

/* Lets the process go on. Nothing, where it does already. */
void gate_hold_end(struct gate_hold *hold);

#endif
