/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Unwind rows of a Go program, from its own table of functions (user/process/go_functions.h). That
 * table is whole and right, even without .debug_frame. For functions that change to another stack,
 * .debug_frame is wrong.
 */
#ifndef MEMLEAKBPF_UNWIND_GO_ROWS_H
#define MEMLEAKBPF_UNWIND_GO_ROWS_H

#include <libelf.h>
#include <stdint.h>

#include "user/unwind/cfi.h"

/*
 * Appends the functions of a Go program with that rank; for other programs nothing. `fd`: the file
 * of `elf`, of cfi->machine. 0 or -ENOMEM.
 */
int go_rows_read(struct cfi *cfi, Elf *elf, int fd, uint32_t rank);

#endif
