/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Programs that read their target's memory where they may not copy the kernel's. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_READ_USER_H
#define MEMLEAKBPF_TRACE_READ_USER_H

/*
 * libbpf takes a kernel that refuses bpf_probe_read_kernel() for one before 5.5, and makes
 * bpf_probe_read() of bpf_probe_read_user() as well, which is refused, too. From now on that is undone
 * in all programs on uprobes. 0, or -errno, logged.
 */
int read_user_keep(void);

#endif
