// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/runtime_chains.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/hash.h"

struct chain_node {
	uint64_t hash;
	UT_hash_handle hh;
	unsigned stacks; /* that are still to come for it */
	struct runtime_chain chain;
};

static void chain_remove(struct runtime_chains *chains, struct chain_node *node)
{
	HASH_DEL(chains->nodes, node);
	free(node);
}

void runtime_chains_clear(struct runtime_chains *chains)
{
	struct chain_node *node, *next;

	HASH_ITER (hh, chains->nodes, node, next)
		chain_remove(chains, node);
}

static struct chain_node *chain_find(const struct runtime_chains *chains, uint64_t hash)
{
	struct chain_node *node;

	HASH_FIND(hh, chains->nodes, &hash, sizeof(hash), node);
	return node;
}

void runtime_chains_add(struct runtime_chains *chains, const struct runtime_chain_event *event)
{
	uint32_t count = event->count <= RUNTIME_MAX_CALLS ? event->count : RUNTIME_MAX_CALLS;
	struct chain_node *node = chain_find(chains, event->hash);

	if (node) {
		node->stacks++;
		return;
	}
	node = calloc(1, sizeof(*node) + count * sizeof(node->chain.calls[0]));
	if (!node)
		return;
	node->hash = event->hash;
	node->stacks = 1;
	node->chain.count = count;
	node->chain.cut = event->cut;
	memcpy(node->chain.calls, event->calls, count * sizeof(node->chain.calls[0]));
	HASH_ADD(hh, chains->nodes, hash, sizeof(node->hash), node);
	if (!node->hh.tbl)
		free(node);
}

const struct runtime_chain *runtime_chains_find(const struct runtime_chains *chains, uint64_t hash)
{
	const struct chain_node *node = chain_find(chains, hash);

	return node ? &node->chain : NULL;
}

void runtime_chains_drop(struct runtime_chains *chains, uint64_t hash)
{
	struct chain_node *node = chain_find(chains, hash);

	if (node && !--node->stacks)
		chain_remove(chains, node);
}
