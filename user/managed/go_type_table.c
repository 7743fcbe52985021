// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/managed/go_type_table.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

/* Bytes of _type, and what follows for its kind. */
#define TYPE_BYTES   48
#define TYPE_WORDS   9
#define TYPE_EXTRA   2 /* a flag: the name begins with a star too many */
#define KIND_MASK    31u
#define NAME_LONGEST 400

#define TYPES_MAX  (1u << 17)
#define TABLE_SIZE (1u << 19) /* of addresses that were asked for, types or not */
#define SIZE_MOST  (1ull << 40)

/* Of one type; of all. */
#define SLOTS_MAX  4096u
#define SLOTS_ALL  (1u << 21)
#define DEPTH_MAX  12
#define FIELDS_MAX 512u

struct known_address {
	uint64_t address; /* 0: free */
	uint32_t type;	  /* 0: it is none */
	bool method_table;
};

struct go_type_table {
	const struct go_program *program;
	struct go_type *types; /* by number - 1 */
	size_t count, room;
	struct known_address *known;
	size_t known_count;
	size_t slots_left;
};

struct go_type_table *go_type_table_new(const struct go_program *program)
{
	struct go_type_table *table = calloc(1, sizeof(*table));

	if (!table)
		return NULL;
	table->program = program;
	table->slots_left = SLOTS_ALL;
	table->known = calloc(TABLE_SIZE, sizeof(*table->known));
	if (!table->known) {
		free(table);
		return NULL;
	}
	return table;
}

void go_type_table_free(struct go_type_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->count; i++) {
		free(table->types[i].name);
		free(table->types[i].slots);
	}
	free(table->types);
	free(table->known);
	free(table);
}

/* Its place among what was asked for; NULL: there is too much of it. */
static struct known_address *known_at(struct go_type_table *table, uint64_t address,
				      bool method_table)
{
	size_t i = (size_t)((address >> 3) * 0x9e3779b97f4a7c15ull >> 45) % TABLE_SIZE;

	while (table->known[i].address &&
	       (table->known[i].address != address || table->known[i].method_table != method_table))
		i = (i + 1) % TABLE_SIZE;
	return table->known[i].address || table->known_count < TABLE_SIZE / 2 ? &table->known[i]
									      : NULL;
}

static bool is_type_address(const struct go_type_table *table, uint64_t address)
{
	const struct go_range *r = &table->program->types;

	return address >= r->start && address < r->end && r->end - address >= TYPE_BYTES &&
	       !(address % 8);
}

/* A name: flags, its length as a varint, and the text. NULL: none that can be shown. */
static char *type_name(const struct go_type_table *table, uint32_t offset, bool extra)
{
	const struct managed_memory *memory = table->program->memory;
	uint64_t at = table->program->types.start + offset + 1;
	uint64_t end = table->program->types.end;
	char text[NAME_LONGEST + 1];
	uint8_t len[2];
	size_t size;

	if (!offset || at + 3 > end || !managed_read(memory, at, len, 2))
		return NULL;
	size = len[0] & 0x7f;
	at++;
	if (len[0] & 0x80) {
		size |= (size_t)(len[1] & 0x7f) << 7;
		at++;
	}
	if (len[0] & len[1] & 0x80 || !size || size > end - at)
		return NULL;
	size = size < NAME_LONGEST ? size : NAME_LONGEST;
	if (!managed_read(memory, at, text, size))
		return NULL;
	for (size_t i = 0; i < size; i++) {
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			return NULL;
	}
	extra = extra && text[0] == '*' && size > 1;
	return strndup(text + extra, size - extra);
}

/* What its kind has behind the part that all have. */
static void type_more(struct go_type *t, const uint64_t *words)
{
	switch (t->kind) {
	case GO_ARRAY:
		t->element = words[6];
		t->length = words[8];
		break;
	case GO_POINTER:
	case GO_SLICE:
	case GO_CHAN:
		t->element = words[6];
		break;
	case GO_MAP:
		t->element = words[8];
		break;
	case GO_STRUCT:
		t->fields = words[7];
		t->length = words[8];
		break;
	default:
		break;
	}
}

static bool type_read(const struct go_type_table *table, uint64_t address, struct go_type *t)
{
	const struct managed_memory *memory = table->program->memory;
	uint64_t words[TYPE_WORDS] = {0};
	uint32_t name;
	uint8_t flags;

	*t = (struct go_type){.address = address};
	/* The last one may have nothing behind it. */
	if (!managed_read(memory, address, words, sizeof(words)) &&
	    !managed_read(memory, address, words, TYPE_BYTES))
		return false;
	t->size = words[0];
	t->hash = (uint32_t)words[2];
	flags = (uint8_t)(words[2] >> 32);
	t->kind = (uint8_t)(words[2] >> 56) & KIND_MASK;
	name = (uint32_t)words[5];
	if (!t->kind || t->kind > GO_UNSAFE_POINTER || t->size >= SIZE_MOST || words[1] > t->size ||
	    name >= table->program->types.end - table->program->types.start)
		return false;
	type_more(t, words);
	t->name = type_name(table, name, flags & TYPE_EXTRA);
	return t->name != NULL;
}

