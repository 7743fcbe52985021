/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Types and variables of C and C++ as plain tables: how large each type is, and where its pointers
 * to other types lie. A type is known by its name. If two different types have one name, nothing is
 * known of it.
 */
#ifndef MEMLEAKBPF_SYMBOL_TYPE_TABLE_H
#define MEMLEAKBPF_SYMBOL_TYPE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/bytes.h"

/*
 * Limits, since debug information is a stranger's word. The rest is left out, and type_table.cut
 * says so.
 */
#define TYPES_MAX	   (1u << 17)
#define TYPE_POINTERS_MAX  4096u       /* of one type */
#define TYPE_POINTERS_ALL  (1u << 20)  /* of all types together */
#define TYPE_VARIABLES_MAX (1u << 19)  /* pointers in variables */
#define TYPE_NAME_MAX	   4000u       /* bytes; a type with a longer name is left out */
#define TYPE_NAMES_MAX	   (16u << 20) /* bytes of all names */
#define TYPE_SIZE_MAX	   (1ull << 40)

#define TYPE_NONE 0u

enum type_flag {
	TYPE_DEFINED = 1 << 0,	 /* its members are known */
	TYPE_AMBIGUOUS = 1 << 1, /* several types have this name */
	TYPE_POLYMORPHIC =
		1 << 2, /* it has virtual functions, or bases: its objects may be another class's */
	TYPE_OPEN = 1 << 3,   /* ends with an array of no length */
	TYPE_SCALAR = 1 << 4, /* a number, or an enumeration */
	TYPE_POINTER = 1 << 5,
	TYPE_FLAGS = (1 << 6) - 1,
};

/* Pointers at equal distances. */
struct type_pointer {
	uint64_t
		offset; /* of the first, from the type's beginning; of a variable: its link-time address */
	uint32_t count;	 /* 0: up to the end of the block, for a TYPE_OPEN type */
	uint32_t stride; /* bytes */
	uint32_t to;	 /* index of the type pointed to */
};

struct type {
	char *name; /* as in the source: "struct session", "shop::Session", "int *" */
	uint64_t size;
	uint32_t flags;
	uint32_t
		begins; /* the type of what lies at its beginning; TYPE_NONE: not known, or nothing */
	uint32_t first, count; /* its pointers */
};

struct type_table {
	struct type *types; /* the first one is TYPE_NONE */
	size_t count, room;
	struct type_pointer *pointers;
	size_t pointer_count, pointer_room;
	struct type_pointer *variables;
	size_t variable_count, variable_room;
	bool cut; /* some of it was left out */
	size_t name_bytes;
	struct type_name *names;
};

struct type_table *type_table_new(void);	/* NULL when out of memory */
void type_table_free(struct type_table *table); /* NULL is fine */

/*
 * Finds or adds the type of that name; *type is TYPE_NONE where there is no room for it. 0 or
 * -ENOMEM.
 */
int type_table_name(struct type_table *table, const char *name, uint32_t *type);

/* Finds a type that is there; TYPE_NONE: it is not. */
uint32_t type_table_find(const struct type_table *table, const char *name);

struct type_shape {
	uint64_t size;
	uint32_t flags, begins;
	const struct type_pointer *pointers;
	size_t count;
};

/* Sets a named type's size and members. Leaves out pointers that do not lie in it. 0 or -ENOMEM. */
int type_table_define(struct type_table *table, uint32_t index, const struct type_shape *shape);

int type_table_add_variable(struct type_table *table, const struct type_pointer *pointer);

/* Enters all types of another table; ids[i] is the index here of its type i. 0 or -ENOMEM. */
int type_table_merge(struct type_table *into, const struct type_table *from, uint32_t *ids);

/* To bytes, and back: 0; -ENOMEM; -EBADMSG: the bytes are no table. */
void type_table_pack(const struct type_table *table, struct bytes_writer *out);
int type_table_parse(const uint8_t *bytes, size_t len, struct type_table **out);

/* No packed table is longer. */
#define TYPE_BYTES_MAX (96u << 20)

#endif
