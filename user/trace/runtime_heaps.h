/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Heaps of runtimes that nobody here traces (Java's, V8's, Go's): that a target has one, and how much memory is in it.
 * Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_RUNTIME_HEAPS_H
#define MEMLEAKBPF_TRACE_RUNTIME_HEAPS_H

#include "user/trace/target.h"

/*
 * Fills snapshot->heaps. Reading how much there is takes some milliseconds a GiB, and so it is done in at most a
 * twentieth of the time; in between, and at the target's end, what was found last holds. Does not stop the process.
 */
void runtime_heaps_read(const struct trace *trace, struct target *target,
			struct snapshot *snapshot);

#endif
