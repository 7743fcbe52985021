/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_TRACE_EXIT_FRAMES_H
#define MEMLEAKBPF_TRACE_EXIT_FRAMES_H

#include "user/heap/heap_image.h"
#include "user/trace/target.h"

/*
 * For a process that is held at its end by the thread `tid`, which stands in _exit. Marks the
 * memory of the C library's own frames there as dead, except what they keep for their callers.
 * Forgets the thread's registers that hold nothing. Marks nothing where that is not certain. To be
 * called before heap_image_finish(). 0 or -ENOMEM.
 */
int exit_frames_leave_out(struct trace *trace, struct target *target, pid_t tid,
			  struct heap_image *image);

#endif
