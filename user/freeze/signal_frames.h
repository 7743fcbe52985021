/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a thread that stands still will go back to from its signal handlers: the frames that the kernel has put on
 * its stack before it ran them. They are known by their form alone, so one of a handler that has returned long
 * ago may be found as well, where nothing has been written over it. Internal to user/freeze.
 */
#ifndef MEMLEAKBPF_FREEZE_SIGNAL_FRAMES_H
#define MEMLEAKBPF_FREEZE_SIGNAL_FRAMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct signal_frame {
	uint64_t ip;		    /* where the thread goes on */
	uint64_t stack, stack_size; /* the alternate signal stack that it has set; size 0: none */
};

/*
 * Shows those within SIGNAL_FRAMES_REACH above the stack pointer, until `visit` returns true; whether it did. Where one
 * of them was interrupted on another stack, as by a handler on an alternate one, those there as well; of so many stacks
 * at most. Reads the process's memory; what cannot be read has none. On machines other than x86_64 none is found.
 * Takes 130 KiB of stack.
 */
#define SIGNAL_FRAMES_REACH  (128 * 1024)
#define SIGNAL_FRAMES_STACKS 4
bool signal_frames_any(pid_t pid, uint64_t sp,
		       bool (*visit)(void *ctx, const struct signal_frame *frame), void *ctx);

#endif
