/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Single uprobes: perf events of the kernel's uprobe source. */
#ifndef MEMLEAKBPF_KERNEL_UPROBE_H
#define MEMLEAKBPF_KERNEL_UPROBE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * A probe on the instruction at that offset of the file, or on the return from the function that
 * begins there; pid 0: in every process. Returns a descriptor, to which a program can be attached,
 * for unkillable_close(); or -errno, not logged.
 */
int uprobe_open(const char *path, uint64_t offset, bool at_return, pid_t pid);

#endif
