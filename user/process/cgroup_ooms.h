/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Has a control group's memory limit made the kernel kill? Version 2 only: version 1 does not tell. */
#ifndef MEMLEAKBPF_PROCESS_CGROUP_OOMS_H
#define MEMLEAKBPF_PROCESS_CGROUP_OOMS_H

#include <stdbool.h>
#include <stdint.h>

#include "user/process/cgroup.h"

#define CGROUP_OOMS_MAX 16 /* groups above each other */

/* How often each group's limit left the kernel no way but to kill, so far. */
struct cgroup_ooms {
	const char *mount; /* of the hierarchy; static */
	char path[CGROUP_PATH_MAX];
	uint64_t counts[CGROUP_OOMS_MAX]; /* the group's own first, then those above */
	size_t depth;
};

/* Of the process, which is alive. 0; -ENOENT where that is not told (before Linux 5.2); or -errno. */
int cgroup_ooms_read(pid_t pid, struct cgroup_ooms *out);

/* Of the group of that path below the mount. As cgroup_ooms_read(). */
int cgroup_ooms_read_group(const char *mount, const char *path, struct cgroup_ooms *out);

/*
 * Since then: 1 and the group whose limit it was, with the limit in bytes (0: unknown); 0: none was;
 * -errno: that cannot be told.
 */
int cgroup_ooms_since(const struct cgroup_ooms *before, char path[static CGROUP_PATH_MAX],
		      uint64_t *limit);

#endif
