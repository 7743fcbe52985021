// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/cgroup_namespace.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/process/cgroup.h"

int cgroup_namespace_enter(pid_t pid)
{
	_cleanup_close_ int file = -1;
	struct stat own, other;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/ns/cgroup", (int)pid);
	file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0 || fstat(file, &other) || stat("/proc/thread-self/ns/cgroup", &own))
		return -errno;
	if (own.st_ino == other.st_ino && own.st_dev == other.st_dev)
		return 0;
	return setns(file, CLONE_NEWCGROUP) ? -errno : 0;
}

/* Are we in a namespace that does not show where process 1 is? */
static bool cgroup_namespace_hides(const struct cgroup *first)
{
	return !strncmp(first->path, "/..", 3) || !strncmp(first->memory, "/..", 3);
}

void cgroup_namespace_enter_first(void)
{
	int err = cgroup_namespace_enter(1);
	struct cgroup first;

	if (!err || cgroup_read(1, &first) || !cgroup_namespace_hides(&first))
		return;
	log_warn("control groups are named as this container sees them (%s): --cgroup and --unit "
		 "may not find what they name; add CAP_SYS_ADMIN and CAP_SYS_PTRACE",
		 strerror(-err));
}
