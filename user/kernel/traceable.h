/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Says whether a process can be traced at all, and if not what its user can do. */
#ifndef MEMLEAKBPF_KERNEL_TRACEABLE_H
#define MEMLEAKBPF_KERNEL_TRACEABLE_H

#include <sys/types.h>

/*
 * Can this process be traced? 0, or -errno with one logged line that says why not and what to do.
 * Reasons: no such process, a thread's id, a kernel thread, a zombie, a 32-bit or foreign program,
 * one under valgrind, no permission.
 */
int traceable_check(pid_t pid);

/* The same for callers that need ptrace(2) of the process, and no BPF. */
int traceable_check_ptrace(pid_t pid);

#endif
