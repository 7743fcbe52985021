/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Gives up the system calls that are not needed any more, before the files of strangers are read
 * (seccomp(2), a classic BPF program). Whoever takes us over by a file made for that can then do
 * less.
 */
#ifndef MEMLEAKBPF_KERNEL_CONFINE_H
#define MEMLEAKBPF_KERNEL_CONFINE_H

#include <stdbool.h>

struct confine_needs {
	bool ptrace;  /* verdicts */
	bool network; /* debuginfod */
};

/*
 * For all threads of a tool that has begun, and the threads that they start. It runs no other
 * program, mounts nothing, loads no module, and changes no root, namespace or user. It writes no
 * memory of another process (but for verdicts), and opens only AF_UNIX sockets. Other
 * architectures' calls (32 bit) are refused, too. A refused call fails with EPERM. Sets
 * no_new_privs. 0 or -errno, not logged: -EINVAL without seccomp in the kernel.
 */
int confine_tool(const struct confine_needs *needs);

/*
 * For a process that reads one file, which is in its memory already, and answers by open
 * descriptors. It keeps no capabilities, and only the system calls for memory, for reading and
 * writing, and for its own end. 0 or -errno, not logged.
 */
int confine_reader(void);

/*
 * For the calling thread alone, which serves strangers on sockets that listen already. It keeps
 * those calls, and those to accept, read, write, wait and close. Call confine_tool() before such
 * threads begin: it cannot confine all threads once one has called this. 0 or -errno, not logged.
 */
int confine_server(void);

#endif
