/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Changing a few bytes of a process, in several places at once. */
#ifndef MEMLEAKBPF_GATE_WRITE_H
#define MEMLEAKBPF_GATE_WRITE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "user/base/log.h"
#include "user/freeze/remote.h"

#define GATE_WRITE_MAX 8

struct gate_write {
	uint64_t address;
	uint32_t size;			  /* GATE_WRITE_MAX at most, in one page */
	uint8_t expected[GATE_WRITE_MAX]; /* what must be there */
	uint8_t bytes[GATE_WRITE_MAX];
	uint32_t busy; /* no thread may stand in so many bytes from there on, but at the first */
};

/*
 * All of them or none, while every thread of the process stands still; where one stands in the midst
 * of it, it is tried again. *pause_ns is raised to the longest time for which it stood. 0, or -errno
 * with the reason: -ESRCH, -EBUSY (it is not as expected), …
 */
int gate_write_all(pid_t pid, const struct gate_write *writes, size_t count, uint64_t *pause_ns,
		   char reason[static REASON_MAX]);

/*
 * The same for a process whose only thread stands still in `holder`'s
 * hands, and not where anything is written.
 */
int gate_write_held(struct remote *holder, pid_t pid, const struct gate_write *writes, size_t count,
		    char reason[static REASON_MAX]);

#endif
