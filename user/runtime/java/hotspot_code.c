// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * For each address that a call returns to, compiled code says which methods are there, inlined ones
 * too. Sources, below src/hotspot/share:
 *
 * - code/pcDesc.hpp and code/scopeDesc.cpp
 * - the numbers in ScopeDesc: utilities/unsigned5.hpp from 19 on, code/compressedStream.cpp before
 * - lines of methods: oops/constMethod.hpp, CompressedLineNumberReadStream in oops/method.hpp
 */
#include "user/runtime/java/hotspot_code.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "user/base/util.h"

#define CODE_NAME_MAX  1024
#define CODE_LINES_MAX 8192
#define CODE_SCOPE_MAX 32
#define CODE_PCS_MAX   (1u << 20)
#define CODE_METADATA  (1u << 20)

#define CONST_HAS_LINES 1 /* ConstMethod::_has_linenumber_table, in all versions */

struct code {
	const struct hotspot_layout *l;
	const struct hotspot_memory *m;
	struct code_method {
		char function[2 * CODE_NAME_MAX + 2], file[CODE_NAME_MAX + 1];
		uint32_t line;
	} methods[HOTSPOT_INLINED_MAX];
	size_t count;
};

static bool code_half(const struct code *c, uint64_t at, uint16_t *half)
{
	return hotspot_read(c->m, at, half, sizeof(*half));
}

static bool code_int(const struct code *c, uint64_t at, uint32_t *number)
{
	return hotspot_read(c->m, at, number, sizeof(*number));
}

/* ---- names ---------------------------------------------------------------------------------- */

/* A Symbol, as it is: Java's UTF-8. Cut where it is longer. */
static bool code_symbol(const struct code *c, uint64_t symbol, char to[static CODE_NAME_MAX + 1])
{
	uint16_t length;

	if (!symbol || !code_half(c, symbol + c->l->symbol_length, &length))
		return false;
	if (length > CODE_NAME_MAX)
		length = CODE_NAME_MAX;
	to[length] = '\0';
	return hotspot_read(c->m, symbol + c->l->symbol_body, to, length);
}

static bool code_pool_symbol(const struct code *c, uint64_t pool, uint16_t index,
			     char to[static CODE_NAME_MAX + 1])
{
	uint64_t symbol;

	return hotspot_read_word(c->m, pool + c->l->pool_size + 8 * (uint64_t)index, &symbol) &&
	       code_symbol(c, symbol & ~1ull, to);
}

/* As people write it: '.' between packages. What the JVM has made at run time has its address behind '/', in it behind '+'. */
static void code_class_name(char *name)
{
	char *plus = strrchr(name, '+');

	for (char *c = name; *c; c++)
		*c = *c == '/' ? '.' : *c;
	if (plus && !strncmp(plus + 1, "0x", 2))
		*plus = '/';
}

static void code_file_name(const struct code *c, uint64_t pool, uint64_t holder,
			   char to[static CODE_NAME_MAX + 1])
{
	uint16_t index = 0;

	to[0] = '\0';
	if (c->l->pool_source != HOTSPOT_NOWHERE)
		code_half(c, pool + c->l->pool_source, &index);
	else if (c->l->class_source != HOTSPOT_NOWHERE)
		code_half(c, holder + c->l->class_source, &index);
	if (index && !code_pool_symbol(c, pool, index, to))
		to[0] = '\0';
}

/* ---- lines ---------------------------------------------------------------------------------- */

struct code_numbers {
	const uint8_t *bytes;
	size_t size, at;
	uint8_t excluded; /* bytes below are none: 1 from 19 on */
	bool failed;
};

static uint8_t code_byte(struct code_numbers *n)
{
	if (n->at < n->size)
		return n->bytes[n->at++];
	n->failed = true;
	return 0;
}

static uint32_t code_number(struct code_numbers *n)
{
	uint32_t low = 256u - 64 - n->excluded, sum = 0;

	for (unsigned i = 0; i < 5; i++) {
		uint32_t byte = code_byte(n);

		if (byte < n->excluded)
			n->failed = true;
		byte -= n->excluded;
		sum += byte << 6 * i;
		if (byte < low)
			break;
	}
	return sum;
}

static int32_t code_signed(struct code_numbers *n)
{
	uint32_t value = code_number(n);

	return (int32_t)(value >> 1 ^ -(value & 1));
}

static struct code_numbers code_numbers(const struct code *c, const uint8_t *bytes, size_t size)
{
	return (struct code_numbers){.bytes = bytes, .size = size, .excluded = c->l->version >= 19};
}

