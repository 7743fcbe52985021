// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A virtual table has two words in front of what objects point to: the distance from there to the
 * beginning of the whole object (0 where the object itself begins) and a pointer to the typeinfo of the
 * object's class. That begins with a pointer into the virtual table of one of three classes of the ABI's
 * own, and then points to the name, mangled. All of it outlives strip(1). With -fno-rtti the pointer to
 * the typeinfo is 0, and only the table's symbol tells the name.
 */
#include "user/inspect/class_cxx.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

/* Words that point into files and were looked at; a program has that many tables at most. */
#define WORDS_MAX (1u << 18)

/* A name that is longer than what the demangler takes is shown as it is, cut. */
#define MANGLED_MAX (64u << 10)
#define NAME_PREFIX "_ZTS"

/* Tables of the ABI's typeinfo classes: each object that has libstdc++ in it has three. */
#define ABI_TABLES_MAX 64

/* Half of the table is free, at least: nobody comes by so many words in a row by chance. */
#define PROBES_MAX 64

#define NOT_MADE (CLASS_NO_GROUP - 1)

struct class_word {
	uint64_t word; /* 0: free */
	uint32_t group;
	uint32_t arrays; /* NOT_MADE: none has been met */
};

struct class_cxx {
	struct class_memory *memory;
	struct class_groups *groups;
	struct class_word *words; /* open addressing, a power of two */
	size_t word_count, word_room;
	struct class_abi {
		uint64_t table;
		bool is_typeinfo;
	} abi[ABI_TABLES_MAX];
	size_t abi_count;
	char text[sizeof(NAME_PREFIX) - 1 + MANGLED_MAX];
};

struct class_cxx *class_cxx_new(struct class_memory *memory, struct class_groups *groups)
{
	struct class_cxx *cxx = calloc(1, sizeof(*cxx));

	if (!cxx)
		return NULL;
	cxx->memory = memory;
	cxx->groups = groups;
	cxx->word_room = 1024;
	cxx->words = calloc(cxx->word_room, sizeof(*cxx->words));
	if (!cxx->words) {
		free(cxx);
		return NULL;
	}
	return cxx;
}

void class_cxx_free(struct class_cxx *cxx)
{
	if (!cxx)
		return;
	free(cxx->words);
	free(cxx);
}

/* ---- words that were looked at -------------------------------------------------------------- */

/* Where it is, or would be. NULL: words that were chosen to be in each other's way. */
static struct class_word *class_cxx_slot(struct class_word *words, size_t room, uint64_t word)
{
	size_t at = (size_t)(word * 0x9e3779b97f4a7c15ull >> 32);

	for (size_t i = 0; i < PROBES_MAX; i++) {
		struct class_word *slot = &words[(at + i) & (room - 1)];

		if (!slot->word || slot->word == word)
			return slot;
	}
	return NULL;
}

static int class_cxx_grow(struct class_cxx *cxx)
{
	size_t room = 2 * cxx->word_room;
	struct class_word *words;

	if (cxx->word_count < cxx->word_room / 2)
		return 0;
	words = calloc(room, sizeof(*words));
	if (!words)
		return -ENOMEM;
	for (size_t i = 0; i < cxx->word_room; i++) {
		struct class_word *slot =
			cxx->words[i].word ? class_cxx_slot(words, room, cxx->words[i].word) : NULL;

		if (slot)
			*slot = cxx->words[i];
	}
	free(cxx->words);
	cxx->words = words;
	cxx->word_room = room;
	return 0;
}

/* ---- tables and their typeinfo -------------------------------------------------------------- */

struct class_table_head {
	int64_t to_top;
	uint64_t typeinfo;
};

static bool class_cxx_head(struct class_cxx *cxx, uint64_t table, struct class_table_head *head)
{
	return table % 8 == 0 && class_memory_is_object(cxx->memory, table) &&
	       class_memory_read(cxx->memory, table - sizeof(*head), head, sizeof(*head));
}

/* The name that a typeinfo points to, behind NAME_PREFIX in cxx->text. */
static bool class_cxx_name(struct class_cxx *cxx, uint64_t typeinfo)
{
	char *text = cxx->text + sizeof(NAME_PREFIX) - 1;
	uint64_t name;
	ssize_t len;

	if (typeinfo % 8 || !class_memory_is_object(cxx->memory, typeinfo) ||
	    !class_memory_read(cxx->memory, typeinfo + 8, &name, sizeof(name)))
		return false;
	len = class_memory_text(cxx->memory, name, text, MANGLED_MAX);
	/* gcc marks names that are to be compared by their address. */
	if (len > 0 && *text == '*')
		memmove(text, text + 1, (size_t)len--);
	memcpy(cxx->text, NAME_PREFIX, sizeof(NAME_PREFIX) - 1);
	return len > 0;
}

static bool class_cxx_examine_abi(struct class_cxx *cxx, uint64_t table)
{
	static const char *const names[] = {
		"N10__cxxabiv117__class_type_infoE",	 /* no bases */
		"N10__cxxabiv120__si_class_type_infoE",	 /* one */
		"N10__cxxabiv121__vmi_class_type_infoE", /* others */
	};
	struct class_table_head head;

	if (!class_cxx_head(cxx, table, &head) || head.to_top || !head.typeinfo ||
	    !class_cxx_name(cxx, head.typeinfo))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(cxx->text + sizeof(NAME_PREFIX) - 1, names[i]))
			return true;
	}
	return false;
}

