/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The guards of a process that `survey --keep --guard` keeps: how they stand, and what they have shown. */
#ifndef MEMLEAKBPF_KEEP_KEEP_GUARDS_H
#define MEMLEAKBPF_KEEP_KEEP_GUARDS_H

#include "user/analysis/suppress.h"
#include "user/look/survey_process.h"
#include "user/trace/trace.h"

/*
 * Fills in data->kept.guards and the first bad accesses with their stacks, as of the last
 * trace_sum_live(). `data` has none yet. The frames live as long as the trace. The names of
 * suppressions live as long as the suppressions (NULL: none). Without memory there are fewer bad
 * accesses.
 */
void keep_guards_read(struct trace *trace, struct target *target, struct suppressions *suppressions,
		      struct survey_process *data);

#endif
