/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Takes probes off without waiting for it. close() of a link makes the caller wait until all
 * running programs have ended, 30 to 80 ms a link. A caller that has SIGKILL pending meanwhile
 * leaves breakpoints behind (user/kernel/unkillable.h). So we make a file of bpffs the last
 * reference to a link, and remove the file. Then a thread of the kernel does the work: many links
 * at a time, at once, and nothing kills it. Sources: bpf_link_put() in the kernel's
 * kernel/bpf/syscall.c, bpf_free_inode() in kernel/bpf/inode.c.
 *
 * The bin is a bpffs of our own that is mounted nowhere: nobody else sees it, and it goes with us.
 */
#ifndef MEMLEAKBPF_KERNEL_LINK_BIN_H
#define MEMLEAKBPF_KERNEL_LINK_BIN_H

/* Returns a descriptor, the caller's to close; or -errno, not logged: needs CAP_SYS_ADMIN. */
int link_bin_new(void);

/*
 * Gives up a link's descriptor. The link's probes are taken off within some milliseconds. If the
 * bin is negative or does not take the link, they are off when this returns.
 */
void link_bin_drop(int bin, int link);

#endif
