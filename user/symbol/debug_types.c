// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * First reads the names of all units, for a type is known by its name. Then takes each type and
 * variable apart into its pointers. Members of a union are not looked at: nobody knows which one is
 * in use.
 */
#include "user/symbol/debug_types.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/symbol/type_names.h"

#define NESTED_MAX 16 /* structures and arrays within each other */
#define STEPS_MAX  (32u << 20)

struct types_reader {
	struct type_names names;
	uint64_t bias;
	uint64_t steps;		       /* members that may still be looked at */
	struct type_pointer *pointers; /* of the entry being read */
	size_t count;
};

/* Further facts about the entry being read. */
struct types_seen {
	uint32_t flags, begins;
};

static void types_put(struct types_reader *r, const struct type_pointer *pointer)
{
	if (r->count < TYPE_POINTERS_MAX)
		r->pointers[r->count++] = *pointer;
	else
		r->names.table->cut = true;
}

static int types_read_any(struct types_reader *r, Dwarf_Die *die, uint64_t offset, int depth,
			  struct types_seen *seen);

/* ---- arrays --------------------------------------------------------------------------------- */

/* The number of elements in all dimensions; 0: unknown. */
static uint64_t types_array_count(Dwarf_Die *die)
{
	uint64_t count = 1;
	Dwarf_Die child;

	if (dwarf_child(die, &child) != 0)
		return 0;
	do {
		Dwarf_Attribute attribute;
		Dwarf_Word value;

		if (dwarf_tag(&child) != DW_TAG_subrange_type)
			continue;
		if (!dwarf_formudata(dwarf_attr(&child, DW_AT_count, &attribute), &value))
			count *= value;
		else if (!dwarf_formudata(dwarf_attr(&child, DW_AT_upper_bound, &attribute),
					  &value) &&
			 value < UINT32_MAX)
			count *= value + 1;
		else
			return 0;
		if (count > UINT32_MAX)
			return 0;
	} while (dwarf_siblingof(&child, &child) == 0);
	return count;
}

/* Repeats the pointers of one element, from `first` on, for all elements. */
static void types_repeat(struct types_reader *r, size_t first, uint64_t count, uint32_t size)
{
	size_t one = r->count;

	for (size_t i = first; i < one; i++) {
		struct type_pointer *p = &r->pointers[i], again = *p;

		if (p->count == 1) {
			p->count = (uint32_t)count;
			p->stride = size;
			continue;
		}
		/* An array in each. */
		for (uint64_t k = 1; k < count && r->count < TYPE_POINTERS_MAX; k++) {
			again.offset += size;
			types_put(r, &again);
		}
	}
}

static int types_read_array(struct types_reader *r, Dwarf_Die *die, uint64_t offset, int depth,
			    struct types_seen *seen)
{
	uint64_t count = types_array_count(die);
	struct types_seen element = {.flags = 0};
	size_t first = r->count;
	Dwarf_Die of;
	int size, err;

	/* int a[], int a[0]: the last member, which goes on to the end of the block. */
	if (!count)
		seen->flags |= TYPE_OPEN;
	if (!type_follow(die, &of) || !type_strip(&of))
		return 0;
	size = dwarf_tag(&of) == DW_TAG_pointer_type ? 8 : dwarf_bytesize(&of);
	err = types_read_any(r, &of, offset, depth + 1, &element);
	seen->begins = element.begins;
	if (err || size < 8 || element.flags & TYPE_OPEN)
		r->count = first; /* an array of arrays has its size from its elements' */
	else if (count != 1)
		types_repeat(r, first, count, (uint32_t)size);
	return err;
}

/* ---- structures ----------------------------------------------------------------------------- */

/* Where a member lies; false: the place is no number, or the member is some bits. */
static bool types_member_place(Dwarf_Die *die, uint64_t *offset)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;

	if (dwarf_hasattr(die, DW_AT_bit_size) || dwarf_hasattr(die, DW_AT_external) ||
	    dwarf_hasattr(die, DW_AT_data_bit_offset))
		return false;
	if (dwarf_attr(die, DW_AT_data_member_location, &attribute) &&
	    dwarf_formudata(&attribute, &value))
		return false;
	*offset = value;
	return value < TYPE_SIZE_MAX;
}

static int types_read_member(struct types_reader *r, Dwarf_Die *die, uint64_t offset, int depth,
			     struct types_seen *seen)
{
	struct types_seen member = {.flags = 0};
	const char *name = dwarf_diename(die);
	uint64_t at;
	Dwarf_Die of;
	int err;

	if (name && (!strncmp(name, "_vptr.", 6) || !strncmp(name, "_vptr$", 6)))
		seen->flags |= TYPE_POLYMORPHIC;
	if (!types_member_place(die, &at) || !type_follow(die, &of) || !type_strip(&of))
		return 0;
	err = types_read_any(r, &of, offset + at, depth + 1, &member);
	/* An empty base takes no room. */
	if (!at && seen->begins == TYPE_NONE &&
	    !(dwarf_tag(die) == DW_TAG_inheritance && dwarf_bytesize(&of) <= 1))
		seen->begins = member.begins;
	seen->flags |= member.flags & (TYPE_OPEN | TYPE_POLYMORPHIC);
	return err;
}

