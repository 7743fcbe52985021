/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Changing a few bytes of a process, in several places at once. */
#ifndef MEMLEAKBPF_GATE_WRITE_H
#define MEMLEAKBPF_GATE_WRITE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"
#include "user/freeze/stop.h"
#include "user/gate/gate_hold.h"

/*
 * All of them or none, while every thread of the process stands still; where one stands in the midst
 * of it, or its time was over before we came to it, it is tried again. *pause_ns is raised to the
 * longest time for which it stood. 0, or -errno with the reason: -ESRCH, -ESTALE (it is not as
 * expected), -ECANCELED (who held it ended: some may be written) …
 */
int gate_write_all(pid_t pid, const struct stop_piece *pieces, size_t count, uint64_t *pause_ns,
		   char reason[static REASON_MAX]);

/*
 * The same in a process that stands still by `hold`. Where that has no holder, or was over before it was done, its threads
 * are stopped for it as always, and the hold has ended. NULL is fine.
 */
int gate_write_held(struct gate_hold *hold, pid_t pid, const struct stop_piece *pieces,
		    size_t count, uint64_t *pause_ns, char reason[static REASON_MAX]);

#endif
