/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_KERNEL_CPUS_H
#define MEMLEAKBPF_KERNEL_CPUS_H

#include <stddef.h>

/*
 * Reads the numbers of the CPUs that are online, ascending. The caller frees *out. 0 or -errno, not
 * logged.
 */
int cpus_online(unsigned **out, size_t *count);

/*
 * Parses the kernel's list format, "0-3,5,7-9" (cpuset(7)); for cpus_online() and tests. 0, -EINVAL
 * or -ENOMEM.
 */
int cpus_parse(const char *text, unsigned **out, size_t *count);

#endif
