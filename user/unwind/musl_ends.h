/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where stacks begin in musl, whose code has no unwind rows. The callers of main() and of a
 * thread's function pass the result to exit() or pthread_exit(), which never return.
 */
#ifndef MEMLEAKBPF_UNWIND_MUSL_ENDS_H
#define MEMLEAKBPF_UNWIND_MUSL_ENDS_H

#include "user/unwind/cfi.h"

/*
 * Appends these places, with that rank, if the file is musl and has no rows there. `fd`: the file,
 * of cfi->machine. `has_trampoline`: signal handlers return to code of the file that has no rows.
 * Without it, only a static program is looked at: a static program that handles no signal has none
 * of musl's trampolines. 0 or -ENOMEM.
 */
int musl_ends_add(struct cfi *cfi, int fd, bool has_trampoline, uint32_t rank);

#endif
