/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where stacks begin in musl, whose code has no unwind rows: what calls main() and a thread's function leaves their result to
 * exit() or pthread_exit(), and never returns.
 */
#ifndef MEMLEAKBPF_UNWIND_MUSL_ENDS_H
#define MEMLEAKBPF_UNWIND_MUSL_ENDS_H

#include "user/unwind/cfi.h"

/*
 * Appends these places of a file without rows there, with that rank; nothing where it is not musl, or its machine is not x86-64.
 * `fd`: the file, of cfi->machine. 0 or -ENOMEM.
 */
int musl_ends_add(struct cfi *cfi, int fd, uint32_t rank);

#endif
