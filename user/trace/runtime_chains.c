// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/runtime_chains.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/hash.h"

struct chain_node {
	uint64_t hash;
	UT_hash_handle hh;
	unsigned stacks; /* that are still to come for it */
	struct runtime_chain chain;
};

struct chain_target {
	uint32_t target_id;
	UT_hash_handle hh;
	struct chain_node *nodes;
};

struct runtime_chains {
	struct chain_target *targets;
};

struct runtime_chains *runtime_chains_new(void)
{
	return calloc(1, sizeof(struct runtime_chains));
}

static void chain_remove(struct chain_target *target, struct chain_node *node)
{
	HASH_DEL(target->nodes, node);
	free(node);
}

static void chain_target_remove(struct runtime_chains *chains, struct chain_target *target)
{
	struct chain_node *node, *next;

	HASH_ITER (hh, target->nodes, node, next)
		chain_remove(target, node);
	HASH_DEL(chains->targets, target);
	free(target);
}

void runtime_chains_free(struct runtime_chains *chains)
{
	struct chain_target *target, *next;

	if (!chains)
		return;
	HASH_ITER (hh, chains->targets, target, next)
		chain_target_remove(chains, target);
	free(chains);
}

static struct chain_target *chain_target_find(const struct runtime_chains *chains,
					      uint32_t target_id)
{
	struct chain_target *target;

	HASH_FIND(hh, chains->targets, &target_id, sizeof(target_id), target);
	return target;
}

static struct chain_target *chain_target_get(struct runtime_chains *chains, uint32_t target_id)
{
	struct chain_target *target = chain_target_find(chains, target_id);

	if (target)
		return target;
	target = calloc(1, sizeof(*target));
	if (!target)
		return NULL;
	target->target_id = target_id;
	HASH_ADD(hh, chains->targets, target_id, sizeof(target->target_id), target);
	if (target->hh.tbl)
		return target;
	free(target);
	return NULL;
}

static struct chain_node *chain_find(const struct chain_target *target, uint64_t hash)
{
	struct chain_node *node;

	HASH_FIND(hh, target->nodes, &hash, sizeof(hash), node);
	return node;
}

void runtime_chains_add(struct runtime_chains *chains, const struct runtime_chain_event *event)
{
	uint32_t count = event->count <= RUNTIME_MAX_CALLS ? event->count : RUNTIME_MAX_CALLS;
	struct chain_target *target = chain_target_get(chains, event->header.target_id);
	struct chain_node *node = target ? chain_find(target, event->hash) : NULL;

	if (node) {
		node->stacks++;
		return;
	}
	node = target ? calloc(1, sizeof(*node) + count * sizeof(node->chain.calls[0])) : NULL;
	if (!node)
		return;
	node->hash = event->hash;
	node->stacks = 1;
	node->chain.count = count;
	node->chain.cut = event->cut;
	memcpy(node->chain.calls, event->calls, count * sizeof(node->chain.calls[0]));
	HASH_ADD(hh, target->nodes, hash, sizeof(node->hash), node);
	if (!node->hh.tbl)
		free(node);
}

const struct runtime_chain *runtime_chains_find(const struct runtime_chains *chains,
						uint32_t target_id, uint64_t hash)
{
	const struct chain_target *target = chain_target_find(chains, target_id);
	const struct chain_node *node = target ? chain_find(target, hash) : NULL;

	return node ? &node->chain : NULL;
}

void runtime_chains_drop(struct runtime_chains *chains, uint32_t target_id, uint64_t hash)
{
	struct chain_target *target = chain_target_find(chains, target_id);
	struct chain_node *node = target ? chain_find(target, hash) : NULL;

	if (node && !--node->stacks)
		chain_remove(target, node);
}

void runtime_chains_remove_target(struct runtime_chains *chains, uint32_t target_id)
{
	struct chain_target *target = chain_target_find(chains, target_id);

	if (target)
		chain_target_remove(chains, target);
}
