/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Taking probes off without waiting for it. close() of a link makes the caller wait until all
 * programs that run have ended, 30 to 80 ms a link; and a caller that has SIGKILL pending meanwhile
 * leaves breakpoints behind (user/kernel/unkillable.h). Where the last reference to a link is a file
 * of bpffs that is removed, a thread of the kernel does that work instead (bpf_link_put() in the
 * kernel's kernel/bpf/syscall.c, bpf_free_inode() in kernel/bpf/inode.c): many at a time, at once,
 * and nothing kills it.
 *
 * The bin is a bpffs of our own that is mounted nowhere: nobody else sees it, and it goes with us.
 */
#ifndef MEMLEAKBPF_KERNEL_LINK_BIN_H
#define MEMLEAKBPF_KERNEL_LINK_BIN_H

/* A descriptor, the caller's to close; or -errno, not logged: needs CAP_SYS_ADMIN. */
int link_bin_new(void);

/*
 * Gives up a link's descriptor: what is attached by it is taken off within some milliseconds, or
 * when this returns, if the bin is negative or does not take it.
 */
void link_bin_drop(int bin, int link);

#endif
