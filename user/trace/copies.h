/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Takes the stacks that user space is to finish (struct stack_copy_event) out of their ring buffer
 * as they come, in a thread of its own: they come by the thousand while the main thread makes the
 * tables of what has just been opened, and would not fit. Part of user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_COPIES_H
#define MEMLEAKBPF_TRACE_COPIES_H

#include "bpf/abi.h"

struct copies;

/* From the ring buffer of that descriptor. 0 or -errno, logged. */
int copies_new(int map_fd, struct copies **out);
/* Ends the thread. NULL is fine. */
void copies_free(struct copies *copies);

/* Readable when there are some. */
int copies_fd(const struct copies *copies);

/*
 * Calls fn with each copy that the kernel has sent before this call, in their order. The copy is
 * fn's to free(); only `size` bytes of words are there. 0, or -ENOMEM when some had to be left out,
 * not logged.
 */
int copies_take(struct copies *copies, void (*fn)(void *ctx, struct stack_copy_event *copy),
		void *ctx);

#endif