/* The line of the last entry that is not behind the bytecode; 0: there is none. */
static uint32_t code_line(struct code_numbers *n, uint32_t bci)
{
	uint32_t at = 0, line = 0, best_at = 0, best = 0;

	for (;;) {
		uint8_t byte = code_byte(n);

		if (n->failed || !byte)
			return best;
		if (byte == 0xff) {
			at += (uint32_t)code_signed(n);
			line += (uint32_t)code_signed(n);
		} else {
			at += byte >> 3;
			line += byte & 7;
		}
		if (n->failed || at > UINT16_MAX || line > UINT16_MAX)
			return 0;
		if (at == bci)
			return line;
		if (at < bci && at >= best_at) {
			best_at = at;
			best = line;
		}
	}
}

static uint32_t code_method_line(const struct code *c, uint64_t const_method, uint32_t bci)
{
	uint8_t bytes[CODE_LINES_MAX];
	uint16_t code_size, flags;
	uint32_t whole;
	uint64_t at, size;
	struct code_numbers numbers;

	if (c->l->const_flags == HOTSPOT_NOWHERE ||
	    !code_half(c, const_method + c->l->const_flags, &flags) || !(flags & CONST_HAS_LINES) ||
	    !code_int(c, const_method + c->l->const_whole, &whole) ||
	    !code_half(c, const_method + c->l->const_code_size, &code_size))
		return 0;
	at = c->l->const_size + code_size;
	size = 8 * (uint64_t)whole;
	if (!code_size || bci >= code_size || at >= size)
		return 0;
	size = size - at < sizeof(bytes) ? size - at : sizeof(bytes);
	if (!hotspot_read(c->m, const_method + at, bytes, size))
		return 0;
	numbers = code_numbers(c, bytes, size);
	return code_line(&numbers, bci);
}

/* ---- methods -------------------------------------------------------------------------------- */

/* What it is made of, which its cookie is over. */
struct code_identity {
	uint64_t const_method, pool, holder, class_name;
	uint16_t code_size, name, signature, whole;
};

static bool code_identify(const struct code *c, uint64_t method, struct code_identity *id)
{
	return method && !(method & 7) &&
	       hotspot_read_word(c->m, method + c->l->method_const, &id->const_method) &&
	       hotspot_read_word(c->m, id->const_method + c->l->const_pool, &id->pool) &&
	       code_half(c, id->const_method + c->l->const_code_size, &id->code_size) &&
	       code_half(c, id->const_method + c->l->const_name, &id->name) &&
	       code_half(c, id->const_method + c->l->const_signature, &id->signature) &&
	       code_half(c, id->const_method + c->l->const_whole, &id->whole) &&
	       hotspot_read_word(c->m, id->pool + c->l->pool_holder, &id->holder) &&
	       hotspot_read_word(c->m, id->holder + c->l->class_name, &id->class_name);
}

static bool code_cookie(const struct code *c, uint64_t method, uint32_t *cookie)
{
	uint64_t name[HOTSPOT_NAME_WORDS] = {0};
	struct code_identity id;
	uint16_t length;

	if (!code_identify(c, method, &id) ||
	    !code_half(c, id.class_name + c->l->symbol_length, &length) ||
	    !hotspot_read(c->m, id.class_name + c->l->symbol_body, name,
			  length < sizeof(name) ? length : sizeof(name)))
		return false;
	*cookie = hotspot_cookie(id.pool, id.code_size, id.name, id.signature, id.whole, name);
	return true;
}

/* Adds it. bci: HOTSPOT_NATIVE: it has no bytecode. */
static bool code_add_method(struct code *c, uint64_t method, uint32_t bci)
{
	char class[CODE_NAME_MAX + 1], name[CODE_NAME_MAX + 1];
	struct code_method *to = &c->methods[c->count];
	struct code_identity id;

	if (c->count == HOTSPOT_INLINED_MAX || !code_identify(c, method, &id) ||
	    !code_symbol(c, id.class_name, class) || !code_pool_symbol(c, id.pool, id.name, name) ||
	    !*class || !*name)
		return false;
	code_class_name(class);
	snprintf(to->function, sizeof(to->function), "%s.%s", class, name);
	code_file_name(c, id.pool, id.holder, to->file);
	to->line = bci == HOTSPOT_NATIVE ? 0 : code_method_line(c, id.const_method, bci);
	c->count++;
	return true;
}

