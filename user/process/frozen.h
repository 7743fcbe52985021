/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that the freezer of their control group keeps from running (the kernel's cgroup-v2.rst, freezer-subsystem.rst). A
 * frozen thread runs nothing of its program until it is thawed, whatever wakes it up: a system call that it is to make
 * could only be waited for.
 */
#ifndef MEMLEAKBPF_PROCESS_FROZEN_H
#define MEMLEAKBPF_PROCESS_FROZEN_H

#include <stdbool.h>
#include <sys/types.h>

#include "user/process/cgroup.h"

struct frozen {
	/*
	 * The freezer's. 2: it sleeps where signals are looked at, so that ptrace stops it and SIGKILL ends it all the same.
	 * 1: neither does before it is thawed.
	 */
	int version;
	char group
		[CGROUP_PATH_MAX]; /* the one that was to be frozen, perhaps above its own; "": it cannot be seen from here */
};

/*
 * Is the thread, or a process's main one, frozen, or will it be before it runs anything more of its program? False too where that
 * cannot be told.
 */
bool frozen_look(pid_t tid, struct frozen *out);

/* The lines of /proc/PID/cgroup that the freezers go by. "": there is none. For frozen_look() and tests. */
struct frozen_paths {
	char v1[CGROUP_PATH_MAX], v2[CGROUP_PATH_MAX];
};
void frozen_parse(const char *text, struct frozen_paths *out);

#endif
