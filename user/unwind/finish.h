/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The unwinder in user space: goes on with a walk that came to code whose tables the kernel did not have yet. */
#ifndef MEMLEAKBPF_UNWIND_FINISH_H
#define MEMLEAKBPF_UNWIND_FINISH_H

#include <stdint.h>

#include "bpf/abi.h"
#include "user/unwind/publish.h"

/*
 * Walks on from the last frame of copy->stack, over the copied stack, by the mappings of UNWIND_OWN_TARGET: the caller has set them to those that the
 * target had when the stack was copied. *out gets all frames (max_frames at most), the end, and the stack id that the kernel gives to such a stack. 0; -ENOENT when the place
 * is still unknown, -EBADMSG when the record is none; -ENOMEM. Not logged.
 */
int unwind_finish_copy(const struct unwind_publisher *publisher,
		       const struct stack_copy_event *copy, uint32_t max_frames,
		       struct stack_event *out);

#endif
