// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/classes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/text.h"
#include "user/base/util.h"
#include "user/inspect/class_cxx.h"
#include "user/inspect/class_groups.h"
#include "user/inspect/class_python.h"
#include "user/inspect/class_sizes.h"
#include "user/inspect/class_types.h"

/* Text has so many characters, or it may be a number by chance; no more of it is looked at. */
#define TEXT_MIN 4
#define TEXT_MAX 4096

/* What an array's elements are looked for by: words in all arrays. */
#define ARRAY_STEPS_MAX	  (64u << 20)
#define ARRAY_ELEMENT_MAX (64u << 10)

/* Known of a block until all have been seen: the kind of class_sizes_count(). */
#define IS_KIND (1u << (CLASS_KNOWN_BITS - 1))

_Static_assert(CLASS_GROUPS_MAX <= IS_KIND && CLASS_KINDS_MAX < IS_KIND, "each has a number");

struct classifier {
	const struct heap_image *image;
	struct packed known;		    /* by block */
	const struct memory_region *region; /* where the last block was */
	struct class_memory *memory;
	struct class_groups *groups;
	struct class_cxx *cxx;
	struct class_python *python;
	struct class_types *types; /* NULL: none are known */
	struct class_sizes *sizes;
	uint32_t text; /* its group, or CLASS_NO_GROUP */
	uint32_t steps;
};

static uint32_t classifier_known(const struct classifier *c, size_t i)
{
	return (uint32_t)packed_get(&c->known, i);
}

static void classifier_know(struct classifier *c, size_t i, uint32_t group)
{
	packed_set(&c->known, i, group == CLASS_NO_GROUP ? CLASS_UNKNOWN : group);
}

/* What is there of a block, from its beginning on. */
struct class_block {
	const uint64_t *words;
	size_t count;  /* of words */
	uint64_t size; /* bytes that are there */
	bool cut;      /* the block goes on */
};

static struct class_block classifier_block(struct classifier *c, size_t i)
{
	const uint64_t address = heap_block_address(c->image, i);
	uint64_t size = heap_block_end(c->image, i) - address;
	const struct memory_region *r = c->region;
	struct class_block block = {.words = NULL};

	if (!r || address < r->start || address - r->start >= r->size) {
		r = memory_image_region(c->image->memory, address);
		if (!r || address < r->start)
			return block;
		c->region = r;
	}
	if (address % 8)
		return block;
	block.words = r->words + (address - r->start) / 8;
	block.size = r->start + r->size - address;
	block.cut = block.size < size;
	if (!block.cut)
		block.size = size;
	block.count = (size_t)(block.size / 8);
	return block;
}

/* ---- C++ ------------------------------------------------------------------------------------ */

/*
 * new T[n] with a destructor to be called has n in front of the elements (Itanium C++ ABI 2.7), which lie
 * behind it at equal distances. Of one element there is nothing to see that by.
 */
static bool classifier_is_array(struct classifier *c, const struct class_block *block, size_t first)
{
	uint64_t n = block->words[first - 1], table = block->words[first];
	size_t max = n >= 2 && n <= block->count ? (block->count - first) / (size_t)n : 0;

	for (size_t step = 1; step <= max && step <= ARRAY_ELEMENT_MAX / 8; step++) {
		size_t i = 1;

		while (i < n && block->words[first + i * step] == table)
			i++;
		c->steps += (uint32_t)i;
		if (i == n)
			return true;
		if (c->steps > ARRAY_STEPS_MAX)
			break;
	}
	return false;
}

static int classifier_cxx(struct classifier *c, const struct class_block *block, uint32_t *group)
{
	int err = block->count ? class_cxx_group(c->cxx, block->words[0], false, group) : 0;

	/* The count is in the last word in front, which lies second where they are aligned to 16. */
	for (size_t first = 1; !err && *group == CLASS_NO_GROUP && first <= 2; first++) {
		if (first >= block->count || c->steps > ARRAY_STEPS_MAX)
			break;
		err = class_cxx_group(c->cxx, block->words[first], true, group);
		if (*group != CLASS_NO_GROUP && !classifier_is_array(c, block, first))
			*group = CLASS_NO_GROUP;
	}
	return err;
}

static int classifier_look_for_class(struct classifier *c, size_t i)
{
	const struct class_block block = classifier_block(c, i);
	uint32_t group = CLASS_NO_GROUP;
	int err = classifier_cxx(c, &block, &group);

	if (group != CLASS_NO_GROUP)
		classifier_know(c, i, group);
	return err;
}

/* ---- CPython -------------------------------------------------------------------------------- */

static void classifier_take_part(struct classifier *c, struct block_classes *classes,
				 const struct class_python_part *part)
{
	const struct heap_image *image = c->image;
	size_t i = heap_image_block(image, part->address + 1);
	uint64_t address;

	if (!i || part->address >= heap_block_end(image, i - 1))
		return;
	address = heap_block_address(image, i - 1);
	if (part->address - address > part->into || classifier_known(c, i - 1) != CLASS_UNKNOWN)
		return;
	classifier_know(c, i - 1, part->group);
	classes->heads[i - 1] = (uint8_t)((part->address - address + 7) / 8);
}

