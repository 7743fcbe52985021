/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kernel has sent of targets' runtimes: which functions a stack is in. Private to user/trace. */
#ifndef MEMLEAKBPF_TRACE_RUNTIME_CHAINS_H
#define MEMLEAKBPF_TRACE_RUNTIME_CHAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime/runtime_abi.h"

struct runtime_chains;

struct runtime_chain {
	uint32_t count;
	bool cut;
	struct runtime_call calls[];
};

struct runtime_chains *runtime_chains_new(void); /* NULL when out of memory */
void runtime_chains_free(struct runtime_chains *chains);

/* Out of memory it stays unknown. */
void runtime_chains_add(struct runtime_chains *chains, const struct runtime_chain_event *event);

/*
 * NULL: it has not come. A chain comes once for each stack that has it, and is there until
 * runtime_chains_drop() has been called as often.
 */
const struct runtime_chain *runtime_chains_find(const struct runtime_chains *chains,
						uint32_t target_id, uint64_t hash);
void runtime_chains_drop(struct runtime_chains *chains, uint32_t target_id, uint64_t hash);

void runtime_chains_remove_target(struct runtime_chains *chains, uint32_t target_id);

#endif
