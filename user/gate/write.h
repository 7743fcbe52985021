/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Changes a few bytes of a process, in several places at once. */
#ifndef MEMLEAKBPF_GATE_WRITE_H
#define MEMLEAKBPF_GATE_WRITE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/reason.h"
#include "user/freeze/stop.h"
#include "user/gate/gate_hold.h"

/*
 * Writes all pieces or none, while every thread of the process stands still. Tries again if a
 * thread stands in the midst of a piece, or if its time was over before we wrote. *pause_ns is
 * raised to the longest time for which it stood. 0, or -errno with the reason: -ESRCH, -ESTALE
 * (other bytes than expected), -ECANCELED (its holder ended: some may be written) …
 */
int gate_write_all(pid_t pid, const struct stop_piece *pieces, size_t count, uint64_t *pause_ns,
		   char reason[static REASON_MAX]);

/*
 * The same in a process that `hold` holds. Without a holder, or if the hold ended before the write
 * was done, it stops the threads as always, and the hold has ended. NULL is fine.
 */
int gate_write_held(struct gate_hold *hold, pid_t pid, const struct stop_piece *pieces,
		    size_t count, uint64_t *pause_ns, char reason[static REASON_MAX]);

#endif