/* First all objects; then what belongs to them, for that is none. */
static int classifier_python(struct classifier *c, struct block_classes *classes)
{
	struct class_python_object object;
	int err = 0;

	classes->heads = calloc(classes->block_count + 1, sizeof(*classes->heads));
	if (!classes->heads)
		return -ENOMEM;
	for (size_t i = 0; i < classes->block_count; i++) {
		const struct class_block block = classifier_block(c, i);

		if (!class_python_object(c->python, block.words, block.count, &object))
			continue;
		classifier_know(c, i, object.group);
		classes->heads[i] = (uint8_t)object.before;
	}
	for (size_t i = 0; !err && i < classes->block_count; i++) {
		const struct class_block block = classifier_block(c, i);
		struct class_python_part parts[PYTHON_PARTS];
		size_t count;

		if (classifier_known(c, i) == CLASS_UNKNOWN ||
		    !class_python_object(c->python, block.words, block.count, &object))
			continue;
		err = class_python_parts(c->python, &object, block.words, block.count, parts,
					 &count);
		for (size_t k = 0; !err && k < count; k++)
			classifier_take_part(c, classes, &parts[k]);
	}
	return err;
}

/* ---- text ----------------------------------------------------------------------------------- */

static bool class_is_printed(uint32_t point)
{
	if (point < ' ')
		return point == '\t' || point == '\n' || point == '\r';
	return point != 0x7f && (point < 0x80 || point >= 0xa0) && point != UTF8_INVALID;
}

