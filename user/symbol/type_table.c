// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Packed: three 32-bit numbers (types, pointers of variables, whether it is cut). Each type has the
 * length of its name (32 bits), the name, flags (32) and size (64). Then what it begins with (32),
 * and the number of its pointers (32). A pointer has offset (64), count, stride and type (32 each).
 * Then come the variables' pointers.
 */
#include "user/symbol/type_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/hash.h"
#include "user/base/util.h"

struct type_name {
	UT_hash_handle hh;
	uint32_t type;
	char text[];
};

struct type_table *type_table_new(void)
{
	struct type_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	if (!RESERVE_ITEM(table->types, table->count, table->room, 256)) {
		free(table);
		return NULL;
	}
	table->types[table->count++] = (struct type){.name = NULL};
	return table;
}

void type_table_free(struct type_table *table)
{
	struct type_name *name, *next;

	if (!table)
		return;
	HASH_ITER (hh, table->names, name, next) {
		HASH_DEL(table->names, name);
		free(name);
	}
	free(table->types);
	free(table->pointers);
	free(table->variables);
	free(table);
}

uint32_t type_table_find(const struct type_table *table, const char *name)
{
	const struct type_name *entry;

	HASH_FIND(hh, table->names, name, strlen(name), entry);
	return entry ? entry->type : TYPE_NONE;
}

int type_table_name(struct type_table *table, const char *name, uint32_t *type)
{
	size_t len = strnlen(name, TYPE_NAME_MAX + 1);
	struct type_name *entry;

	*type = TYPE_NONE;
	HASH_FIND(hh, table->names, name, len, entry);
	if (entry) {
		*type = entry->type;
		return 0;
	}
	if (!len || len > TYPE_NAME_MAX)
		return 0;
	if (table->count > TYPES_MAX || table->name_bytes + len > TYPE_NAMES_MAX) {
		table->cut = true;
		return 0;
	}
	if (!RESERVE_ITEM(table->types, table->count, table->room, 256))
		return -ENOMEM;
	entry = calloc(1, sizeof(*entry) + len + 1);
	if (!entry)
		return -ENOMEM;
	memcpy(entry->text, name, len);
	HASH_ADD_KEYPTR(hh, table->names, entry->text, len, entry);
	if (!entry->hh.tbl) { /* how uthash tells that it ran out of memory */
		free(entry);
		return -ENOMEM;
	}
	*type = entry->type = (uint32_t)table->count;
	table->types[table->count++] = (struct type){.name = entry->text};
	table->name_bytes += len;
	return 0;
}

/* Do all these pointers lie in `size` bytes? */
static bool type_pointer_fits(const struct type_pointer *p, uint64_t size)
{
	if (!p->count)
		return p->stride >= 8 && p->offset <= size;
	return size >= 8 && p->offset <= size - 8 && (p->count == 1 || p->stride >= 8) &&
	       (uint64_t)(p->count - 1) * p->stride <= size - 8 - p->offset;
}

static bool type_pointer_equal(const struct type_pointer *a, const struct type_pointer *b)
{
	return a->offset == b->offset && a->count == b->count && a->stride == b->stride &&
	       a->to == b->to;
}

static bool type_is(const struct type_table *table, const struct type *type,
		    const struct type_shape *shape)
{
	size_t at = 0;

	if (type->size != shape->size || (type->flags & ~TYPE_DEFINED) != shape->flags ||
	    type->begins != shape->begins)
		return false;
	for (size_t i = 0; i < shape->count; i++) {
		if (!type_pointer_fits(&shape->pointers[i], shape->size))
			continue;
		if (at == type->count ||
		    !type_pointer_equal(&table->pointers[type->first + at++], &shape->pointers[i]))
			return false;
	}
	return at == type->count;
}

int type_table_define(struct type_table *table, uint32_t index, const struct type_shape *shape)
{
	struct type *type = &table->types[index];

	if (index == TYPE_NONE || type->flags & TYPE_AMBIGUOUS)
		return 0;
	if (shape->flags & TYPE_AMBIGUOUS || shape->size > TYPE_SIZE_MAX) {
		type->flags |= TYPE_AMBIGUOUS;
		return 0;
	}
	if (type->flags & TYPE_DEFINED) {
		type->flags |= type_is(table, type, shape) ? 0 : TYPE_AMBIGUOUS;
		return 0;
	}
	if (shape->count > TYPE_POINTERS_ALL - table->pointer_count) {
		table->cut = true;
		return 0;
	}
	type->size = shape->size;
	type->flags = shape->flags | TYPE_DEFINED;
	type->begins = shape->begins;
	type->first = (uint32_t)table->pointer_count;
	for (size_t i = 0; i < shape->count; i++) {
		if (!type_pointer_fits(&shape->pointers[i], shape->size))
			continue;
		if (!RESERVE_ITEM(table->pointers, table->pointer_count, table->pointer_room, 256))
			return -ENOMEM;
		table->pointers[table->pointer_count++] = shape->pointers[i];
		type->count++;
	}
	return 0;
}

int type_table_add_variable(struct type_table *table, const struct type_pointer *pointer)
{
	if (!pointer->count || !type_pointer_fits(pointer, UINT64_MAX))
		return 0;
	if (table->variable_count == TYPE_VARIABLES_MAX) {
		table->cut = true;
		return 0;
	}
	if (!RESERVE_ITEM(table->variables, table->variable_count, table->variable_room, 256))
		return -ENOMEM;
	table->variables[table->variable_count++] = *pointer;
	return 0;
}

