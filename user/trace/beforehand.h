/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What is done before the programs are loaded. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_BEFOREHAND_H
#define MEMLEAKBPF_TRACE_BEFOREHAND_H

#include "user/trace/state.h"

/* -EPERM, logged: to load them would bring this machine down. */
int beforehand_mind_warnings(void);

/* Begins to fill the map of unwind tables, for the opened object. 0 or -errno. */
int beforehand_make_chunks(struct trace *trace);

/* Are the files of the command that is about to be started a runtime? Then options.managed_now. */
void beforehand_expect_runtime(struct trace *trace);

/* Takes away what killed tools have left in tracefs, and what was tried there a moment ago. Sets trace->probe_events. */
void beforehand_sweep_events(struct trace *trace);

#endif