static int types_read_members(struct types_reader *r, Dwarf_Die *die, uint64_t offset, int depth,
			      struct types_seen *seen)
{
	Dwarf_Die child;
	int err = 0;

	/* A class with virtual functions names the class that has the pointer to their table. */
	if (dwarf_hasattr(die, DW_AT_containing_type))
		seen->flags |= TYPE_POLYMORPHIC;
	if (dwarf_child(die, &child) != 0)
		return 0;
	do {
		int tag = dwarf_tag(&child);

		if (!r->steps) {
			r->names.table->cut = true;
			break;
		}
		r->steps--;
		if (tag == DW_TAG_inheritance && dwarf_hasattr(&child, DW_AT_virtuality))
			seen->flags |= TYPE_POLYMORPHIC;
		else if (tag == DW_TAG_member || tag == DW_TAG_inheritance)
			err = types_read_member(r, &child, offset, depth, seen);
	} while (!err && dwarf_siblingof(&child, &child) == 0);
	return err;
}

/* *seen is about the entry at that place. A structure begins with itself, where it has a name. */
static int types_read_any(struct types_reader *r, Dwarf_Die *die, uint64_t offset, int depth,
			  struct types_seen *seen)
{
	struct type_pointer pointer = {.offset = offset, .count = 1, .stride = 8};
	uint32_t self;
	Dwarf_Die to;
	int err;

	if (depth > NESTED_MAX) {
		r->names.table->cut = true;
		return 0;
	}
	err = type_names_of(&r->names, die, &self);
	if (err)
		return err;
	switch (dwarf_tag(die)) {
	case DW_TAG_pointer_type:
		seen->begins = self;
		if (!type_follow(die, &to) || !type_strip(&to))
			return 0;
		err = type_names_of(&r->names, &to, &pointer.to);
		if (!err && pointer.to != TYPE_NONE)
			types_put(r, &pointer);
		return err;
	case DW_TAG_array_type:
		return types_read_array(r, die, offset, depth, seen);
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
		err = types_read_members(r, die, offset, depth, seen);
		seen->begins = self != TYPE_NONE ? self : seen->begins;
		return err;
	default:
		seen->begins = self;
		return 0;
	}
}

/* ---- types and variables -------------------------------------------------------------------- */

static int types_define(struct types_reader *r, Dwarf_Die *die)
{
	int tag = dwarf_tag(die), size = dwarf_bytesize(die), err = 0;
	struct types_seen seen = {.flags = 0};
	struct type_shape shape = {.size = (uint64_t)size, .pointers = r->pointers};
	uint32_t self;

	err = type_names_of(&r->names, die, &self);
	if (err || self == TYPE_NONE || size < 0 || dwarf_hasattr(die, DW_AT_declaration))
		return err;
	r->count = 0;
	if (tag == DW_TAG_enumeration_type)
		seen.flags = TYPE_SCALAR;
	else if (tag != DW_TAG_union_type)
		err = types_read_members(r, die, 0, 0, &seen);
	shape.flags = seen.flags;
	shape.begins = seen.begins;
	shape.count = r->count;
	return err ?: type_table_define(r->names.table, self, &shape);
}

static bool types_variable_address(Dwarf_Die *die, uint64_t *address)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	if (!dwarf_attr(die, DW_AT_location, &attribute) ||
	    dwarf_getlocation(&attribute, &ops, &count) || count != 1)
		return false;
	*address = ops->number;
	if (ops->atom == DW_OP_addrx) {
		Dwarf_Attribute place;

		if (dwarf_getlocation_attr(&attribute, ops, &place) ||
		    dwarf_formaddr(&place, address))
			return false;
	} else if (ops->atom != DW_OP_addr) {
		return false;
	}
	/* The linker puts dropped variables at 0. */
	return *address > 1;
}

static int types_add_variable(struct types_reader *r, Dwarf_Die *die)
{
	struct types_seen seen = {.flags = 0};
	uint64_t address;
	Dwarf_Die of;
	int err;

	if (!types_variable_address(die, &address) || !type_follow(die, &of) || !type_strip(&of))
		return 0;
	r->count = 0;
	err = types_read_any(r, &of, address - r->bias, 0, &seen);
	for (size_t i = 0; !err && i < r->count; i++)
		err = type_table_add_variable(r->names.table, &r->pointers[i]);
	return err;
}

static int types_read_entries(struct types_reader *r)
{
	int err = 0;

	for (size_t i = 0; !err && i < r->names.entry_count; i++) {
		struct type_entry *entry = &r->names.entries[i];

		err = entry->variable ? types_add_variable(r, &entry->die)
				      : types_define(r, &entry->die);
	}
	return err;
}

int debug_types_read(Dwarf *dwarf, uint64_t bias, struct type_table **out)
{
	struct types_reader r = {.bias = bias, .steps = STEPS_MAX};
	int err = -ENOMEM;

	r.names.table = type_table_new();
	r.pointers = calloc(TYPE_POINTERS_MAX, sizeof(*r.pointers));
	if (r.names.table && r.pointers) {
		err = type_names_find(&r.names, dwarf);
		err = err ?: types_read_entries(&r);
	}
	type_names_release(&r.names);
	free(r.pointers);
	if (err)
		type_table_free(r.names.table);
	else
		*out = r.names.table;
	return err;
}
