/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls that put breakpoints into other processes, or take them out, for which it must not
 * matter that we are killed meanwhile. The kernel gives such work up when the caller has SIGKILL
 * pending (mm/gup.c: fatal_signal_pending()): it says "failed to unregister, leaking uprobe", and a
 * breakpoint stays in the target, which then pays a trap at each call for as long as it lives.
 *
 * So a child makes the call: one that shares memory and descriptors with us, while we wait. kill -9
 * ends us at once; the child finishes, and as the last owner of the descriptors it closes them by
 * exiting, when nothing can be pending any more. It has a process group and a name of its own, for
 * signals that are sent to ours. What is sent to a whole control group, or by the kernel when
 * memory is out, still reaches both.
 */
#ifndef MEMLEAKBPF_KERNEL_UNKILLABLE_H
#define MEMLEAKBPF_KERNEL_UNKILLABLE_H

/* The call's result, or -errno. It must not block for long: nothing ends it. */
long unkillable_syscall(long number, long a, long b, long c, long d, long e);

/* close(), of a link or perf event that holds probes. A negative descriptor is nothing. */
void unkillable_close(int fd);

#endif
