/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a thread that stands still will go back to from its signal handlers. The kernel has put a
 * frame on its stack before it ran each of them. Frames are known by their form alone. So one of a
 * handler that returned long ago may be found as well, where nothing has been written over it.
 * Internal to user/freeze.
 */
#ifndef MEMLEAKBPF_FREEZE_SIGNAL_FRAMES_H
#define MEMLEAKBPF_FREEZE_SIGNAL_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct signal_frame {
	uint64_t ip; /* where the thread goes on */
	/* the alternate signal stack that the frame sets; size 0: none */
	uint64_t stack, stack_size;
};

/*
 * Calls `visit` for each frame within SIGNAL_FRAMES_REACH above the stack pointer until it returns
 * true. Returns whether it did. If a frame interrupted another stack, as a handler on an alternate
 * stack does, goes on there: on SIGNAL_FRAMES_STACKS stacks at most. Reads the process's memory;
 * unreadable memory has no frames. On machines other than x86_64 finds none. Takes 130 KiB of
 * stack.
 */
#define SIGNAL_FRAMES_REACH  (128 * 1024)
#define SIGNAL_FRAMES_STACKS 4
bool signal_frames_any(pid_t pid, uint64_t sp,
		       bool (*visit)(void *ctx, const struct signal_frame *frame), void *ctx);

#endif
