/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Single uprobes: perf events of the kernel's uprobe source. */
#ifndef MEMLEAKBPF_KERNEL_UPROBE_H
#define MEMLEAKBPF_KERNEL_UPROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Puts a probe on the instruction at that offset of the file, or on the return from the function
 * that begins there. pid 0: in every process. Returns a descriptor, to which a program can be
 * attached, for unkillable_close(); or -errno, not logged.
 */
int uprobe_open(const char *path, uint64_t offset, bool at_return, pid_t pid);

/*
 * The same with a counter: the offset in the file of a 16-bit number, 0: none. The kernel adds one
 * to this number in each process that it puts the probe into, for as long as the probe is there.
 * All probes on an instruction have the same counter. At 4 GiB or above: -ERANGE.
 */
int uprobe_open_counted(const char *path, uint64_t offset, uint64_t counter, bool at_return,
			pid_t pid);

#endif