static int code_interpreted(struct code *c, const struct runtime_call *call)
{
	uint32_t before, after;

	if (!code_cookie(c, call->code, &before))
		return -EFAULT;
	if (before != call->cookie)
		return -ESTALE;
	if (!code_add_method(c, call->code, call->place))
		return -EFAULT;
	/* Meanwhile the class may have been unloaded. */
	return code_cookie(c, call->code, &after) && after == before ? 0 : -ESTALE;
}

/* ---- compiled code -------------------------------------------------------------------------- */

/* Where it has its tables. */
struct code_tables {
	uint64_t begin; /* of the code */
	uint64_t pcs, pcs_end, scopes, metadata;
};

static bool code_offset(const struct code *c, uint64_t blob, uint64_t member, uint64_t *out)
{
	uint32_t offset;

	if (member == HOTSPOT_NOWHERE || !code_int(c, blob + member, &offset) || offset >> 31)
		return false;
	*out += offset;
	return true;
}

static bool code_pointer(const struct code *c, uint64_t blob, uint64_t member, uint64_t *out)
{
	return member != HOTSPOT_NOWHERE && hotspot_read_word(c->m, blob + member, out);
}

/* From 23 on: behind the code's data, or (25) behind what is elsewhere of the relocations. `at`: the blob's. */
static bool code_metadata(const struct code *c, uint64_t blob, uint64_t *at)
{
	uint16_t offset;

	if (c->l->blob_mutable != HOTSPOT_NOWHERE)
		return code_pointer(c, blob, c->l->blob_mutable, at) &&
		       code_offset(c, blob, c->l->blob_relocation_size, at);
	if (c->l->metadata_offset == HOTSPOT_NOWHERE ||
	    !code_half(c, blob + c->l->metadata_offset, &offset))
		return false;
	*at += offset;
	return code_offset(c, blob, c->l->blob_data_offset, at);
}

/*
 * In 8 the header has the distances of all tables. Up to 22 two members lead to them instead. 23
 * and 24 have two parts, one of which is still behind the header. From 25 on both are outside of
 * the heap of code.
 */
static bool code_read_tables(const struct code *c, uint64_t blob, struct code_tables *t)
{
	const struct hotspot_layout *l = c->l;

	*t = (struct code_tables){.begin = blob, .pcs = blob, .pcs_end = blob, .metadata = blob};
	if (l->pc_offset == HOTSPOT_NOWHERE || l->pc_scope == HOTSPOT_NOWHERE ||
	    l->pc_size == HOTSPOT_NOWHERE || l->pc_size < 8 || l->pc_size > 64)
		return false;
	if (l->scopes_begin != HOTSPOT_NOWHERE)
		return code_pointer(c, blob, l->blob_code_begin, &t->begin) &&
		       code_offset(c, blob, l->pcs_offset, &t->pcs) &&
		       code_offset(c, blob, l->pcs_end_offset, &t->pcs_end) &&
		       code_pointer(c, blob, l->scopes_begin, &t->scopes) &&
		       code_offset(c, blob, l->metadata_offset, &t->metadata);
	if (!code_offset(c, blob, l->blob_code_offset, &t->begin))
		return false;
	t->scopes = blob;
	if (l->immutable == HOTSPOT_NOWHERE)
		return code_offset(c, blob, l->pcs_offset, &t->pcs) &&
		       code_offset(c, blob, l->pcs_end_offset, &t->pcs_end) &&
		       code_offset(c, blob, l->scopes_offset, &t->scopes) &&
		       code_offset(c, blob, l->metadata_offset, &t->metadata);
	if (!code_pointer(c, blob, l->immutable, &t->pcs))
		return false;
	t->pcs_end = t->scopes = t->pcs;
	return code_offset(c, blob, l->pcs_offset, &t->pcs) &&
	       code_offset(c, blob, l->scopes_offset, &t->pcs_end) &&
	       code_offset(c, blob, l->scopes_offset, &t->scopes) &&
	       code_metadata(c, blob, &t->metadata);
}

