/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The kernel writes /proc/PID/cgroup as seen from the reader's control group namespace
 * (cgroup_namespaces(7)). A container's own namespace shows other processes at "/../../kubepods…",
 * where no filter of a name or a group finds them.
 */
#ifndef MEMLEAKBPF_KERNEL_CGROUP_NAMESPACE_H
#define MEMLEAKBPF_KERNEL_CGROUP_NAMESPACE_H

#include <sys/types.h>

/*
 * Makes the calling thread, and those that it starts from now on, see control groups as that
 * process does. Process 1 sees the machine's names. 0 also where the thread does so already;
 * -EACCES or -EPERM where we may not; another -errno. Logs nothing.
 */
int cgroup_namespace_enter(pid_t pid);

/*
 * Enters process 1's namespace. If that fails while we are in another one, a warning says what that
 * means.
 */
void cgroup_namespace_enter_first(void);

#endif