uint32_t go_type_at(struct go_type_table *table, uint64_t address)
{
	struct known_address *known;
	struct go_type type;

	if (!is_type_address(table, address) || !(known = known_at(table, address, false)))
		return 0;
	if (known->address)
		return known->type;
	known->address = address;
	table->known_count++;
	if (table->count == TYPES_MAX || !type_read(table, address, &type))
		return 0;
	if (!RESERVE_ITEM(table->types, table->count, table->room, 256)) {
		free(type.name);
		return 0;
	}
	table->types[table->count++] = type;
	known->type = (uint32_t)table->count;
	return known->type;
}

const struct go_type *go_type_of(const struct go_type_table *table, uint32_t type)
{
	return &table->types[type - 1];
}

/* struct itab: the interface, the type, the type's hash once more. */
static uint32_t method_table_type(struct go_type_table *table, uint64_t address)
{
	uint64_t words[3];
	uint32_t interface, type;

	if (!managed_read(table->program->memory, address, words, sizeof(words)))
		return 0;
	interface = go_type_at(table, words[0]);
	if (!interface || go_type_of(table, interface)->kind != GO_INTERFACE)
		return 0;
	type = go_type_at(table, words[1]);
	return type && go_type_of(table, type)->hash == (uint32_t)words[2] ? type : 0;
}

uint32_t go_type_of_interface(struct go_type_table *table, uint64_t word)
{
	struct known_address *known;
	uint32_t type = go_type_at(table, word);

	if (type || word < 4096 || word % 8)
		return type;
	known = known_at(table, word, true);
	if (!known)
		return 0;
	if (known->address)
		return known->type;
	*known = (struct known_address){.address = word, .method_table = true};
	table->known_count++;
	type = method_table_type(table, word);
	known->type = type;
	return type;
}

/* ---- slots --------------------------------------------------------------------------------- */

struct slot_list {
	struct go_type_table *table;
	struct go_slot *slots;
	size_t count, room;
};

static bool slots_add(struct slot_list *list, uint64_t offset, uint32_t type, int depth);

static bool slots_add_fields(struct slot_list *list, uint64_t offset, const struct go_type *t,
			     int depth)
{
	uint64_t fields = t->fields, count = t->length < FIELDS_MAX ? t->length : FIELDS_MAX;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t field[3]; /* name, type, offset */
		uint32_t type;

		if (!managed_read(list->table->program->memory, fields + 24 * i, field,
				  sizeof(field)))
			return true;
		type = go_type_at(list->table, field[1]);
		if (type && field[2] < SIZE_MOST &&
		    !slots_add(list, offset + field[2], type, depth + 1))
			return false;
	}
	return true;
}

static bool slots_add_elements(struct slot_list *list, uint64_t offset, const struct go_type *t,
			       int depth)
{
	uint64_t length = t->length < SLOTS_MAX ? t->length : SLOTS_MAX, size;
	uint32_t element = go_type_at(list->table, t->element);
	size_t before = list->count;

	if (!element)
		return true;
	size = go_type_of(list->table, element)->size;
	for (uint64_t i = 0; i < length; i++) {
		if (!slots_add(list, offset + i * size, element, depth + 1))
			return false;
		/* What one element has not none has. */
		if (list->count == before)
			return true;
	}
	return true;
}

/* False: there are too many, or there is no memory. */
static bool slots_add(struct slot_list *list, uint64_t offset, uint32_t type, int depth)
{
	const struct go_type t = *go_type_of(list->table, type);

	if (depth > DEPTH_MAX)
		return true;
	switch (t.kind) {
	case GO_STRUCT:
		return slots_add_fields(list, offset, &t, depth);
	case GO_ARRAY:
		return slots_add_elements(list, offset, &t, depth);
	case GO_CHAN:
	case GO_FUNC:
	case GO_INTERFACE:
	case GO_MAP:
	case GO_POINTER:
	case GO_SLICE:
	case GO_STRING:
		if (offset % 8 || list->count == SLOTS_MAX || !list->table->slots_left ||
		    !RESERVE_ITEM(list->slots, list->count, list->room, 8))
			return false;
		list->table->slots_left--;
		list->slots[list->count++] = (struct go_slot){offset, type};
		return true;
	default:
		return true;
	}
}

const struct go_slot *go_type_slots(struct go_type_table *table, uint32_t type, size_t *count)
{
	if (!table->types[type - 1].planned) {
		struct slot_list list = {.table = table};

		table->types[type - 1].planned = true;
		slots_add(&list, 0, type, 0);
		table->types[type - 1].slots = list.slots;
		table->types[type - 1].slot_count = list.count;
	}
	*count = table->types[type - 1].slot_count;
	return table->types[type - 1].slots;
}
