// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/python_names.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/hash.h"
#include "user/symbol/python_line.h"

/* A character is up to 3 bytes of UTF-8 where it takes less than 4; and a mark that it goes on. */
#define NAME_BYTES (3 * PYTHON_TEXT_BYTES + sizeof("…"))

struct chain_node {
	struct {
		uint64_t hash;
		uint64_t target_id;
	} key;
	UT_hash_handle hh;
	struct python_chain chain;
};

struct code_node {
	struct {
		uint64_t code;
		uint32_t cookie, target_id;
	} key;
	UT_hash_handle hh;
	struct python_code code;
};

struct python_names {
	struct chain_node *chains;
	struct code_node *codes;
};

struct python_names *python_names_new(void)
{
	return calloc(1, sizeof(struct python_names));
}

static void chain_remove(struct python_names *names, struct chain_node *node)
{
	HASH_DEL(names->chains, node);
	free(node);
}

static void code_remove(struct python_names *names, struct code_node *node)
{
	HASH_DEL(names->codes, node);
	free(node->code.function);
	free(node->code.file);
	free(node);
}

void python_names_free(struct python_names *names)
{
	struct chain_node *chain, *next_chain;
	struct code_node *code, *next_code;

	if (!names)
		return;
	HASH_ITER (hh, names->chains, chain, next_chain)
		chain_remove(names, chain);
	HASH_ITER (hh, names->codes, code, next_code)
		code_remove(names, code);
	free(names);
}

static char *put_utf8(char *to, uint32_t point)
{
	if (point < 0x80) {
		*to++ = (char)point;
	} else if (point < 0x800) {
		*to++ = (char)(0xc0 | point >> 6);
		*to++ = (char)(0x80 | (point & 63));
	} else if (point < 0x10000) {
		*to++ = (char)(0xe0 | point >> 12);
		*to++ = (char)(0x80 | (point >> 6 & 63));
		*to++ = (char)(0x80 | (point & 63));
	} else if (point <= 0x10ffff) {
		*to++ = (char)(0xf0 | point >> 18);
		*to++ = (char)(0x80 | (point >> 12 & 63));
		*to++ = (char)(0x80 | (point >> 6 & 63));
		*to++ = (char)(0x80 | (point & 63));
	} else {
		*to++ = '?';
	}
	return to;
}

/* NULL: it was no string, or an empty one, or there is no memory. */
static char *name_of(const struct python_text *text)
{
	char name[NAME_BYTES], *to = name;
	uint32_t there, point;

	if (text->width != 1 && text->width != 2 && text->width != 4)
		return NULL;
	there = PYTHON_TEXT_BYTES / text->width;
	for (uint32_t i = 0; i < text->length && i < there; i++) {
		point = 0;
		/* Of this machine's byte order, which is the little-endian one. */
		memcpy(&point, text->bytes + i * text->width, text->width);
		to = put_utf8(to, point ? point : '?');
	}
	if (text->length > there)
		to = stpcpy(to, "…");
	return to == name ? NULL : strndup(name, (size_t)(to - name));
}

void python_names_add_code(struct python_names *names, const struct python_code_event *event)
{
	size_t size = event->table_size <= PYTHON_TABLE_BYTES ? event->table_size : 0;
	struct code_node *node = calloc(1, sizeof(*node) + size), *known;

	if (!node)
		return;
	node->key.code = event->code;
	node->key.cookie = event->cookie;
	node->key.target_id = event->header.target_id;
	HASH_FIND(hh, names->codes, &node->key, sizeof(node->key), known);
	if (known) {
		free(node);
		return;
	}
	node->code.function = name_of(&event->function);
	node->code.file = name_of(&event->file);
	node->code.first_line = event->first_line;
	node->code.table_size = size;
	memcpy(node->code.table, event->table, size);
	HASH_ADD(hh, names->codes, key, sizeof(node->key), node);
	if (!node->hh.tbl) {
		free(node->code.function);
		free(node->code.file);
		free(node);
	}
}

void python_names_add_chain(struct python_names *names, const struct python_chain_event *event)
{
	uint32_t count = event->count <= PYTHON_MAX_CALLS ? event->count : PYTHON_MAX_CALLS;
	struct chain_node *node, *known;

	node = calloc(1, sizeof(*node) + count * sizeof(node->chain.calls[0]));
	if (!node)
		return;
	node->key.hash = event->hash;
	node->key.target_id = event->header.target_id;
	HASH_FIND(hh, names->chains, &node->key, sizeof(node->key), known);
	if (known) {
		free(node);
		return;
	}
	node->chain.count = count;
	node->chain.cut = event->cut;
	memcpy(node->chain.calls, event->calls, count * sizeof(node->chain.calls[0]));
	HASH_ADD(hh, names->chains, key, sizeof(node->key), node);
	if (!node->hh.tbl)
		free(node);
}

const struct python_chain *python_names_chain(const struct python_names *names, uint32_t target_id,
					      uint64_t hash)
{
	struct chain_node *node, like = {.key = {.hash = hash, .target_id = target_id}};

	HASH_FIND(hh, names->chains, &like.key, sizeof(like.key), node);
	return node ? &node->chain : NULL;
}

const struct python_code *python_names_code(const struct python_names *names, uint32_t target_id,
					    const struct python_call *call)
{
	struct code_node *node, like = {.key = {.code = call->code,
						.cookie = call->cookie,
						.target_id = target_id}};

	HASH_FIND(hh, names->codes, &like.key, sizeof(like.key), node);
	return node ? &node->code : NULL;
}

uint32_t python_code_line(const struct python_code *code, const struct python_call *call)
{
	return python_line(code->table, code->table_size, code->first_line,
			   (int64_t)(call->place & ~PYTHON_ENTRY) - 1);
}

void python_names_remove_target(struct python_names *names, uint32_t target_id)
{
	struct chain_node *chain, *next_chain;
	struct code_node *code, *next_code;

	HASH_ITER (hh, names->chains, chain, next_chain) {
		if (chain->key.target_id == target_id)
			chain_remove(names, chain);
	}
	HASH_ITER (hh, names->codes, code, next_code) {
		if (code->key.target_id == target_id)
			code_remove(names, code);
	}
}
