/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Targets whose runtime has a pool of its own (user/runtime/runtime.h): the programs are told which of
 * their mappings are its arenas, which count as blocks. Private to user/trace.
 */
#ifndef MEMLEAKBPF_TRACE_POOL_ROWS_H
#define MEMLEAKBPF_TRACE_POOL_ROWS_H

#include "user/stacks/stacks.h"
#include "user/trace/target.h"

/*
 * Is there such a runtime in the target's image? Then it is entered in the map, and the target
 * wants KNOWN_MAPPER's probes. Of several it is the first; one that has been closed, or loaded
 * elsewhere since the last look, is taken out. Failures are logged.
 */
void pool_rows_look(struct trace *trace, struct target *target);

/* Nothing more is wanted of the target's pool. */
void pool_rows_drop(struct trace *trace, uint32_t target_id);

/*
 * The stack of an arena: its first frame says so. False: it is like any other, as there is no memory or
 * no such runtime.
 */
bool pool_rows_name(const struct trace *trace, const struct target *target,
		    struct stack_entry *entry);

#endif
