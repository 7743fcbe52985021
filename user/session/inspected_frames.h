/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the frame, on a stack of an inspected process, that holds an address. */
#ifndef MEMLEAKBPF_SESSION_INSPECTED_FRAMES_H
#define MEMLEAKBPF_SESSION_INSPECTED_FRAMES_H

#include "user/inspect/inspect.h"

/* Of one inspection. */
struct inspected_frames;

struct inspected_frames *inspected_frames_new(void);	     /* NULL when out of memory */
void inspected_frames_free(struct inspected_frames *frames); /* NULL is fine */

/*
 * An inspect_options.frame; ctx is the struct inspected_frames. The first question reads the tables
 * of all files that the process had mapped.
 */
int inspected_frames_find(void *ctx, const struct inspect_stacks *stacks,
			  const struct memory_thread *thread, uint64_t address,
			  const struct frame **out);

#endif
