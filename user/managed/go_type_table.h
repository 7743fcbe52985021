/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Go's descriptions of types (src/internal/abi/type.go), which the runtime needs itself, so that each program has those of
 * all that may lie in an interface. Everything in them is checked. Internal to go_types.h's files.
 */
#ifndef MEMLEAKBPF_MANAGED_GO_TYPE_TABLE_H
#define MEMLEAKBPF_MANAGED_GO_TYPE_TABLE_H

#include "user/managed/go_program.h"

enum go_type_kind {
	GO_ARRAY = 17,
	GO_CHAN,
	GO_FUNC,
	GO_INTERFACE,
	GO_MAP,
	GO_POINTER,
	GO_SLICE,
	GO_STRING,
	GO_STRUCT,
	GO_UNSAFE_POINTER,
};

/* What of a value leads to other memory. */
struct go_slot {
	uint64_t offset;
	uint32_t type; /* number of the type that lies there */
};

struct go_type {
	uint64_t address, size;
	uint64_t element; /* address; of a map its buckets or groups; 0: it has none */
	uint64_t length;  /* of an array; fields of a struct */
	uint64_t fields;  /* address of a struct's */
	uint32_t hash;
	uint8_t kind;
	bool planned;
	struct go_slot *slots;
	size_t slot_count;
	char *name;
};

struct go_type_table;

/* NULL when out of memory. The program outlives it. */
struct go_type_table *go_type_table_new(const struct go_program *program);
void go_type_table_free(struct go_type_table *table); /* NULL is fine */

/* The number of the type whose description lies at an address, from 1; 0: none lies there. */
uint32_t go_type_at(struct go_type_table *table, uint64_t address);

/* Valid until the next type is looked at. */
const struct go_type *go_type_of(const struct go_type_table *table, uint32_t type);

/* The number of the type that an interface's first word tells: a type, or a table of methods with it; 0: neither. */
uint32_t go_type_of_interface(struct go_type_table *table, uint64_t word);

/* The slots of a type, looked for once. They stay where they are. */
const struct go_slot *go_type_slots(struct go_type_table *table, uint32_t type, size_t *count);

#endif
