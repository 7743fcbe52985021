// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/symbol/type_names.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/hash.h"
#include "user/base/util.h"

#define SCOPES_MAX     32	  /* within each other */
#define STRIPS_MAX     64	  /* typedefs and qualifiers in a row */
#define POINTERS_DEEP  4	  /* int **** */
#define ENTRIES_MAX    (1u << 21) /* types and variables, of all units */
#define NAMED_MAX      (1u << 20)
#define STEPS_MAX      (16u << 20)
#define SCOPE_TEXT_MAX 2048

/* Codes that libdw's header does not have yet (dwarfstd.org/languages.html). */
#define LANG_CXX_17 0x2a
#define LANG_CXX_20 0x2b
#define LANG_C_17   0x2c

struct type_named {
	UT_hash_handle hh;
	const void *entry; /* Dwarf_Die.addr, which differs between files as well */
	uint32_t type;
};

/* A place on the way down. */
struct type_scope {
	struct type_names *names;
	bool cxx;
	int depth;
	size_t len;
	char text[SCOPE_TEXT_MAX]; /* "shop::" */
};

static const char *type_entry_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attribute));
}

bool type_follow(Dwarf_Die *die, Dwarf_Die *to)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, DW_AT_type, &attribute) &&
	       dwarf_formref_die(&attribute, to);
}

bool type_strip(Dwarf_Die *die)
{
	for (int i = 0; i < STRIPS_MAX; i++) {
		switch (dwarf_tag(die)) {
		case DW_TAG_typedef:
		case DW_TAG_const_type:
		case DW_TAG_volatile_type:
		case DW_TAG_restrict_type:
		case DW_TAG_atomic_type:
			if (!type_follow(die, die))
				return false;
			break;
		default:
			return true;
		}
	}
	return false;
}

static struct type_named *type_named_find(const struct type_names *names, const void *entry)
{
	struct type_named *named;

	HASH_FIND(hh, names->named, &entry, sizeof(entry), named);
	return named;
}

static int type_named_add(struct type_names *names, const void *entry, uint32_t type)
{
	struct type_named *named;

	if (HASH_COUNT(names->named) == NAMED_MAX) {
		names->table->cut = true;
		return 0;
	}
	named = calloc(1, sizeof(*named));
	if (!named)
		return -ENOMEM;
	named->entry = entry;
	named->type = type;
	HASH_ADD(hh, names->named, entry, sizeof(named->entry), named);
	if (!named->hh.tbl) { /* how uthash tells that it ran out of memory */
		free(named);
		return -ENOMEM;
	}
	return 0;
}

/* ---- the way down --------------------------------------------------------------------------- */

/* C's "struct ". */
static const char *type_word(int tag, bool cxx)
{
	if (cxx)
		return "";
	switch (tag) {
	case DW_TAG_union_type:
		return "union ";
	case DW_TAG_enumeration_type:
		return "enum ";
	default:
		return "struct ";
	}
}

static int type_scope_name(struct type_scope *scope, Dwarf_Die *die, const char *word,
			   const char *name)
{
	char text[SCOPE_TEXT_MAX + TYPE_NAME_MAX + 16];
	uint32_t type;
	int len, err;

	if (type_named_find(scope->names, die->addr))
		return 0;
	len = snprintf(text, sizeof(text), "%s%s%s", word, scope->text, name);
	if (len < 0 || (size_t)len >= sizeof(text))
		return 0;
	err = type_table_name(scope->names->table, text, &type);
	return err || type == TYPE_NONE ? err : type_named_add(scope->names, die->addr, type);
}

/* A structure without a name gets that of the first typedef, which programs use instead. */
static int type_scope_typedef(struct type_scope *scope, Dwarf_Die *die)
{
	const char *name = type_entry_name(die);
	Dwarf_Die to;

	if (!name || !type_follow(die, &to))
		return 0;
	switch (dwarf_tag(&to)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return type_entry_name(&to) ? 0 : type_scope_name(scope, &to, "", name);
	default:
		return 0;
	}
}

