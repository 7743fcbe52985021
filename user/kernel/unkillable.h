/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls that put breakpoints into other processes or take them out, and that finish even if
 * we are killed meanwhile. The kernel gives such work up when the caller has SIGKILL pending
 * (mm/gup.c: fatal_signal_pending()). It says "failed to unregister, leaking uprobe", and a
 * breakpoint stays in the target. The target then pays a trap at each call for as long as it lives.
 *
 * So a child makes the call, while we wait: it shares memory and descriptors with us. kill -9 ends
 * us at once, and the child finishes. As the last owner of the descriptors it closes them by
 * exiting, when nothing can be pending any more. It has a process group and a name of its own, so
 * signals sent to ours miss it. Signals to a whole control group, or the kernel's when memory is
 * out, still reach both.
 */
#ifndef MEMLEAKBPF_KERNEL_UNKILLABLE_H
#define MEMLEAKBPF_KERNEL_UNKILLABLE_H

/* Returns the call's result, or -errno. The call must not block for long: nothing ends it. */
long unkillable_syscall(long number, long a, long b, long c, long d, long e);

/* close(), of a link or perf event that holds probes. A negative descriptor is nothing. */
void unkillable_close(int fd);

#endif
