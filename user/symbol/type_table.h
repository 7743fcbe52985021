/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Types and variables of C and C++ as plain tables: how large each type is, and where in it pointers to
 * which others are. A type is known by its name; of two that have one name and are not the same
 * nothing is known.
 */
#ifndef MEMLEAKBPF_SYMBOL_TYPE_TABLE_H
#define MEMLEAKBPF_SYMBOL_TYPE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/bytes.h"

/* What is beyond is left out, and type_table.cut says so: debug information is a stranger's word. */
#define TYPES_MAX	   (1u << 17)
#define TYPE_POINTERS_MAX  4096u       /* of one type */
#define TYPE_POINTERS_ALL  (1u << 20)  /* of all types together */
#define TYPE_VARIABLES_MAX (1u << 19)  /* pointers that variables have */
#define TYPE_NAME_MAX	   4000u       /* bytes; what has a longer name is no type */
#define TYPE_NAMES_MAX	   (16u << 20) /* bytes of all names */
#define TYPE_SIZE_MAX	   (1ull << 40)

#define TYPE_NONE 0u

enum type_flag {
	TYPE_DEFINED = 1 << 0,	 /* it is known what it looks like */
	TYPE_AMBIGUOUS = 1 << 1, /* several are called so */
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
	uint32_t count;	 /* 0: to the end of the block, of a TYPE_OPEN type */
	uint32_t stride; /* bytes */
	uint32_t to;	 /* index of the type that they point to */
};

struct type {
	char *name; /* as it is written in the source: "struct session", "shop::Session", "int *" */
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
	bool cut; /* there is more of it than is here */
	size_t name_bytes;
	struct type_name *names;
};

struct type_table *type_table_new(void);	/* NULL when out of memory */
void type_table_free(struct type_table *table); /* NULL is fine */

/* The index of the type of that name, TYPE_NONE where there is no room for it. 0 or -ENOMEM. */
int type_table_name(struct type_table *table, const char *name, uint32_t *type);

/* The same of one that is there; TYPE_NONE: it is not. */
uint32_t type_table_find(const struct type_table *table, const char *name);

struct type_shape {
	uint64_t size;
	uint32_t flags, begins;
	const struct type_pointer *pointers;
	size_t count;
};

/* What a named type looks like. Pointers that do not lie in it are left out. 0 or -ENOMEM. */
int type_table_define(struct type_table *table, uint32_t index, const struct type_shape *shape);

int type_table_add_variable(struct type_table *table, const struct type_pointer *pointer);

/* Enters all types of another table; ids[i]: what its type i is here. 0 or -ENOMEM. */
int type_table_merge(struct type_table *into, const struct type_table *from, uint32_t *ids);

/* As bytes, and back: 0; -ENOMEM; -EBADMSG: what no table is. */
void type_table_pack(const struct type_table *table, struct bytes_writer *out);
int type_table_parse(const uint8_t *bytes, size_t len, struct type_table **out);

/* More than any table has. */
#define TYPE_BYTES_MAX (96u << 20)

#endif
