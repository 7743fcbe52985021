/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * /proc/PID/cgroup is written as seen from the reader's control group namespace (cgroup_namespaces(7)). A container's
 * own shows other processes at "/../../kubepods…", where no filter of a name or a group finds them.
 */
#ifndef MEMLEAKBPF_KERNEL_CGROUP_NAMESPACE_H
#define MEMLEAKBPF_KERNEL_CGROUP_NAMESPACE_H

#include <sys/types.h>

/*
 * Has the calling thread, and those that it starts from now on, see control groups as that process does; process 1
 * for the machine's names. 0 where it does so already; -EACCES or -EPERM where we may not, and another -errno. Logs
 * nothing.
 */
int cgroup_namespace_enter(pid_t pid);

/* The same of process 1; where that fails although we are in another namespace, a warning says what it means. */
void cgroup_namespace_enter_first(void);

#endif
