/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keeps breakpoints where they are in a process whose main thread has ended before the others.
 *
 * The kernel puts the breakpoints of a link for one process into the memory of that process's main
 * thread. It takes them out of all other memory as soon as it looks again: when any tracer comes to
 * or leaves the same place. (filter_chain() in kernel/events/uprobes.c, uprobe_multi_link_filter()
 * in kernel/trace/bpf_trace.c.) A main thread that has ended has no memory. Its process would get
 * no breakpoints, and lose those that it has. The link's programs would run, though: for that the
 * kernel asks for the process only. So we put a perf event of another thread at each place. It only
 * gives the kernel a reason for a breakpoint.
 */
#ifndef MEMLEAKBPF_PROBE_KEEPER_H
#define MEMLEAKBPF_PROBE_KEEPER_H

#include <sys/types.h>

struct probe_set;

struct keeper;

/*
 * Keeps the set's probes in the memory of the thread `tid`, as long as that lives. 0 and *out
 * (keeper_free), or -errno, not logged: -ESRCH when the thread has ended, -EACCES without
 * CAP_SYS_ADMIN.
 */
int keeper_new(const struct probe_set *set, pid_t tid, struct keeper **out);
void keeper_free(struct keeper *keeper); /* NULL is fine */

#endif
