/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_TRACE_EXIT_FRAMES_H
#define MEMLEAKBPF_TRACE_EXIT_FRAMES_H

#include "user/heap/heap_image.h"
#include "user/trace/target.h"

/*
 * Of a process that is held at its end, `tid` being the thread that stands in _exit: marks as dead
 * what the C library's own frames there do not hold for their callers, and forgets the thread's
 * registers that hold nothing. Before heap_image_finish(). 0 or -ENOMEM; where it is not certain
 * nothing is marked.
 */
int exit_frames_leave_out(struct trace *trace, struct target *target, pid_t tid,
			  struct heap_image *image);

#endif
