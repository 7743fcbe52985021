/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Targets whose runtime has a pool of its own (user/runtime/runtime.h): the programs are told which of
 * their mappings are its arenas, which count as blocks.
 */
#ifndef MEMLEAKBPF_RUNTIME_POOL_ROWS_H
#define MEMLEAKBPF_RUNTIME_POOL_ROWS_H

#include <stdint.h>

#include "user/model/frame.h"
#include "user/runtime/runtime.h"

struct runtimes;
struct runtime_target;

struct target_pool {
	const struct runtime_pool *pool; /* the programs know it; NULL: none */
	uint64_t start, end;		 /* where its runtime's code is mapped */
};

/*
 * Is there such a runtime in the target's image? Then it is entered in the map, and the target wants
 * probes on what maps memory. Of several it is the first; one that has been closed, or loaded
 * elsewhere since the last look, is taken out. Failures are logged.
 */
void pool_rows_look(struct runtimes *runtimes, struct runtime_target *target);

/* Nothing more is wanted of the target's pool. */
void pool_rows_drop(struct runtimes *runtimes, uint32_t target_id);

/* What stands for the mapping function in the stack of an arena. NULL: there is no memory, or no such runtime. */
const struct frame *pool_rows_frame(struct runtimes *runtimes, const struct runtime_target *target);

#endif
