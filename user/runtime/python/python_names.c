// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/python/python_names.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/hash.h"
#include "user/base/log.h"
#include "user/runtime/python/python_line.h"
#include "user/runtime/runtime_text.h"

/* Of all targets' functions together: names and tables of lines. A large program's take some MiB. */
#define CODES_MAX_BYTES (128u << 20)

struct python_code_node {
	struct {
		uint64_t code, cookie;
	} key;
	UT_hash_handle hh;
	size_t bytes;
	struct python_code code;
};

static void code_free(struct python_code_node *node)
{
	free(node->code.function);
	free(node->code.file);
	free(node);
}

static void code_remove(struct runtimes *runtimes, struct python_names *names,
			struct python_code_node *node)
{
	HASH_DEL(names->codes, node);
	runtimes->python_bytes -= node->bytes;
	code_free(node);
}

void python_names_clear(struct runtimes *runtimes, struct python_names *names)
{
	struct python_code_node *code, *next;

	HASH_ITER (hh, names->codes, code, next)
		code_remove(runtimes, names, code);
}

static struct python_code_node *code_find(const struct python_names *names, uint64_t code,
					  uint32_t cookie)
{
	struct python_code_node *node, like = {.key = {.code = code, .cookie = cookie}};

	HASH_FIND(hh, names->codes, &like.key, sizeof(like.key), node);
	return node;
}

static struct python_code_node *code_new(const struct python_code_event *event)
{
	size_t size = event->table_size <= PYTHON_TABLE_BYTES ? event->table_size : 0;
	struct python_code_node *node = calloc(1, sizeof(*node) + size);

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

static bool python_names_have_room(struct runtimes *runtimes, size_t bytes)
{
	if (runtimes->python_bytes + bytes <= CODES_MAX_BYTES)
		return true;
	if (!runtimes->python_full)
		log_warn("the names of Python functions take more than %u MiB: further ones are "
			 "shown without",
			 CODES_MAX_BYTES >> 20);
	runtimes->python_full = true;
	return false;
}

void python_names_add_code(struct runtimes *runtimes, struct python_names *names,
			   const struct python_code_event *event)
{
	struct python_code_node *known = code_find(names, event->code, event->cookie), *node;

	/* It comes again where something of it could not be read. */
	if (known && known->code.function && known->code.file && known->code.table_read)
		return;
	node = code_new(event);
	if (!node || !python_names_have_room(runtimes, node->bytes))
		goto free_node;
	if (known)
		code_remove(runtimes, names, known);
	HASH_ADD(hh, names->codes, key, sizeof(node->key), node);
	if (node->hh.tbl) {
		runtimes->python_bytes += node->bytes;
		return;
	}
free_node:
	if (node)
		code_free(node);
}

const struct python_code *python_names_code(const struct python_names *names,
					    const struct runtime_call *call)
{
	const struct python_code_node *node = code_find(names, call->code, call->cookie);

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
