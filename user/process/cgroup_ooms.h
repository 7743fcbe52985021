/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Has a control group's memory limit made the kernel kill? Version 2 of control groups says so.
 * Version 1 counts how often a limit was reached, also where the kernel found memory then. Linux
 * 6.18 was seen not to count even where it killed for one.
 */
#ifndef MEMLEAKBPF_PROCESS_CGROUP_OOMS_H
#define MEMLEAKBPF_PROCESS_CGROUP_OOMS_H

#include <stdbool.h>
#include <stdint.h>

#include "user/process/cgroup.h"

#define CGROUP_OOMS_MAX 16 /* groups above each other */

/* How often each group's limit has forced the kernel to kill so far; version 1: was reached. */
struct cgroup_ooms {
	const char *mount; /* of the hierarchy; static */
	int version;	   /* of control groups: 1 or 2 */
	char path[CGROUP_PATH_MAX];
	uint64_t counts[CGROUP_OOMS_MAX]; /* the group's own first, then those above */
	size_t depth;
};

/*
 * Reads the counts for a living process. 0; -ENOENT where the kernel does not count (before Linux
 * 5.2); or -errno.
 */
int cgroup_ooms_read(pid_t pid, struct cgroup_ooms *out);

/* The same for the group of that path below the mount of a hierarchy of that version. */
int cgroup_ooms_read_group(const char *mount, int version, const char *path,
			   struct cgroup_ooms *out);

enum cgroup_oom {
	CGROUP_OOM_NONE,  /* no limit has killed */
	CGROUP_OOM_LIMIT, /* this one has */
	CGROUP_OOM_REACHED, /* this one was reached, the innermost of those that were: perhaps it has */
};

/*
 * Has a limit killed since `before`? enum cgroup_oom: path is the group that has the limit, *limit its
 * bytes (0: unknown). -errno: that cannot be told.
 */
int cgroup_ooms_since(const struct cgroup_ooms *before, char path[static CGROUP_PATH_MAX],
		      uint64_t *limit);

#endif
