/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The programs that follow scopes (user/scopes). Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_SCOPE_PROGRAMS_H
#define MEMLEAKBPF_TRACE_SCOPE_PROGRAMS_H

#include "user/trace/state.h"

/* Before loading: the programs that follow scopes instead of the usual ones, if they are wanted. */
void scopes_choose_programs(struct memleakbpf *skel, const struct trace_options *options,
			    struct attach_programs *programs);
/* Likewise: the sizes of their maps. 0 or -errno. */
int scopes_configure(struct trace *trace);
/* After loading: trace->scopes. 0 or -errno, logged. Nothing without options.scopes. */
int scopes_start(struct trace *trace);

#endif