/* Where the scopes of an address are, from the first of them on; 0: it is none that a call returns to. Sorted by address. */
static uint32_t code_find_scope(const struct code *c, const struct code_tables *t, uint32_t offset)
{
	uint64_t low = 0, high = t->pcs_end > t->pcs ? (t->pcs_end - t->pcs) / c->l->pc_size : 0;

	if (high > CODE_PCS_MAX)
		return 0;
	while (low < high) {
		uint64_t middle = (low + high) / 2, at = t->pcs + middle * c->l->pc_size;
		uint32_t found, scope;

		if (!code_int(c, at + c->l->pc_offset, &found) ||
		    !code_int(c, at + c->l->pc_scope, &scope))
			return 0;
		if (found == offset)
			return scope >> 31 ? 0 : scope;
		if ((int32_t)found < (int32_t)offset)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

static bool code_read_some(const struct code *c, uint64_t at, uint8_t *to, size_t *size)
{
	for (; *size; *size /= 2) {
		if (hotspot_read(c->m, at, to, *size))
			return true;
	}
	return false;
}

/* From the innermost on: where the caller's is, which method (counted from 1), and its bytecode + 1. */
static bool code_scopes(struct code *c, const struct code_tables *t, uint32_t scope)
{
	while (scope) {
		uint8_t bytes[CODE_SCOPE_MAX];
		size_t size = sizeof(bytes);
		struct code_numbers numbers;
		uint32_t caller, method, bci;
		uint64_t at;

		if (!code_read_some(c, t->scopes + scope, bytes, &size))
			return false;
		numbers = code_numbers(c, bytes, size);
		caller = code_number(&numbers);
		method = code_number(&numbers);
		bci = code_number(&numbers);
		/* Before a synchronized method has its monitor: the first one's line. */
		bci -= bci != 0;
		if (numbers.failed || !method || method > CODE_METADATA || caller == scope ||
		    !hotspot_read_word(c->m, t->metadata + 8 * (uint64_t)(method - 1), &at) ||
		    !code_add_method(c, at, bci))
			return false;
		scope = caller;
	}
	return c->count != 0;
}

static bool code_compile_id(const struct code *c, uint64_t blob, uint32_t *id)
{
	return code_int(c, blob + c->l->compile_id, id);
}

/* By its name: 1, and 2 for what calls a native method; 0: it is no method's. */
static int code_blob_kind(const struct code *c, uint64_t blob, char name[static CODE_NAME_MAX + 1])
{
	uint64_t at;
	size_t size = 64;

	name[0] = '\0';
	if (!hotspot_read_word(c->m, blob + c->l->blob_name, &at) ||
	    !code_read_some(c, at, (uint8_t *)name, &size))
		return -EFAULT;
	name[size] = '\0';
	if (!strcmp(name, "nmethod"))
		return 1;
	return strcmp(name, "native nmethod") ? 0 : 2;
}

static int code_compiled(struct code *c, const struct runtime_call *call)
{
	char name[CODE_NAME_MAX + 1];
	uint32_t id = 0, scope = 0;
	struct code_tables tables;
	uint64_t method;
	int kind = code_blob_kind(c, call->code, name);

	if (kind <= 0) {
		snprintf(c->methods[0].function, sizeof(c->methods[0].function), "%s", name);
		c->count = kind == 0 && *name;
		return kind ?: call->cookie ? -ESTALE : 0;
	}
	if (!code_compile_id(c, call->code, &id) || id != call->cookie)
		return -ESTALE;
	if (kind == 1 && code_read_tables(c, call->code, &tables))
		scope = code_find_scope(
			c, &tables,
			(uint32_t)(call->code + (call->place & ~HOTSPOT_COMPILED) - tables.begin));
	if (!scope || !code_scopes(c, &tables, scope)) {
		/* What it was compiled for is certain; where in it, and what was inlined, is not known. */
		c->count = 0;
		if (!hotspot_read_word(c->m, call->code + c->l->nmethod_method, &method) ||
		    !code_add_method(c, method, HOTSPOT_NATIVE))
			return -EFAULT;
	}
	/* Meanwhile it may have been swept. */
	return code_compile_id(c, call->code, &id) && id == call->cookie ? 0 : -ESTALE;
}

int hotspot_code_places(const struct hotspot_layout *layout, const struct hotspot_memory *memory,
			const struct runtime_call *call,
			void (*add)(void *ctx, const struct hotspot_place *place), void *ctx)
{
	struct code *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->l = layout;
	c->m = memory;
	err = call->place & HOTSPOT_COMPILED ? code_compiled(c, call) : code_interpreted(c, call);
	for (size_t i = 0; !err && i < c->count; i++) {
		const struct code_method *method = &c->methods[i];
		const struct hotspot_place place = {
			.function = method->function,
			.file = *method->file ? method->file : NULL,
			.line = method->line,
			.inlined = i + 1 < c->count,
		};

		add(ctx, &place);
	}
	free(c);
	return err;
}
