/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Having the kernel go over the live blocks. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_LIVE_WALK_H
#define MEMLEAKBPF_TRACE_LIVE_WALK_H

#include "user/trace/state.h"

/* Runs an iterator program over the whole live map, in the kernel. 0 or -errno. */
int live_walk(struct trace *trace, struct bpf_program *program);

#endif
