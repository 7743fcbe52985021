/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Unwind rows of a Go program, from its own table of functions (user/process/go_functions.h): there they are whole and
 * right, also where .debug_frame was left out, and where that says what is not true, of the functions that change to
 * another stack.
 */
#ifndef MEMLEAKBPF_UNWIND_GO_ROWS_H
#define MEMLEAKBPF_UNWIND_GO_ROWS_H

#include <libelf.h>
#include <stdint.h>

#include "user/unwind/cfi.h"

/*
 * Appends the functions of a Go program with that rank; nothing where it is none. `fd`: the file of `elf`, of
 * cfi->machine. 0 or -ENOMEM.
 */
int go_rows_read(struct cfi *cfi, Elf *elf, int fd, uint32_t rank);

#endif
