// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/python_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/hash.h"
#include "user/base/log.h"
#include "user/runtime/python/python_line.h"
#include "user/trace/runtime_text.h"

/* Of all targets' functions together: names and tables of lines. A large program's take some MiB. */
#define CODES_MAX_BYTES (128u << 20)

struct code_node {
	struct {
		uint64_t code, cookie;
	} key;
	UT_hash_handle hh;
	size_t bytes;
	struct python_code code;
};

struct target_names {
	uint32_t target_id;
	UT_hash_handle hh;
	struct code_node *codes;
};

struct python_names {
	struct target_names *targets;
	size_t code_bytes;
	bool full; /* which has been said */
};

struct python_names *python_names_new(void)
{
	return calloc(1, sizeof(struct python_names));
}

static void code_free(struct code_node *node)
{
	free(node->code.function);
	free(node->code.file);
	free(node);
}

static void code_remove(struct python_names *names, struct target_names *target,
			struct code_node *node)
{
	HASH_DEL(target->codes, node);
	names->code_bytes -= node->bytes;
	code_free(node);
}

static void target_names_remove(struct python_names *names, struct target_names *target)
{
	struct code_node *code, *next_code;

	HASH_ITER (hh, target->codes, code, next_code)
		code_remove(names, target, code);
	HASH_DEL(names->targets, target);
	free(target);
}

void python_names_free(struct python_names *names)
{
	struct target_names *target, *next;

	if (!names)
		return;
	HASH_ITER (hh, names->targets, target, next)
		target_names_remove(names, target);
	free(names);
}

static struct target_names *target_names_find(const struct python_names *names, uint32_t target_id)
{
	struct target_names *target;

	HASH_FIND(hh, names->targets, &target_id, sizeof(target_id), target);
	return target;
}

static struct target_names *target_names_get(struct python_names *names, uint32_t target_id)
{
	struct target_names *target = target_names_find(names, target_id);

	if (target)
		return target;
	target = calloc(1, sizeof(*target));
	if (!target)
		return NULL;
	target->target_id = target_id;
	HASH_ADD(hh, names->targets, target_id, sizeof(target->target_id), target);
	if (target->hh.tbl)
		return target;
	free(target);
	return NULL;
}

static struct code_node *code_find(const struct target_names *target, uint64_t code,
				   uint32_t cookie)
{
	struct code_node *node, like = {.key = {.code = code, .cookie = cookie}};

	HASH_FIND(hh, target->codes, &like.key, sizeof(like.key), node);
	return node;
}

static struct code_node *code_new(const struct python_code_event *event)
{
	size_t size = event->table_size <= PYTHON_TABLE_BYTES ? event->table_size : 0;
	struct code_node *node = calloc(1, sizeof(*node) + size);

	if (!node)
		return NULL;
	node->key.code = event->code;
	node->key.cookie = event->cookie;
	node->code.function = runtime_text_name(&event->function, 1);
	node->code.file = runtime_text_name(&event->file, 1);
	node->code.first_line = event->first_line;
	node->code.table_read = event->table_state != PYTHON_TABLE_UNREAD;
	node->code.table_whole = event->table_state == PYTHON_TABLE_WHOLE;
	node->code.table_size = size;
	memcpy(node->code.table, event->table, size);
	node->bytes = sizeof(*node) + size +
		      (node->code.function ? strlen(node->code.function) : 0) +
		      (node->code.file ? strlen(node->code.file) : 0);
	return node;
}

static bool python_names_have_room(struct python_names *names, size_t bytes)
{
	if (names->code_bytes + bytes <= CODES_MAX_BYTES)
		return true;
	if (!names->full)
		log_warn("the names of Python functions take more than %u MiB: further ones are "
			 "shown without",
			 CODES_MAX_BYTES >> 20);
	names->full = true;
	return false;
}

void python_names_add_code(struct python_names *names, const struct python_code_event *event)
{
	struct target_names *target = target_names_get(names, event->header.target_id);
	struct code_node *node, *known;

	if (!target)
		return;
	known = code_find(target, event->code, event->cookie);
	/* It comes again where something of it could not be read. */
	if (known && known->code.function && known->code.file && known->code.table_read)
		return;
	node = code_new(event);
	if (!node || !python_names_have_room(names, node->bytes))
		goto free_node;
	if (known)
		code_remove(names, target, known);
	HASH_ADD(hh, target->codes, key, sizeof(node->key), node);
	if (node->hh.tbl) {
		names->code_bytes += node->bytes;
		return;
	}
free_node:
	if (node)
		code_free(node);
}

const struct python_code *python_names_code(const struct python_names *names, uint32_t target_id,
					    const struct runtime_call *call)
{
	const struct target_names *target = target_names_find(names, target_id);
	const struct code_node *node = target ? code_find(target, call->code, call->cookie) : NULL;

	return node ? &node->code : NULL;
}

uint32_t python_code_line(const struct python_code *code, uint32_t version,
			  const struct runtime_call *call)
{
	const struct python_table table = {
		.bytes = code->table, .size = code->table_size, .whole = code->table_whole};

	return python_line(&table, version, code->first_line,
			   (int64_t)(call->place & ~PYTHON_ENTRY) - 1);
}

void python_names_remove_target(struct python_names *names, uint32_t target_id)
{
	struct target_names *target = target_names_find(names, target_id);

	if (target)
		target_names_remove(names, target);
}
