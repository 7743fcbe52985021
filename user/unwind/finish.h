/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The unwinder in user space. It walks a piece of stack that the kernel has copied, or the memory
 * of a process that stands still.
 */
#ifndef MEMLEAKBPF_UNWIND_FINISH_H
#define MEMLEAKBPF_UNWIND_FINISH_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/abi.h"
#include "bpf/unwind.h"
#include "user/unwind/publish.h"

/*
 * Walks on from the last frame of copy->stack, over the copied stack, by the mappings of
 * UNWIND_OWN_TARGET. The caller has set these to the target's mappings at the time of the copy.
 * *out gets all frames (max_frames at most), the end, and the stack id that the kernel gives to
 * such a stack. 0; -ENOENT when the place is still unknown, -EBADMSG for a damaged record; -ENOMEM.
 * Not logged.
 */
int unwind_finish_copy(const struct unwind_publisher *publisher,
		       const struct stack_copy_event *copy, uint32_t max_frames,
		       struct stack_event *out);

/*
 * The stack id of a walk by frame pointers alone, once the files of its frames are known: the same
 * id as bpf/walk.h makes. Needs no tables.
 */
uint64_t unwind_stack_id(const struct location *locations, size_t count, uint8_t end);

/* Reads memory for a walk. 0, or an error when it is not there. */
typedef int (*unwind_read_fn)(void *ctx, void *to, uint32_t size, uint64_t address);

struct unwind_frame {
	uint64_t pc;
	bool is_return_address; /* else execution stopped there */
	uint64_t sp, cfa;	/* its contents: [sp, cfa) */
};

/*
 * Finds the frame that has an address of a thread's stack. Walks up from the thread's registers, by
 * the mappings of UNWIND_OWN_TARGET as above. 0 and *out; -ERANGE when the address lies above the
 * thread's first frame. -ENOENT when the walk does not get there for certain, and for the frame
 * that the kernel puts on the stack for a signal handler. -ENOMEM. Not logged.
 */
int unwind_find_frame(const struct unwind_publisher *publisher, const struct unwind_regs *regs,
		      unwind_read_fn read, void *ctx, uint64_t address, struct unwind_frame *out);

/*
 * Calls fn for the frames from the registers on, innermost first, while it returns true. Stops at
 * the first frame that unwind tables do not vouch for. As above otherwise. 0 or -ENOMEM.
 */
int unwind_each_frame(const struct unwind_publisher *publisher, const struct unwind_regs *regs,
		      unwind_read_fn read, void *ctx,
		      bool (*fn)(void *fn_ctx, const struct unwind_frame *frame), void *fn_ctx);

#endif
