// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/symbol/diename.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/symbol/symbol.h"

#define REFERENCE_MAX 16 /* as many as dwarf_attr_integrate() follows */
#define SCOPE_MAX     64 /* nested scopes of a name */
#define NAME_MAX_LEN  4096

static const char *string_attribute(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

/* The entry that declares the function, within its scopes: the end of the chain of references. */
static Dwarf_Die declaration_of(Dwarf_Die *die)
{
	Dwarf_Die at = *die;

	for (int i = 0; i < REFERENCE_MAX; i++) {
		Dwarf_Attribute attribute;
		Dwarf_Die next;

		if (!dwarf_attr(&at, DW_AT_abstract_origin, &attribute) &&
		    !dwarf_attr(&at, DW_AT_specification, &attribute))
			break;
		if (!dwarf_formref_die(&attribute, &next))
			break;
		at = next;
	}
	return at;
}

static bool is_c(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return true;
	default:
		return false;
	}
}

/* The scope's part of the names in it; NULL when it has none. */
static const char *scope_name(Dwarf_Die *scope)
{
	const char *name = string_attribute(scope, DW_AT_name);

	switch (dwarf_tag(scope)) {
	case DW_TAG_namespace:
		return name ? name : "(anonymous namespace)";
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return name ? name : "(anonymous)";
	case DW_TAG_module:
	case DW_TAG_enumeration_type:
	case DW_TAG_interface_type:
	case DW_TAG_subprogram:
		return name;
	default:
		return NULL;
	}
}

/*
 * The child of `parent` that is the entry at `offset` or holds it. Entries lie in the file as in
 * the tree: it is the last child that does not start after `offset`.
 */
static bool child_towards(Dwarf_Die *parent, Dwarf_Off offset, Dwarf_Die *child)
{
	Dwarf_Die each;
	bool found = false;

	if (dwarf_child(parent, &each) != 0)
		return false;
	do {
		if (dwarf_dieoffset(&each) > offset)
			break;
		*child = each;
		found = true;
	} while (dwarf_siblingof(&each, &each) == 0);
	return found;
}

static void append_scope(char *text, size_t *used, const char *name)
{
	size_t len = strnlen(name, NAME_MAX_LEN);

	if (*used + len + 3 > NAME_MAX_LEN)
		return;
	memcpy(text + *used, name, len);
	memcpy(text + *used + len, "::", 3);
	*used += len + 2;
}

static char *qualified_name(Dwarf_Die *die, const char *name)
{
	_cleanup_free_ char *text = NULL;
	Dwarf_Die declaration = declaration_of(die);
	Dwarf_Off offset = dwarf_dieoffset(&declaration);
	Dwarf_Die at;
	size_t used = 0;

	if (!dwarf_diecu(&declaration, &at, NULL, NULL) || is_c(&at))
		return strndup(name, NAME_MAX_LEN);
	text = malloc(2 * NAME_MAX_LEN);
	if (!text)
		return NULL;
	for (int depth = 0; depth < SCOPE_MAX; depth++) {
		const char *scope;
		Dwarf_Die child;

		if (!child_towards(&at, offset, &child) || dwarf_dieoffset(&child) == offset)
			break;
		scope = scope_name(&child);
		if (scope)
			append_scope(text, &used, scope);
		at = child;
	}
	{
		size_t len = strnlen(name, NAME_MAX_LEN - 1);

		memcpy(text + used, name, len);
		text[used + len] = '\0';
	}
	return TAKE_PTR(text);
}

char *die_function_name(Dwarf_Die *die)
{
	const char *linkage = string_attribute(die, DW_AT_linkage_name);
	const char *name;
	char *demangled;

	if (!linkage)
		linkage = string_attribute(die, DW_AT_MIPS_linkage_name);
	demangled = linkage ? symbol_demangle(linkage) : NULL;
	if (demangled)
		return demangled;
	/*
	 * A linkage name that is not mangled is an assembler label ("__isoc99_sscanf"): the
	 * source's name says more.
	 */
	name = string_attribute(die, DW_AT_name);
	if (name)
		return qualified_name(die, name);
	return linkage ? strndup(linkage, NAME_MAX_LEN) : NULL;
}
