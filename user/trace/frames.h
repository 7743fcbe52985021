/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The unwinder over the stacks of a memory image. */
#ifndef MEMLEAKBPF_TRACE_FRAMES_H
#define MEMLEAKBPF_TRACE_FRAMES_H

#include <sys/user.h>

#include "bpf/abi.h"
#include "user/unwind/finish.h"

/* Where a walk from the thread's registers begins. */
struct unwind_regs frames_registers(const struct user_regs_struct *regs);

/*
 * An unwind_read_fn; ctx is the struct memory_image. Of code there is nothing in it: the walk can
 * do without.
 */
int frames_read_image(void *ctx, void *to, uint32_t size, uint64_t address);

#endif
