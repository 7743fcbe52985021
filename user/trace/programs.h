/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which BPF programs are loaded. For user/trace, and its tests. */
#ifndef MEMLEAKBPF_TRACE_PROGRAMS_H
#define MEMLEAKBPF_TRACE_PROGRAMS_H

#include "user/trace/skeleton.h"
#include "user/trace/trace.h"

/*
 * Before loading: which programs are loaded for the attach mode and kind of kernel in `options`,
 * and what attach.h gets.
 */
void programs_choose(struct memleakbpf *skel, const struct trace_options *options,
		     struct attach_programs *out);

#endif
