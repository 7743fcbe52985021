/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Maps what a program of the kernel's says to a process's stubs: guard_layout.h, GUARD_SAID.
 * Internal to user/guard.
 */
#ifndef MEMLEAKBPF_GUARD_GUARD_SAID_H
#define MEMLEAKBPF_GUARD_GUARD_SAID_H

#include "user/base/reason.h"
#include "user/freeze/remote.h"
#include "user/process/program_memory.h"

/* Who is to map it, and where: GUARD_SAID_SIZE bytes, in place of what is there. */
struct guard_said {
	pid_t pid;
	const struct program_memory *program;
	uint64_t address;
};

/*
 * Has the held process map the array `file`. It gets a descriptor for that, and has none afterwards.
 * 0. -errno with the reason, a clause about it: if remote_is_lost(), it may have mapped it;
 * otherwise it has not.
 */
int guard_said_map(struct remote *remote, const struct guard_said *where, int file,
		   char reason[static REASON_MAX]);

#endif