static int type_names_keep(struct type_names *names, Dwarf_Die *die, bool variable)
{
	if (names->entry_count == ENTRIES_MAX) {
		names->table->cut = true;
		return 0;
	}
	if (!RESERVE_ITEM(names->entries, names->entry_count, names->entry_room, 1024))
		return -ENOMEM;
	names->entries[names->entry_count++] = (struct type_entry){*die, variable};
	return 0;
}

static int type_scope_children(struct type_scope *scope, Dwarf_Die *parent);

/* Visits the children of an entry that has a name of its own. */
static int type_scope_inner(struct type_scope *scope, Dwarf_Die *die, const char *name)
{
	size_t len = scope->len;
	int err, added = 0;

	if (scope->cxx && name) {
		added = snprintf(scope->text + len, sizeof(scope->text) - len, "%s::", name);
		if (added < 0 || (size_t)added >= sizeof(scope->text) - len) {
			scope->text[len] = '\0';
			return 0;
		}
	}
	scope->len += (size_t)added;
	err = type_scope_children(scope, die);
	scope->len = len;
	scope->text[len] = '\0';
	return err;
}

static int type_scope_type(struct type_scope *scope, Dwarf_Die *die, int tag)
{
	const char *name = type_entry_name(die);
	int err = name ? type_scope_name(scope, die, type_word(tag, scope->cxx), name) : 0;

	err = err ?: type_names_keep(scope->names, die, false);
	return err || tag == DW_TAG_enumeration_type ? err : type_scope_inner(scope, die, name);
}

/* Has it an address of its own? (DWARF 5, 2.6) */
static bool type_is_placed(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Block block;

	return dwarf_attr(die, DW_AT_location, &attribute) &&
	       !dwarf_formblock(&attribute, &block) && block.length &&
	       (block.data[0] == DW_OP_addr || block.data[0] == DW_OP_addrx);
}

static int type_scope_entry(struct type_scope *scope, Dwarf_Die *die)
{
	int tag = dwarf_tag(die);
	const char *name;

	switch (tag) {
	case DW_TAG_variable:
		return type_is_placed(die) ? type_names_keep(scope->names, die, true) : 0;
	case DW_TAG_typedef:
		return type_scope_typedef(scope, die);
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return type_scope_type(scope, die, tag);
	case DW_TAG_namespace:
		name = type_entry_name(die);
		return type_scope_inner(scope, die, name ?: "(anonymous namespace)");
	case DW_TAG_subprogram:
		return type_scope_inner(scope, die, type_entry_name(die));
	case DW_TAG_lexical_block:
		return type_scope_inner(scope, die, NULL);
	default:
		return 0;
	}
}

static int type_scope_children(struct type_scope *scope, Dwarf_Die *parent)
{
	Dwarf_Die child;
	int err = 0;

	if (scope->depth == SCOPES_MAX || dwarf_child(parent, &child) != 0)
		return 0;
	scope->depth++;
	do {
		if (!scope->names->steps) {
			scope->names->table->cut = true;
			break;
		}
		scope->names->steps--;
		err = type_scope_entry(scope, &child);
	} while (!err && dwarf_siblingof(&child, &child) == 0);
	scope->depth--;
	return err;
}

enum type_language { TYPES_OF_C, TYPES_OF_CXX, TYPES_OF_OTHERS, TYPES_OF_ANY };

static enum type_language type_language(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case LANG_C_17:
		return TYPES_OF_C;
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case LANG_CXX_17:
	case LANG_CXX_20:
		return TYPES_OF_CXX;
	case -1: /* what dwz(1) has taken out of several units */
		return TYPES_OF_ANY;
	default:
		return TYPES_OF_OTHERS;
	}
}

