/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that their control group's freezer keeps from running (the kernel's cgroup-v2.rst,
 * freezer-subsystem.rst). A frozen thread runs nothing of its program until it is thawed, whatever
 * wakes it up. So a system call that we want it to make would have to wait for the thaw.
 */
#ifndef MEMLEAKBPF_PROCESS_FROZEN_H
#define MEMLEAKBPF_PROCESS_FROZEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "user/process/cgroup.h"

struct frozen {
	/*
	 * The freezer's. 2: the thread sleeps where signals are looked at, so ptrace stops it and
	 * SIGKILL ends it all the same. 1: neither does before the thaw.
	 */
	int version;
	char group
		/*
		 * the group to be frozen, perhaps above the thread's own; "": it cannot be seen
		 * from here
		 */
		[CGROUP_PATH_MAX];
};

/*
 * Is the thread (or a process's main one) frozen, or about to be before it runs more of its
 * program? False too where that cannot be told.
 */
bool frozen_look(pid_t tid, struct frozen *out);

/*
 * The paths in /proc/PID/cgroup by which the freezers go. "": there is none. For frozen_look() and
 * tests.
 */
struct frozen_paths {
	char v1[CGROUP_PATH_MAX], v2[CGROUP_PATH_MAX];
};
void frozen_parse(const char *text, struct frozen_paths *out);

#endif