/* Characters that people read, up to a NUL or the end. */
static bool class_is_text(const char *text, size_t size, bool cut)
{
	size_t at = 0, count = 0;

	if (size > TEXT_MAX) {
		size = TEXT_MAX;
		cut = true;
	}
	while (at < size && text[at]) {
		char character[5] = {0};
		const char *p = character;
		size_t left = size - at < 4 ? size - at : 4;

		memcpy(character, text + at, left);
		if (!class_is_printed((unsigned char)*character < 0x80 ? (unsigned char)*p++
								       : utf8_next(&p)))
			return cut && left < 4 && count >= TEXT_MIN;
		at += (size_t)(p - character);
		count++;
	}
	return count >= TEXT_MIN;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* Bytes of a pointer may be characters by chance ("p@aUUU"), and two NULs follow them. */
static bool classifier_is_pointer(const struct classifier *c, const struct class_block *block)
{
	return block->count && c->image->memory->maps &&
	       maps_find(c->image->memory->maps, block->words[0]);
}

static int classifier_text(struct classifier *c, const struct class_block *block, uint32_t *group)
{
	if (classifier_is_pointer(c, block) ||
	    !class_is_text((const char *)block->words, (size_t)block->size, block->cut))
		return 0;
	if (c->text == CLASS_NO_GROUP) {
		int err = class_groups_named(c->groups, GROUP_TEXT, "text", NULL, &c->text);

		if (err)
			return err;
	}
	*group = c->text;
	return 0;
}

static int classifier_look_at(struct classifier *c, size_t i)
{
	const struct class_block block = classifier_block(c, i);
	uint32_t group = CLASS_NO_GROUP, kind;
	int err = 0;

	if (c->types)
		err = class_types_group(c->types, i, &group);
	if (!err && group == CLASS_NO_GROUP)
		err = classifier_text(c, &block, &group);
	if (!err && group == CLASS_NO_GROUP) {
		err = class_sizes_count(c->sizes, heap_block_at(c->image, i).size, block.words,
					block.count, &kind);
		group = kind | IS_KIND;
	}
	if (!err)
		classifier_know(c, i, group);
	return err;
}

/* Mostly there are few groups: from here on each block's takes some bits, in the same memory. */
static void classifier_pack(struct classifier *c, struct block_classes *classes,
			    const uint32_t *numbers)
{
	size_t count = classes->block_count;
	void *fitting;

	classes->group = (struct packed){c->known.bytes, packed_width(classes->group_count)};
	/* What is written ends before what is still to be read begins. */
	for (size_t i = 0; i < count; i++)
		packed_set(&classes->group, i, numbers[classifier_known(c, i)]);
	c->known.bytes = NULL;
	fitting = realloc(classes->group.bytes, packed_bytes(count, classes->group.width));
	classes->group.bytes = fitting ?: classes->group.bytes;
}

/* Groups that no block is in go, and the others move up. */
static int classifier_number(struct classifier *c, struct block_classes *classes)
{
	size_t count = 0;
	struct inspected_group *groups = class_groups_take(c->groups, &count);
	_cleanup_free_ uint32_t *numbers = calloc(count + 1, sizeof(*numbers));

	classes->groups = groups;
	classes->group_count = count;
	if (!numbers)
		return -ENOMEM;
	for (size_t i = 0; i < classes->block_count; i++) {
		struct amount *live = &groups[classifier_known(c, i)].live;

		live->bytes += heap_block_at(c->image, i).size;
		live->count++;
	}
	classes->group_count = 0;
	for (size_t i = 0; i < count; i++) {
		numbers[i] = (uint32_t)classes->group_count;
		if (groups[i].live.count) {
			groups[classes->group_count++] = groups[i];
		} else {
			free(groups[i].name);
			free(groups[i].module);
		}
	}
	classifier_pack(c, classes, numbers);
	return 0;
}

/* The kinds become groups; `rest` is the one of those that are in no other. */
static int classifier_take_kinds(struct classifier *c, const struct block_classes *classes,
				 uint32_t rest)
{
	int err = 0;

	for (size_t i = 0; !err && i < classes->block_count; i++) {
		uint32_t known = classifier_known(c, i), group = CLASS_NO_GROUP;

		if (!(known & IS_KIND))
			continue;
		if (known != CLASS_UNKNOWN)
			err = class_sizes_group(c->sizes, c->groups, known & ~IS_KIND, &group);
		classifier_know(c, i, group == CLASS_NO_GROUP ? rest : group);
	}
	return err;
}

static int classifier_run(struct classifier *c, struct block_classes *classes)
{
	uint32_t rest;
	/* First, or there may be no room for it. */
	int err = class_groups_sized(c->groups, 0, 0, &rest);

	if (!err)
		err = class_python_find(c->image, c->memory, c->groups, &c->python);
	if (!err && c->python)
		err = classifier_python(c, classes);
	for (size_t i = 0; !err && i < classes->block_count; i++) {
		if (classifier_known(c, i) == CLASS_UNKNOWN)
			err = classifier_look_for_class(c, i);
	}
	/* What objects are is known before: it tells what they lead to. */
	if (!err)
		class_types_find(c->image, c->memory, c->groups, &c->known, &c->types);
	for (size_t i = 0; !err && i < classes->block_count; i++) {
		if (classifier_known(c, i) == CLASS_UNKNOWN)
			err = classifier_look_at(c, i);
	}
	err = err ?: classifier_take_kinds(c, classes, rest);
	return err ?: classifier_number(c, classes);
}

/* 0 or -ENOMEM; classifier_release() in any case. */
static int classifier_begin(struct classifier *c, const struct class_files *files)
{
	size_t bytes = packed_bytes(c->image->block_count, CLASS_KNOWN_BITS);

	c->known.width = CLASS_KNOWN_BITS;
	c->known.bytes = malloc(bytes);
	if (c->known.bytes)
		memset(c->known.bytes, 0xff, bytes);
	c->memory = class_memory_new(c->image->memory, files);
	c->groups = class_groups_new();
	return c->known.bytes && c->memory && c->groups ? 0 : -ENOMEM;
}

static void classifier_release(struct classifier *c)
{
	class_python_free(c->python);
	class_groups_free(c->groups);
	class_memory_free(c->memory);
	free(c->known.bytes);
}

int block_heads_find(const struct heap_image *image, const struct class_files *files,
		     uint8_t **heads)
{
	struct block_classes classes = {.block_count = image->block_count};
	struct classifier c = {.image = image, .text = CLASS_NO_GROUP};
	int err = classifier_begin(&c, files);

	if (!err)
		err = class_python_find(c.image, c.memory, c.groups, &c.python);
	if (!err && c.python)
		err = classifier_python(&c, &classes);
	classifier_release(&c);
	if (err)
		free(classes.heads);
	*heads = err ? NULL : classes.heads;
	return err;
}

int block_classes_find(const struct heap_image *image, const struct class_files *files,
		       struct block_classes **out)
{
	struct block_classes *classes = calloc(1, sizeof(*classes));
	struct classifier c = {.image = image, .text = CLASS_NO_GROUP};
	int err = -ENOMEM;

	if (!classes)
		return err;
	classes->block_count = image->block_count;
	if (!classifier_begin(&c, files)) {
		c.cxx = class_cxx_new(c.memory, c.groups);
		c.sizes = class_sizes_new(c.memory);
	}
	if (c.cxx && c.sizes)
		err = classifier_run(&c, classes);
	class_sizes_free(c.sizes);
	class_types_free(c.types);
	class_cxx_free(c.cxx);
	classifier_release(&c);
	if (err)
		block_classes_free(classes);
	else
		*out = classes;
	return err;
}

void block_classes_free(struct block_classes *classes)
{
	if (!classes)
		return;
	for (size_t i = 0; i < classes->group_count; i++) {
		free(classes->groups[i].name);
		free(classes->groups[i].module);
	}
	free(classes->groups);
	free(classes->group.bytes);
	free(classes->heads);
	free(classes);
}

int class_process_object(void *ctx, const struct mapping *m, struct object **out)
{
	const struct class_process *process = ctx;

	return object_cache_get_at(process->objects, process->pid, process->root_fd, m, out);
}
