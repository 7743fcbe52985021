// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * An object begins with a count of references and a pointer to its type, which is an object as well
 * (Include/object.h); the type of types, PyType_Type, is its own, and variable of the interpreter's. From there
 * on all types are found: those that are variables of an object (C's) are where a pointer to a type of
 * types is in its data; the others are blocks of the heap, as classes written in Python are. What stands in
 * front of an object in its block its type tells by its flags (_PyType_PreHeaderSize()): with
 * Py_TPFLAGS_HAVE_GC a PyGC_Head of 16 bytes, and from 3.11 on with Py_TPFLAGS_MANAGED_DICT, from 3.12 on with
 * Py_TPFLAGS_MANAGED_WEAKREF as well, two more words. The bits of these two meant nothing before. The layouts of a
 * build without a global lock (3.13t) and of one with Py_TRACE_REFS are other ones: nothing is found there.
 */
#include "user/inspect/class_python.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

/* Words of PyTypeObject (Include/cpython/object.h); the same from 3.8 to 3.14. */
enum python_type_word {
	OB_REFCNT,
	OB_TYPE,
	TP_NAME = 3,
	TP_BASICSIZE,
	TP_ITEMSIZE,
	TP_FLAGS = 21,
	TP_DICT = 33,
	TP_WORDS,
};

#define FLAG_MANAGED_WEAKREF (1ull << 3)
#define FLAG_MANAGED_DICT    (1ull << 4)
#define FLAG_HEAPTYPE	     (1ull << 9)
#define FLAG_READY	     (1ull << 12)
#define FLAG_HAVE_GC	     (1ull << 14)
#define FLAG_LIST_SUBCLASS   (1ull << 25)
#define FLAG_STR_SUBCLASS    (1ull << 28)
#define FLAG_DICT_SUBCLASS   (1ull << 29)
#define FLAG_TYPE_SUBCLASS   (1ull << 31)

/* A string is mostly a smaller object than its type says: PyASCIIObject and its characters. */
#define ASCII_WORDS 5

/* In words. With PYTHONMALLOC=debug the size asked for and a mark come first (Objects/obmalloc.c). */
#define GC_HEAD	   2
#define PRE_HEADER 2
#define DEBUG_HEAD 2

/* Bytes: of numbers of entries, one each, and two more; 30 keys are shared at most. */
#define VALUES_HEAD_MAX 40

/* Of a type's dictionary; no class has so many members. */
#define ENTRIES_MAX 4096

#define NAME_LEN_MAX  512
#define BASICSIZE_MAX (1u << 20)
#define TYPES_MAX     (1u << 17)
#define PROBES_MAX    64

/* Data of objects that is looked through for types. Nobody has more but with huge tables. */
#define DATA_MAX (256ull << 20)

/* A class of classes may have a class of its own, and so on. */
#define METACLASS_ROUNDS 4

struct python_type {
	uint64_t address;
	uint64_t flags;
	uint32_t before; /* words in front of its objects, in their block */
	uint32_t words;	 /* of an object of it, at least */
	uint32_t group;
	uint32_t attributes; /* CLASS_NO_GROUP: not made */
};

struct class_python {
	struct class_memory *memory;
	struct class_groups *groups;
	struct python_type *types;
	size_t count, room;
	size_t metaclasses; /* how many of the types are types of types */
	uint32_t *slots;    /* type + 1, open addressing */
	size_t slot_count;
	uint32_t items, keys, values; /* groups of what lists and dictionaries have */
};

void class_python_free(struct class_python *python)
{
	if (!python)
		return;
	free(python->types);
	free(python->slots);
	free(python);
}

/* ---- the table of types --------------------------------------------------------------------- */

/* Where it is, or would be. NULL: addresses that were chosen to be in each other's way. */
static uint32_t *class_python_slot(const struct class_python *python, uint64_t address)
{
	size_t at = (size_t)(address * 0x9e3779b97f4a7c15ull >> 32);

	for (size_t i = 0; i < PROBES_MAX; i++) {
		uint32_t *slot = &python->slots[(at + i) & (python->slot_count - 1)];

		if (!*slot || python->types[*slot - 1].address == address)
			return slot;
	}
	return NULL;
}

static const struct python_type *class_python_type(const struct class_python *python,
						   uint64_t address)
{
	const uint32_t *slot = class_python_slot(python, address);

	return slot && *slot ? &python->types[*slot - 1] : NULL;
}

static bool class_python_is_metaclass(const struct class_python *python, uint64_t address)
{
	const struct python_type *type = class_python_type(python, address);

	return type && type->flags & FLAG_TYPE_SUBCLASS;
}

static int class_python_grow(struct class_python *python)
{
	size_t count = python->slot_count ? 2 * python->slot_count : 1024;
	uint32_t *slots;

	if (python->count < python->slot_count / 2)
		return 0;
	slots = calloc(count, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	free(python->slots);
	python->slots = slots;
	python->slot_count = count;
	for (size_t i = 0; i < python->count; i++) {
		uint32_t *slot = class_python_slot(python, python->types[i].address);

		if (slot)
			*slot = (uint32_t)i + 1;
	}
	return 0;
}

/* Is it a word as types have them in their names? Not empty, and readable. */
static bool class_python_is_name(const char *name, ssize_t len)
{
	for (ssize_t i = 0; i < len; i++) {
		if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
			return false;
	}
	return len > 0;
}

/*
 * What the words say is a type, but for its own type. `name` has NAME_LEN_MAX bytes.
 */
static bool class_python_looks_like_type(struct class_python *python, const uint64_t *words,
					 char *name)
{
	return (uint32_t)words[OB_REFCNT] && words[TP_BASICSIZE] >= 16 &&
	       words[TP_BASICSIZE] <= BASICSIZE_MAX && words[TP_ITEMSIZE] <= BASICSIZE_MAX &&
	       words[TP_FLAGS] & FLAG_READY &&
	       class_python_is_name(
		       name, class_memory_text(python->memory, words[TP_NAME], name, NAME_LEN_MAX));
}

static uint32_t class_python_before(uint64_t flags)
{
	return (flags & FLAG_HAVE_GC ? GC_HEAD : 0) +
	       (flags & (FLAG_MANAGED_DICT | FLAG_MANAGED_WEAKREF) ? PRE_HEADER : 0);
}

/* ---- which module a class is of ------------------------------------------------------------- */

/* Where the entries of a dictionary are (Objects/dictobject.c, pycore_dict.h). */
struct python_entries {
	uint64_t at, count;
	uint32_t step; /* bytes; a key is followed by its value */
};

static bool class_python_is_old_keys(const uint64_t *keys)
{
	return keys[1] >= 8 && keys[1] <= 1u << 30 && !(keys[1] & (keys[1] - 1));
}

/*
 * Of a dk_keys: from 3.11 on logarithms of the sizes and the kind of entries are bytes of its second word,
 * and an index takes at least a byte; before, that word is the size.
 */
static bool class_python_find_entries(struct class_python *python, uint64_t keys,
				      struct python_entries *entries)
{
	uint64_t words[5], size;
	uint8_t bytes[8];

	if (!class_memory_read(python->memory, keys, words, sizeof(words)))
		return false;
	memcpy(bytes, &words[1], sizeof(bytes));
	if (bytes[0] >= 3 && bytes[1] >= bytes[0] && bytes[1] < 32 && bytes[2] <= 2) {
		bool general = bytes[2] == 0;

		*entries = (struct python_entries){
			.at = keys + 32 + (1ull << bytes[1]) + (general ? 8 : 0),
			.count = words[3],
			.step = general ? 24 : 16,
		};
	} else if (class_python_is_old_keys(words)) {
		size = words[1];
		size *= size <= 0xff ? 1 : size <= 0xffff ? 2 : 4;
		*entries = (struct python_entries){
			.at = keys + 40 + size + 8, .count = words[4], .step = 24};
	} else {
		return false;
	}
	return entries->count <= ENTRIES_MAX;
}

/*
 * The characters of an ASCII string, which lie behind its head: that has 40 bytes from 3.12 on, and had 48
 * before (PyASCIIObject). False: it is none of at most `size` bytes with its NUL.
 */
static bool class_python_string(struct class_python *python, uint64_t address, uint32_t head,
				char *to, size_t size)
{
	uint64_t len;

	return class_memory_read(python->memory, address + 16, &len, sizeof(len)) && len < size &&
	       class_memory_read(python->memory, address + head, to, len + 1) && !to[len] &&
	       strlen(to) == len && class_python_is_name(to, (ssize_t)len);
}

/* What the class has as its __module__. False: nothing that could be found. */
static bool class_python_module(struct class_python *python, uint64_t dict, char *module)
{
	static const char wanted[] = "__module__";
	struct python_entries entries;
	char name[sizeof(wanted)];
	uint64_t keys;

	if (dict % 8 || !class_memory_read(python->memory, dict + 32, &keys, sizeof(keys)) ||
	    keys % 8 || !class_python_find_entries(python, keys, &entries))
		return false;
	for (uint64_t i = 0; i < entries.count; i++) {
		uint64_t entry[2];

		if (!class_memory_read(python->memory, entries.at + i * entries.step, entry,
				       sizeof(entry)))
			return false;
		for (uint32_t head = 40; head <= 48; head += 8) {
			if (class_python_string(python, entry[0], head, name, sizeof(name)) &&
			    !strcmp(name, wanted))
				return class_python_string(python, entry[1], head, module,
							   NAME_LEN_MAX);
		}
	}
	return false;
}

/* ---- finding types -------------------------------------------------------------------------- */

/*
 * Types that are written in C have their module in their name already, but for what is built in, whose
 * module is not said anywhere.
 */
static void class_python_qualify(struct class_python *python, const uint64_t *words, char *name)
{
	char module[NAME_LEN_MAX], both[2 * NAME_LEN_MAX];

	if (!(words[TP_FLAGS] & FLAG_HEAPTYPE) || strchr(name, '.') ||
	    !class_python_module(python, words[TP_DICT], module) || !strcmp(module, "builtins"))
		return;
	snprintf(both, sizeof(both), "%s.%.*s", module, NAME_LEN_MAX - 1, name);
	memcpy(name, both, sizeof(both));
}

/* Enters what is a type at this address. 0, also where it is none, or -ENOMEM. */
static int class_python_add(struct class_python *python, uint64_t address)
{
	uint64_t words[TP_WORDS];
	char name[2 * NAME_LEN_MAX] = "";
	struct python_type type = {.address = address, .attributes = CLASS_NO_GROUP};
	uint32_t *slot;
	int err;

	if (address % 8 || class_python_type(python, address) || python->count == TYPES_MAX ||
	    !class_memory_read(python->memory, address, words, sizeof(words)) ||
	    !class_python_looks_like_type(python, words, name))
		return 0;
	class_python_qualify(python, words, name);
	type.flags = words[TP_FLAGS];
	type.before = class_python_before(type.flags);
	type.words = (uint32_t)(words[TP_BASICSIZE] / 8);
	if (type.flags & FLAG_STR_SUBCLASS && type.words > ASCII_WORDS)
		type.words = ASCII_WORDS;
	err = class_groups_named(
		python->groups, GROUP_PYTHON, name,
		type.flags & FLAG_HEAPTYPE ? NULL : class_memory_path(python->memory, address),
		&type.group);
	if (!err && !RESERVE_ITEM(python->types, python->count, python->room, 256))
		err = -ENOMEM;
	if (err)
		return err;
	slot = class_python_slot(python, address);
	if (!slot)
		return 0;
	python->types[python->count++] = type;
	*slot = (uint32_t)python->count;
	python->metaclasses += (type.flags & FLAG_TYPE_SUBCLASS) != 0;
	return class_python_grow(python);
}

/* Data of a file that has been written to: initialised variables. */
static bool class_python_is_data(const struct memory_region *region)
{
	const struct mapping *m = region->mapping;

	return m && m->ino && m->write && !m->shared && *m->path == '/';
}

/*
 * Goes through all such data. `own`: for PyType_Type, whose type it is itself; else for what has a type
 * of types.
 */
static int class_python_scan_data(struct class_python *python, bool own)
{
	const struct memory_image *image = class_memory_image(python->memory);
	uint64_t left = DATA_MAX;
	int err = 0;

	for (size_t i = 0; !err && i < image->region_count; i++) {
		const struct memory_region *r = &image->regions[i];
		size_t count = (size_t)((r->size < left ? r->size : left) / 8);

		if (!class_python_is_data(r))
			continue;
		left -= count * 8;
		for (size_t w = OB_TYPE; !err && w < count; w++) {
			uint64_t address = r->start + (w - OB_TYPE) * 8;

			if (own ? r->words[w] == address
				: class_python_is_metaclass(python, r->words[w]))
				err = class_python_add(python, address);
		}
	}
	return err;
}

/* Is a type of types what is called "type"? Else a variable that points to itself may do as one. */
static bool class_python_is_type_type(struct class_python *python)
{
	uint64_t words[TP_WORDS];
	char name[NAME_LEN_MAX];

	for (size_t i = 0; i < python->count; i++) {
		if (class_memory_read(python->memory, python->types[i].address, words,
				      sizeof(words)) &&
		    python->types[i].flags & FLAG_TYPE_SUBCLASS &&
		    class_memory_text(python->memory, words[TP_NAME], name, sizeof(name)) == 4 &&
		    !strcmp(name, "type"))
			return true;
	}
	return false;
}

/* Types are blocks with the collector's head in front. */
static int class_python_scan_blocks(struct class_python *python, const struct heap_image *image)
{
	const struct memory_region *r = NULL;
	int err = 0;

	for (size_t i = 0; !err && i < image->block_count; i++) {
		const struct heap_block b = heap_block_at(image, i);
		uint64_t size = b.size, left;

		if (size < (GC_HEAD + TP_WORDS) * 8 || b.address % 8)
			continue;
		if (!r || b.address < r->start || b.address - r->start >= r->size)
			r = memory_image_region(image->memory, b.address);
		left = r && b.address >= r->start ? r->start + r->size - b.address : 0;
		if (left < (GC_HEAD + DEBUG_HEAD + TP_WORDS) * 8)
			continue;
		for (uint64_t first = GC_HEAD; !err && first <= GC_HEAD + DEBUG_HEAD;
		     first += DEBUG_HEAD) {
			uint64_t at = b.address + first * 8;

			if (class_python_is_metaclass(python,
						      r->words[(at - r->start) / 8 + OB_TYPE]))
				err = class_python_add(python, at);
		}
	}
	return err;
}

static int class_python_make_groups(struct class_python *python)
{
	int err = class_groups_named(python->groups, GROUP_PYTHON, "list (items)", NULL,
				     &python->items);

	err = err
		      ?: class_groups_named(python->groups, GROUP_PYTHON, "dict (keys)", NULL,
					    &python->keys);
	return err
		       ?: class_groups_named(python->groups, GROUP_PYTHON, "dict (values)", NULL,
					     &python->values);
}

int class_python_find(const struct heap_image *image, struct class_memory *memory,
		      struct class_groups *groups, struct class_python **out)
{
	struct class_python *python = calloc(1, sizeof(*python));
	size_t known = 0;
	int err;

	*out = NULL;
	if (!python)
		return -ENOMEM;
	python->memory = memory;
	python->groups = groups;
	err = class_python_grow(python);
	if (!err)
		err = class_python_scan_data(python, true);
	if (err || !class_python_is_type_type(python)) {
		class_python_free(python);
		return err;
	}
	err = class_python_make_groups(python);
	for (int i = 0; !err && i < METACLASS_ROUNDS && python->metaclasses > known; i++) {
		known = python->metaclasses;
		err = class_python_scan_data(python, false);
		err = err ?: class_python_scan_blocks(python, image);
	}
	if (err)
		class_python_free(python);
	else
		*out = python;
	return err;
}

/* ---- objects -------------------------------------------------------------------------------- */

bool class_python_object(const struct class_python *python, const uint64_t *words, size_t count,
			 struct class_python_object *object)
{
	for (uint32_t before = 0; before <= GC_HEAD + PRE_HEADER + DEBUG_HEAD; before += 2) {
		const struct python_type *type;

		if (before + OB_TYPE >= count)
			break;
		type = class_python_type(python, words[before + OB_TYPE]);
		if (!type || before + type->words > count)
			continue;
		/* One without references is one that was, and what has its memory now left that word. */
		if ((before == type->before || before == type->before + DEBUG_HEAD) &&
		    (uint32_t)words[before + OB_REFCNT]) {
			*object = (struct class_python_object){type, type->group, before};
			return true;
		}
	}
	return false;
}

static void class_python_add_part(struct class_python_part parts[static PYTHON_PARTS],
				  size_t *count, uint64_t address, uint32_t into, uint32_t group)
{
	if (address && group != CLASS_NO_GROUP)
		parts[(*count)++] = (struct class_python_part){address, into, group};
}

/* The attributes of an instance, where they are no dictionary. */
static int class_python_attributes(struct class_python *python, struct python_type *type)
{
	char attributes[2 * NAME_LEN_MAX + sizeof(" (attributes)")];

	/* Of more groups than there may be some types have none. */
	if (type->attributes != CLASS_NO_GROUP || type->group == CLASS_NO_GROUP)
		return 0;
	snprintf(attributes, sizeof(attributes), "%.*s (attributes)", 2 * NAME_LEN_MAX,
		 class_groups_at(python->groups, type->group)->name);
	return class_groups_named(python->groups, GROUP_PYTHON, attributes, NULL,
				  &type->attributes);
}

/*
 * PyListObject and PyDictObject are the same in all these versions. The values of a dictionary that shares
 * its keys have some bytes in front of them from 3.11 on; so have the attributes of an instance, for which 3.11
 * has a pointer four words in front of it, and 3.12 one three words in front, less 1; 3.13 has them in the
 * instance.
 */
int class_python_parts(struct class_python *python, const struct class_python_object *object,
		       const uint64_t *words, size_t count,
		       struct class_python_part parts[static PYTHON_PARTS], size_t *part_count)
{
	struct python_type *type = &python->types[object->type - python->types];
	const uint64_t *self = words + object->before;
	size_t left = count - object->before;
	int err;

	*part_count = 0;
	if (type->flags & FLAG_LIST_SUBCLASS && left > 3) {
		class_python_add_part(parts, part_count, self[3], 0, python->items);
	} else if (type->flags & FLAG_DICT_SUBCLASS && left > 5) {
		class_python_add_part(parts, part_count, self[4], 0, python->keys);
		class_python_add_part(parts, part_count, self[5], VALUES_HEAD_MAX, python->values);
	} else if (type->flags & FLAG_MANAGED_DICT && object->before >= GC_HEAD + PRE_HEADER) {
		err = class_python_attributes(python, type);
		if (err)
			return err;
		class_python_add_part(parts, part_count, self[-4], VALUES_HEAD_MAX,
				      type->attributes);
		class_python_add_part(parts, part_count, self[-3], VALUES_HEAD_MAX,
				      type->attributes);
	}
	return 0;
}
