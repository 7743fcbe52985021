/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kernel has sent of a target's languages: which functions a stack is in. Private to user/runtime. */
#ifndef MEMLEAKBPF_RUNTIME_RUNTIME_CHAINS_H
#define MEMLEAKBPF_RUNTIME_RUNTIME_CHAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/runtime/runtime_abi.h"

struct runtime_chain {
	uint32_t count;
	bool cut;
	struct runtime_call calls[];
};

/* Those of one target; zeroed at first. */
struct runtime_chains {
	struct chain_node *nodes; /* uthash by hash */
};

void runtime_chains_clear(struct runtime_chains *chains);

/* Out of memory it stays unknown. */
void runtime_chains_add(struct runtime_chains *chains, const struct runtime_chain_event *event);

/*
 * NULL: it has not come. A chain comes once for each stack that has it, and is there until
 * runtime_chains_drop() has been called as often.
 */
const struct runtime_chain *runtime_chains_find(const struct runtime_chains *chains, uint64_t hash);
void runtime_chains_drop(struct runtime_chains *chains, uint64_t hash);

#endif
