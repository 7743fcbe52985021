/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where stacks begin in musl, whose code has no unwind rows: what calls main() and a thread's function leaves their result to
 * exit() or pthread_exit(), and never returns.
 */
#ifndef MEMLEAKBPF_UNWIND_MUSL_ENDS_H
#define MEMLEAKBPF_UNWIND_MUSL_ENDS_H

#include "user/unwind/cfi.h"

/*
 * Appends these places of a file without rows there, with that rank; nothing where it is not musl.
 * `fd`: the file, of cfi->machine. `has_trampoline`: signal handlers return to code of it that has no rows. Without, only a
 * static program is looked at: one that handles no signal has none of musl's. 0 or -ENOMEM.
 */
int musl_ends_add(struct cfi *cfi, int fd, bool has_trampoline, uint32_t rank);

#endif
