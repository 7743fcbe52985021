/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The names of types in the source, with their scopes. They are collected on the way down through a
 * unit's entries, since an entry does not say where it lies. Internal to debug_types.c.
 */
#ifndef MEMLEAKBPF_SYMBOL_TYPE_NAMES_H
#define MEMLEAKBPF_SYMBOL_TYPE_NAMES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/symbol/type_table.h"

/* An entry to be read when all names are known. */
struct type_entry {
	Dwarf_Die die;
	bool variable; /* else a type */
};

struct type_named; /* by entry */

struct type_names {
	struct type_table *table;
	struct type_named *named;
	struct type_entry *entries;
	size_t entry_count, entry_room;
	uint64_t steps; /* entries that may still be looked at */
};

/* Looks through all units: 0 or -ENOMEM. Releases nothing. */
int type_names_find(struct type_names *names, Dwarf *dwarf);
void type_names_release(struct type_names *names);

/*
 * The type of an entry that is no typedef and has no qualifier; *type is TYPE_NONE where it has no
 * name.
 */
int type_names_of(struct type_names *names, Dwarf_Die *die, uint32_t *type);

/* Follows DW_AT_type; false: there is none (void). */
bool type_follow(Dwarf_Die *die, Dwarf_Die *to);

/* Passes typedefs and qualifiers; false where void is behind them. */
bool type_strip(Dwarf_Die *die);

#endif
