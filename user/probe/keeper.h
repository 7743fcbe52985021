/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Keeps breakpoints where they are in a process whose main thread has ended before the others.
 *
 * The kernel puts the breakpoints of a link that is for one process into the memory of that
 * process's main thread, and takes them out of all other memory as soon as it looks again, which it
 * does when any tracer comes to or leaves the same place (kernel/events/uprobes.c, filter_chain();
 * kernel/trace/bpf_trace.c, uprobe_multi_link_filter()). A main thread that has ended has no
 * memory: its process would get no breakpoints, and lose those that it has. The link's programs
 * would run, though: for that the kernel asks for the process only. So there is a perf event of
 * another thread at each place, which does nothing but be a reason to have a breakpoint there.
 */
#ifndef MEMLEAKBPF_PROBE_KEEPER_H
#define MEMLEAKBPF_PROBE_KEEPER_H

#include <sys/types.h>

struct probe_set;

struct keeper;

/*
 * For the set's probes in the memory of the thread `tid`, as long as that lives. 0 and *out
 * (keeper_free), or -errno, not logged: -ESRCH when it has ended, -EACCES without CAP_SYS_ADMIN.
 */
int keeper_new(const struct probe_set *set, pid_t tid, struct keeper **out);
void keeper_free(struct keeper *keeper); /* NULL is fine */

#endif