/* Is it the table of a class whose objects are the typeinfo of classes? */
static bool class_cxx_is_typeinfo(struct class_cxx *cxx, uint64_t table)
{
	bool is_typeinfo;

	for (size_t i = 0; i < cxx->abi_count; i++) {
		if (cxx->abi[i].table == table)
			return cxx->abi[i].is_typeinfo;
	}
	is_typeinfo = class_cxx_examine_abi(cxx, table);
	if (cxx->abi_count < ABI_TABLES_MAX)
		cxx->abi[cxx->abi_count++] = (struct class_abi){table, is_typeinfo};
	return is_typeinfo;
}

/* As it is mangled, where that is too long for the demangler; NULL: it is no mangled name. */
static char *class_cxx_undemangled(const char *text)
{
	static const char in_names[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.$";
	size_t len = strlen(text);

	return len >= 4000 && strspn(text, in_names) == len ? strdup(text) : NULL;
}

/* Its class by its typeinfo; malloc'ed. NULL: that is none. */
static char *class_cxx_by_typeinfo(struct class_cxx *cxx, uint64_t typeinfo)
{
	static const char before[] = "typeinfo name for ";
	_cleanup_free_ char *demangled = NULL;
	uint64_t table;

	if (typeinfo % 8 || !class_memory_is_object(cxx->memory, typeinfo) ||
	    !class_memory_read(cxx->memory, typeinfo, &table, sizeof(table)) ||
	    !class_cxx_is_typeinfo(cxx, table) || !class_cxx_name(cxx, typeinfo))
		return NULL;
	demangled = symbol_demangle(cxx->text);
	if (!demangled)
		return class_cxx_undemangled(cxx->text + sizeof(NAME_PREFIX) - 1);
	return strncmp(demangled, before, sizeof(before) - 1) != 0
		       ? NULL
		       : strdup(demangled + sizeof(before) - 1);
}

/*
 * Without typeinfo: by the table's symbol, or else by where it is, which says no more than that a table
 * of functions is there. malloc'ed; NULL: it is none.
 */
static char *class_cxx_by_symbol(struct class_cxx *cxx, uint64_t table)
{
	static const char before[] = "vtable for ";
	const struct mapping *at = class_memory_mapping(cxx->memory, table), *code;
	const char *symbol;
	uint64_t vaddr, offset, function;
	char *name;

	if (!class_memory_read(cxx->memory, table, &function, sizeof(function)) ||
	    !class_memory_variable(cxx->memory, table, &vaddr, &symbol, &offset))
		return NULL;
	/* Where bases are virtual their distances come before the head. */
	if (symbol && offset >= sizeof(struct class_table_head) &&
	    !strncmp(symbol, before, sizeof(before) - 1))
		return strdup(symbol + sizeof(before) - 1);
	code = class_memory_mapping(cxx->memory, function);
	if (symbol || !code || !code->exec || !at || at->write || at->exec)
		return NULL;
	return asprintf(&name, "[table of functions at 0x%" PRIx64 "]", vaddr) < 0 ? NULL : name;
}

/* 0 or -ENOMEM. */
static int class_cxx_examine(struct class_cxx *cxx, struct class_word *found)
{
	_cleanup_free_ char *name = NULL;
	struct class_table_head head;

	found->group = found->arrays = CLASS_NO_GROUP;
	if (!class_cxx_head(cxx, found->word, &head) || head.to_top)
		return 0;
	name = head.typeinfo ? class_cxx_by_typeinfo(cxx, head.typeinfo)
			     : class_cxx_by_symbol(cxx, found->word);
	if (!name)
		return 0;
	found->arrays = NOT_MADE;
	return class_groups_named(cxx->groups, GROUP_CLASS, name,
				  class_memory_path(cxx->memory, found->word), &found->group);
}

static int class_cxx_make_arrays(struct class_cxx *cxx, struct class_word *found)
{
	const struct inspected_group *group;
	_cleanup_free_ char *name = NULL;

	found->arrays = CLASS_NO_GROUP;
	if (found->group == CLASS_NO_GROUP)
		return 0;
	group = class_groups_at(cxx->groups, found->group);
	if (asprintf(&name, "%s[]", group->name) < 0) {
		name = NULL;
		return -ENOMEM;
	}
	return class_groups_named(cxx->groups, GROUP_CLASS, name,
				  class_memory_path(cxx->memory, found->word), &found->arrays);
}

int class_cxx_group(struct class_cxx *cxx, uint64_t word, bool array, uint32_t *group)
{
	struct class_word *found = class_cxx_slot(cxx->words, cxx->word_room, word);
	int err = 0;

	*group = CLASS_NO_GROUP;
	if (!word || !found)
		return 0;
	if (!found->word) {
		if (cxx->word_count == WORDS_MAX || !class_memory_is_object(cxx->memory, word))
			return 0;
		err = class_cxx_grow(cxx);
		found = err ? NULL : class_cxx_slot(cxx->words, cxx->word_room, word);
		if (!found)
			return err;
		found->word = word;
		cxx->word_count++;
		err = class_cxx_examine(cxx, found);
	}
	if (!err && array && found->arrays == NOT_MADE)
		err = class_cxx_make_arrays(cxx, found);
	*group = array ? found->arrays : found->group;
	return err;
}
