/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * System calls that are not needed any more are given up before the files of strangers are read
 * (seccomp(2), a classic BPF program): whoever finds a way to have us do something, by a file made
 * for that, finds less to be had.
 */
#ifndef MEMLEAKBPF_KERNEL_CONFINE_H
#define MEMLEAKBPF_KERNEL_CONFINE_H

#include <stdbool.h>

struct confine_needs {
	bool ptrace;  /* verdicts */
	bool network; /* debuginfod */
};

/*
 * For all threads of a tool that has begun, and what they make: no other program is run, nothing
 * mounted, no module loaded, no root, namespace or user changed, no memory of another process
 * written (but for verdicts), no socket opened but of AF_UNIX. Other architectures' calls (32 bit)
 * fail, too. What is refused fails with EPERM. no_new_privs is set. 0 or -errno, not logged: -EINVAL without seccomp
 * in the kernel.
 */
int confine_tool(const struct confine_needs *needs);

/*
 * For a process that reads one file that is in its memory already, and answers by descriptors that
 * are open: no capabilities, and no system calls but those of memory, of reading and writing, and
 * of its own end. 0 or -errno, not logged.
 */
int confine_reader(void);

/*
 * For the calling thread alone, which serves strangers on sockets that listen already: the same, and what it takes to
 * accept, read, write, wait and close. Threads that it has been called in keep confine_tool() from confining all: that
 * comes before they begin. 0 or -errno, not logged.
 */
int confine_server(void);

#endif
