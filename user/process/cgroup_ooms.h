/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Has a control group's memory limit made the kernel kill? Only version 2 of control groups says
 * so.
 */
#ifndef MEMLEAKBPF_PROCESS_CGROUP_OOMS_H
#define MEMLEAKBPF_PROCESS_CGROUP_OOMS_H

#include <stdbool.h>
#include <stdint.h>

#include "user/process/cgroup.h"

#define CGROUP_OOMS_MAX 16 /* groups above each other */

/* How often each group's limit has forced the kernel to kill so far. */
struct cgroup_ooms {
	const char *mount; /* of the hierarchy; static */
	char path[CGROUP_PATH_MAX];
	uint64_t counts[CGROUP_OOMS_MAX]; /* the group's own first, then those above */
	size_t depth;
};

/*
 * Reads the counts for a living process. 0; -ENOENT where the kernel does not count (before Linux
 * 5.2); or -errno.
 */
int cgroup_ooms_read(pid_t pid, struct cgroup_ooms *out);

/* The same for the group of that path below the mount. */
int cgroup_ooms_read_group(const char *mount, const char *path, struct cgroup_ooms *out);

/*
 * Has a limit killed since `before`? 1: yes; path is the group that has the limit, *limit its bytes
 * (0: unknown). 0: no. -errno: that cannot be told.
 */
int cgroup_ooms_since(const struct cgroup_ooms *before, char path[static CGROUP_PATH_MAX],
		      uint64_t *limit);

#endif