static int type_table_merge_one(struct type_table *into, const struct type_table *from,
				const struct type *type, const uint32_t *ids)
{
	struct type_pointer *pointers = calloc(type->count + 1, sizeof(*pointers));
	struct type_shape shape = {
		.size = type->size,
		.flags = type->flags & ~TYPE_DEFINED,
		.begins = ids[type->begins],
		.pointers = pointers,
		.count = type->count,
	};
	int err = pointers ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < type->count; i++) {
		pointers[i] = from->pointers[type->first + i];
		pointers[i].to = ids[pointers[i].to];
	}
	err = err ?: type_table_define(into, ids[type - from->types], &shape);
	free(pointers);
	return err;
}

int type_table_merge(struct type_table *into, const struct type_table *from, uint32_t *ids)
{
	int err = 0;

	ids[TYPE_NONE] = TYPE_NONE;
	for (size_t i = 1; !err && i < from->count; i++)
		err = type_table_name(into, from->types[i].name, &ids[i]);
	for (size_t i = 1; !err && i < from->count; i++) {
		if (from->types[i].flags & (TYPE_DEFINED | TYPE_AMBIGUOUS))
			err = type_table_merge_one(into, from, &from->types[i], ids);
	}
	into->cut |= from->cut;
	return err;
}

/* ---- as bytes ------------------------------------------------------------------------------- */

static void type_put_pointer(struct bytes_writer *w, const struct type_pointer *p)
{
	bytes_put_64(w, p->offset);
	bytes_put_32(w, p->count);
	bytes_put_32(w, p->stride);
	bytes_put_32(w, p->to);
}

void type_table_pack(const struct type_table *table, struct bytes_writer *out)
{
	bytes_put_32(out, (uint32_t)table->count);
	bytes_put_32(out, (uint32_t)table->variable_count);
	bytes_put_32(out, table->cut);
	for (size_t i = 1; i < table->count; i++) {
		const struct type *type = &table->types[i];
		uint32_t name = (uint32_t)strlen(type->name);

		bytes_put_32(out, name);
		bytes_put(out, type->name, name);
		bytes_put_32(out, type->flags);
		bytes_put_64(out, type->size);
		bytes_put_32(out, type->begins);
		bytes_put_32(out, type->count);
		for (size_t k = 0; k < type->count; k++)
			type_put_pointer(out, &table->pointers[type->first + k]);
	}
	for (size_t i = 0; i < table->variable_count; i++)
		type_put_pointer(out, &table->variables[i]);
}

static void type_get_pointer(struct bytes_reader *r, uint32_t types, struct type_pointer *p)
{
	p->offset = bytes_get_64(r);
	p->count = bytes_get_32(r);
	p->stride = bytes_get_32(r);
	p->to = bytes_get_32(r);
	r->bad |= p->to >= types;
}

/* Reads the next type of the table: each name is there once, and in order. */
static int type_get_type(struct bytes_reader *r, struct type_table *table, uint32_t types,
			 uint32_t index, struct type_pointer *pointers)
{
	char name[TYPE_NAME_MAX + 1];
	struct type_shape shape = {.pointers = pointers};
	uint32_t flags, named = TYPE_NONE, len = bytes_get_32(r);
	int err;

	r->bad |= !len || len > TYPE_NAME_MAX;
	if (r->bad)
		return 0;
	bytes_get(r, name, len);
	name[len] = '\0';
	flags = bytes_get_32(r);
	shape.size = bytes_get_64(r);
	shape.begins = bytes_get_32(r);
	shape.count = bytes_get_32(r);
	r->bad |= shape.begins >= types || shape.count > TYPE_POINTERS_MAX || flags & ~TYPE_FLAGS;
	for (size_t i = 0; i < shape.count && !r->bad; i++)
		type_get_pointer(r, types, &pointers[i]);
	if (r->bad)
		return 0;
	err = type_table_name(table, name, &named);
	r->bad |= !err && named != index;
	if (err || r->bad || !(flags & (TYPE_DEFINED | TYPE_AMBIGUOUS)))
		return err;
	shape.flags = flags & ~TYPE_DEFINED;
	return type_table_define(table, named, &shape);
}

static int type_get_all(struct bytes_reader *r, struct type_table *table)
{
	uint32_t types = bytes_get_32(r), variables = bytes_get_32(r);
	struct type_pointer *pointers = calloc(TYPE_POINTERS_MAX, sizeof(*pointers));
	int err = pointers ? 0 : -ENOMEM;

	table->cut = bytes_get_32(r) != 0;
	r->bad |= !types || types > TYPES_MAX + 1 || variables > TYPE_VARIABLES_MAX;
	for (uint32_t i = 1; !err && !r->bad && i < types; i++)
		err = type_get_type(r, table, types, i, pointers);
	for (uint32_t i = 0; !err && !r->bad && i < variables; i++) {
		type_get_pointer(r, types, &pointers[0]);
		if (!r->bad)
			err = type_table_add_variable(table, &pointers[0]);
	}
	free(pointers);
	return err ?: r->bad || r->p != r->end ? -EBADMSG : 0;
}

int type_table_parse(const uint8_t *bytes, size_t len, struct type_table **out)
{
	struct bytes_reader r = {.p = bytes, .end = bytes + len};
	struct type_table *table = type_table_new();
	int err = table ? type_get_all(&r, table) : -ENOMEM;

	if (err)
		type_table_free(table);
	else
		*out = table;
	return err;
}
