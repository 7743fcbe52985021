// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/stacks.h"

#include <errno.h>
#include <string.h>

#include "user/base/hash.h"
#include "user/base/util.h"

struct stack_node {
	struct stack_entry entry;
	UT_hash_handle hh;
	struct location locations[];
};

struct stack_table {
	struct stack_node *nodes;
};

struct stack_table *stack_table_new(void)
{
	return calloc(1, sizeof(struct stack_table));
}

static void stack_node_remove(struct stack_table *table, struct stack_node *node)
{
	HASH_DEL(table->nodes, node);
	free(node->entry.frames);
	free(node);
}

void stack_table_free(struct stack_table *table)
{
	struct stack_node *node, *next;

	if (!table)
		return;
	HASH_ITER (hh, table->nodes, node, next)
		stack_node_remove(table, node);
	free(table);
}

static struct stack_node *stack_node_find(const struct stack_table *table, uint32_t target_id,
					  uint64_t stack_id)
{
	struct stack_key key = {.stack_id = stack_id, .target_id = target_id};
	struct stack_node *node;

	HASH_FIND(hh, table->nodes, &key, sizeof(key), node);
	return node;
}

struct stack_entry *stack_table_add(struct stack_table *table, uint32_t target_id,
				    uint64_t stack_id, size_t count, bool *fresh)
{
	struct stack_node *node = stack_node_find(table, target_id, stack_id);

	*fresh = !node;
	if (node)
		return &node->entry;
	node = calloc(1, sizeof(*node) + count * sizeof(node->locations[0]));
	if (!node)
		return NULL;
	node->entry.key = (struct stack_key){.stack_id = stack_id, .target_id = target_id};
	node->entry.count = (uint16_t)count;
	node->entry.locations = node->locations;
	HASH_ADD(hh, table->nodes, entry.key, sizeof(node->entry.key), node);
	if (!node->hh.tbl) {
		free(node);
		return NULL;
	}
	return &node->entry;
}

struct stack_entry *stack_table_find(const struct stack_table *table, uint32_t target_id,
				     uint64_t stack_id)
{
	struct stack_node *node = stack_node_find(table, target_id, stack_id);

	return node ? &node->entry : NULL;
}

bool stack_table_finish(struct stack_table *table, uint32_t target_id, uint64_t provisional_id,
			uint64_t stack_id, uint8_t end)
{
	bool fresh;
	struct stack_entry *entry = stack_table_add(table, target_id, provisional_id, 0, &fresh);

	if (!entry)
		return false;
	if (fresh && provisional_id != stack_id) {
		entry->same_as = stack_id;
		entry->same_end = end;
	}
	return true;
}

int stack_entry_name(struct stack_entry *entry, struct symbolizer *symbolizer)
{
	_cleanup_free_ const struct frame **frames = NULL;
	size_t count = 0;

	if (entry->frames)
		return 0;
	for (size_t i = 0; i < entry->count; i++) {
		const struct frame *const *part, **grown;
		size_t n;
		int err = symbolizer_resolve(symbolizer, &entry->locations[i], entry->pid, i > 0,
					     &part, &n);

		if (err)
			return err;
		/* The probe is in the allocator's own code: what is inlined there is no caller. */
		if (i == 0) {
			part += n - 1;
			n = 1;
		}
		grown = reallocarray(frames, count + n, sizeof(*frames));
		if (!grown)
			return -ENOMEM;
		frames = grown;
		memcpy(frames + count, part, n * sizeof(*frames));
		count += n;
	}
	if (count && entry->allocator) {
		entry->first = *frames[0];
		entry->first.function = entry->allocator;
		entry->first.inlined = false;
		frames[0] = &entry->first;
	}
	entry->frames = TAKE_PTR(frames);
	entry->frame_count = count;
	return 0;
}

void stack_table_remove_target(struct stack_table *table, uint32_t target_id)
{
	struct stack_node *node, *next;

	HASH_ITER (hh, table->nodes, node, next) {
		if (node->entry.key.target_id == target_id)
			stack_node_remove(table, node);
	}
}