/* Are there units of C++? Their shared parts do not say so. */
static bool type_names_has_cxx(Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	while (dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0) {
		if (type_language(&die) == TYPES_OF_CXX)
			return true;
	}
	return false;
}

int type_names_find(struct type_names *names, Dwarf *dwarf)
{
	struct type_scope *scope = calloc(1, sizeof(*scope));
	bool cxx = type_names_has_cxx(dwarf);
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;
	uint8_t kind;
	int err = scope ? 0 : -ENOMEM;

	names->steps = STEPS_MAX;
	while (!err && dwarf_get_units(dwarf, unit, &unit, NULL, &kind, &die, NULL) == 0) {
		enum type_language language = type_language(&die);

		if (language == TYPES_OF_OTHERS ||
		    (kind != DW_UT_compile && kind != DW_UT_partial && kind != DW_UT_type))
			continue;
		scope->names = names;
		scope->cxx = language == TYPES_OF_ANY ? cxx : language == TYPES_OF_CXX;
		err = type_scope_children(scope, &die);
	}
	free(scope);
	return err;
}

void type_names_release(struct type_names *names)
{
	struct type_named *named, *next;

	HASH_ITER (hh, names->named, named, next) {
		HASH_DEL(names->named, named);
		free(named);
	}
	free(names->entries);
}

/* ---- names of what has none of its own ------------------------------------------------------ */

static int type_name_at(struct type_names *names, Dwarf_Die *die, int depth, uint32_t *type);

/* Names "int *", and its target. */
static int type_name_pointer(struct type_names *names, Dwarf_Die *die, int depth, uint32_t *type)
{
	struct type_pointer pointer = {.count = 1, .stride = 8};
	struct type_shape shape = {.size = 8, .flags = TYPE_POINTER, .pointers = &pointer};
	char text[TYPE_NAME_MAX + 8];
	const char *name = "void";
	int len, err = 0;
	Dwarf_Die to;

	if (type_follow(die, &to) && type_strip(&to)) {
		err = type_name_at(names, &to, depth + 1, &pointer.to);
		if (err || pointer.to == TYPE_NONE)
			return err;
		name = names->table->types[pointer.to].name;
	}
	len = snprintf(text, sizeof(text), "%s%s*", name,
		       *name && name[strlen(name) - 1] == '*' ? "" : " ");
	if (len < 0 || (size_t)len >= sizeof(text))
		return 0;
	shape.count = pointer.to != TYPE_NONE;
	err = type_table_name(names->table, text, type);
	return err ?: type_table_define(names->table, *type, &shape);
}

/* Names "int". An enumeration has a name of its own. */
static int type_name_scalar(struct type_names *names, Dwarf_Die *die, uint32_t *type)
{
	int size = dwarf_bytesize(die);
	struct type_shape shape = {.size = (uint64_t)size, .flags = TYPE_SCALAR};
	const char *name = type_entry_name(die);
	int err = name ? type_table_name(names->table, name, type) : 0;

	return err || *type == TYPE_NONE || size <= 0
		       ? err
		       : type_table_define(names->table, *type, &shape);
}

static int type_name_at(struct type_names *names, Dwarf_Die *die, int depth, uint32_t *type)
{
	const struct type_named *named = type_named_find(names, die->addr);
	int err;

	*type = named ? named->type : TYPE_NONE;
	if (named || depth > POINTERS_DEEP)
		return 0;
	switch (dwarf_tag(die)) {
	case DW_TAG_base_type:
		err = type_name_scalar(names, die, type);
		break;
	case DW_TAG_pointer_type:
		err = type_name_pointer(names, die, depth, type);
		break;
	default:
		return 0;
	}
	return err || *type == TYPE_NONE ? err : type_named_add(names, die->addr, *type);
}

int type_names_of(struct type_names *names, Dwarf_Die *die, uint32_t *type)
{
	return type_name_at(names, die, 0, type);
}
