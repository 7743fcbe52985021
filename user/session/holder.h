/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the holders of blocks that are still reachable, and the contents of lost ones. */
#ifndef MEMLEAKBPF_SESSION_HOLDER_H
#define MEMLEAKBPF_SESSION_HOLDER_H

#include "user/heap/reach.h"
#include "user/model/site.h"
#include "user/trace/trace.h"

/*
 * Fills in stack.held_by of the stacks with most reachable bytes. With contents > 0 also
 * stack.contents of all stacks that have a lost block. 0 or -ENOMEM, not logged.
 */
int holder_describe(struct trace *trace, struct target *target, struct snapshot *snapshot,
		    const struct heap_image *image, const struct reach *reach,
		    const struct site_rules *sites, uint32_t contents);

/*
 * The function that asked for a stack's blocks: the stack's site (frames_site()). NULL: unknown.
 * Lives as long as the trace.
 */
const char *holder_allocator(struct trace *trace, const struct snapshot *snapshot, uint32_t stack,
			     const struct site_rules *sites);

#endif
