// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Twice through all that can be reached: the first time finds blocks that pointers disagree about, and
 * types that blocks are no whole number of; the second goes without both. What is reached the second time
 * was reached the first time, too, so that there is nothing new to disagree about.
 */
#include "user/inspect/class_types.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/log.h"
#include "user/base/util.h"
#include "user/heap/block_index.h"
#include "user/inspect/class_fit.h"

/* Of a block: what is known, beside the index of its type. */
#define BLOCK_BAD    (1u << 31) /* pointers disagree about it */
#define BLOCK_QUEUED (1u << 30)
#define BLOCK_TYPE   ((1u << 30) - 1)

#define CHAIN_MAX   32	 /* types that begin with each other */
#define OUTER_MAX   4096 /* types that begin with one, directly or not */
#define MEMO_SIZE   4096
#define NEAR	    2 /* pointers on either side of one that may be the beginning to its end */
#define STEPS_LEAST (1u << 20)
#define WORD_LOOKS  4 /* so often each word may be looked at, on average */
#define CHECKED	    4 /* elements of an array that are looked at whether they can be elements */

/* Variables of all objects together. */
#define ROOTS_MAX (4ul * TYPE_VARIABLES_MAX)

/* What else is known of a type. */
struct class_type {
	uint32_t group, array_group; /* CLASS_NO_GROUP: none yet */
	const char *path;	     /* the file that has it */
	uint32_t outer,
		next; /* the first type that begins with it; the next that begins with the same */
	bool misfit;  /* it has been seen to lead to a block that is no whole number of it */
};

/* Whether one that begins with the type could be the block: it is asked again and again. */
struct class_outer_memo {
	uint64_t least, size;
	uint32_t type;
	bool fits;
};

struct class_types {
	const struct heap_image *image;
	struct class_groups *groups;
	const struct packed *known;
	struct type_table *table;
	struct class_type *more;    /* by type */
	struct type_pointer *roots; /* their offsets are addresses */
	size_t root_count, root_room;
	uint32_t *classes; /* by group that was known before: its type, of classes that have one */
	size_t class_count;
	struct block_index *index;
	uint32_t *of;	 /* by block */
	uint32_t *queue; /* a ring: each block is in it once at most */
	size_t queue_first, queue_count;
	const struct memory_region *near;
	uint64_t
		steps; /* words and types that may still be looked at; without, nothing is certain */
	bool again;    /* there is something that the second time goes without */
	bool cut;      /* there were more roots, or more to be looked at */
	struct class_outer_memo memo[MEMO_SIZE];
};

/* ---- what the objects' debug information has ------------------------------------------------ */

static int class_types_add_root(struct class_types *t, const struct type_pointer *p, uint64_t bias,
				uint32_t to)
{
	if (to == TYPE_NONE)
		return 0;
	if (t->root_count >= ROOTS_MAX) {
		t->cut = true;
		return 0;
	}
	if (!RESERVE_ITEM(t->roots, t->root_count, t->root_room, 256))
		return -ENOMEM;
	t->roots[t->root_count] = *p;
	t->roots[t->root_count].offset += bias;
	t->roots[t->root_count++].to = to;
	return 0;
}

int class_types_take(struct class_types *t, const struct type_table *from, uint64_t bias,
		     const char *path)
{
	_cleanup_free_ uint32_t *ids = calloc(from->count, sizeof(*ids));
	struct class_type *more;
	size_t before = t->table->count;
	int err = ids ? type_table_merge(t->table, from, ids) : -ENOMEM;

	if (err)
		return err;
	more = reallocarray(t->more, t->table->count, sizeof(*more));
	if (!more)
		return -ENOMEM;
	t->more = more;
	for (size_t i = before; i < t->table->count; i++)
		more[i] =
			(struct class_type){.group = CLASS_NO_GROUP, .array_group = CLASS_NO_GROUP};
	for (size_t i = 1; i < from->count; i++) {
		if (from->types[i].flags & TYPE_DEFINED && !more[ids[i]].path)
			more[ids[i]].path = path;
	}
	for (size_t i = 0; !err && i < from->variable_count; i++)
		err = class_types_add_root(t, &from->variables[i], bias,
					   ids[from->variables[i].to]);
	return err;
}

size_t class_types_root_count(const struct class_types *t)
{
	return t->root_count;
}

int class_types_repeat(struct class_types *t, size_t first, size_t count, uint64_t moved)
{
	int err = 0;

	for (size_t i = first; !err && i < first + count; i++) {
		const struct type_pointer root = t->roots[i];

		err = class_types_add_root(t, &root, moved, root.to);
	}
	return err;
}

/* Which types begin with which. */
static void class_types_find_outer(struct class_types *t)
{
	for (uint32_t i = 1; i < t->table->count; i++) {
		uint32_t begins = t->table->types[i].begins;

		if (begins == TYPE_NONE || begins == i)
			continue;
		t->more[i].next = t->more[begins].outer;
		t->more[begins].outer = i;
	}
}

/* ---- what fits ------------------------------------------------------------------------------ */

/* Something certain can be said of what is one of them. */
static bool class_type_tells(const struct class_types *t, uint32_t type)
{
	const struct type *at = &t->table->types[type];

	return (at->flags & (TYPE_DEFINED | TYPE_AMBIGUOUS | TYPE_POLYMORPHIC)) == TYPE_DEFINED &&
	       at->size >= 2;
}

static bool class_type_begins_with(const struct class_types *t, uint32_t type, uint32_t with)
{
	for (int i = 0; i < CHAIN_MAX && type != TYPE_NONE; i++) {
		type = t->table->types[type].begins;
		if (type == with)
			return true;
	}
	return false;
}

/* What a block has room for. */
struct class_room {
	uint64_t least, size; /* bytes that were asked for, at least and at most */
};

static struct class_room class_types_room(const struct class_types *t, size_t block)
{
	return (struct class_room){class_fit_least(t->image, block),
				   heap_block_at(t->image, block).size};
}

static bool class_type_is_one(const struct type *type, const struct class_room *room)
{
	if (type->flags & TYPE_OPEN)
		return room->size >= type->size;
	return type->size <= room->size && type->size >= room->least;
}

/* Could the block be one of a type that begins with it? Where there are too many to look at, it could. */
static bool class_types_find_larger(struct class_types *t, uint32_t type,
				    const struct class_room *room)
{
	uint32_t stack[CHAIN_MAX];
	bool plain = t->table->types[type].flags & (TYPE_SCALAR | TYPE_POINTER);
	size_t depth = 0, seen = 0;

	stack[depth++] = t->more[type].outer;
	while (depth) {
		uint32_t at = stack[--depth];
		const struct type *outer = &t->table->types[at];

		if (at == TYPE_NONE)
			continue;
		if (++seen > OUTER_MAX || depth + 2 > CHAIN_MAX || !t->steps)
			return true;
		t->steps--;
		/* Some of those whose size is not known always begin with an int. */
		if (plain && outer->flags & (TYPE_AMBIGUOUS | TYPE_OPEN))
			;
		else if (outer->flags & TYPE_AMBIGUOUS || class_type_is_one(outer, room))
			return true;
		stack[depth++] = t->more[at].next;
		stack[depth++] = t->more[at].outer;
	}
	return false;
}

static bool class_types_may_be_larger(struct class_types *t, uint32_t type,
				      const struct class_room *room)
{
	uint64_t hash = (room->size * 31 + type) * 0x9e3779b97f4a7c15ull;
	struct class_outer_memo *memo = &t->memo[hash >> 52];

	if (memo->type != type || memo->size != room->size || memo->least != room->least)
		*memo = (struct class_outer_memo){
			.least = room->least,
			.size = room->size,
			.type = type,
			.fits = class_types_find_larger(t, type, room),
		};
	return memo->fits;
}

/* Can the pointers in the first elements be pointers? Those that were never set are 0, or anything. */
static bool class_types_look_like(struct class_types *t, const struct type *type, uint64_t address,
				  uint64_t n)
{
	const struct type_pointer *pointers = &t->table->pointers[type->first];

	for (uint64_t i = 0; i < n && i < CHECKED; i++) {
		for (size_t k = 0; k < type->count; k++) {
			uint64_t at = address + i * type->size + pointers[k].offset, word = 0;

			if (at % 8 ||
			    (memory_image_word_near(t->image->memory, &t->near, at, &word) &&
			     word && !maps_find(t->image->memory->maps, word)))
				return false;
		}
	}
	return true;
}

/* How many of the type the block is, at least; 0: that is not certain. */
static uint64_t class_types_count(struct class_types *t, uint32_t type, size_t block)
{
	const struct type *at = &t->table->types[type];
	const struct class_room room = class_types_room(t, block);
	uint64_t n;

	if (!class_type_tells(t, type) || class_types_may_be_larger(t, type, &room))
		return 0;
	if (class_type_is_one(at, &room))
		return 1;
	n = room.size / at->size;
	if (n < 2 || n * at->size < room.least || t->more[type].misfit)
		return 0;
	n = (room.least + at->size - 1) / at->size;
	if (at->flags & TYPE_SCALAR)
		return n;
	/* What others begin with is what pointers to those may be declared as. */
	if (!(at->flags & TYPE_POINTER) && t->more[type].outer != TYPE_NONE)
		return 0;
	/* One that has no pointers is told by its size, unless any block is some number of them. */
	if (!at->count)
		return at->flags & TYPE_POINTER || at->size > room.size - room.least ? n : 0;
	return t->image->memory->maps &&
			       class_types_look_like(t, at, heap_block_address(t->image, block), n)
		       ? n
		       : 0;
}

/* ---- following pointers --------------------------------------------------------------------- */

static void class_types_enqueue(struct class_types *t, uint32_t block)
{
	size_t count = t->image->block_count;

	if (t->of[block] & BLOCK_QUEUED)
		return;
	t->of[block] |= BLOCK_QUEUED;
	t->queue[(t->queue_first + t->queue_count++) % count] = block;
}

/* A block that is larger than the type, and no whole number of it. */
static void class_types_note_misfit(struct class_types *t, uint32_t type, uint32_t block)
{
	const struct type *at = &t->table->types[type];
	const struct class_room room = class_types_room(t, block);

	if (at->flags & (TYPE_OPEN | TYPE_SCALAR | TYPE_POINTER) || t->more[type].misfit ||
	    room.size <= at->size || class_type_is_one(at, &room) ||
	    room.size / at->size * at->size >= room.least)
		return;
	t->more[type].misfit = t->again = true;
}

/* A pointer to the type leads to the beginning of the block. */
static void class_types_say(struct class_types *t, uint32_t block, uint32_t type)
{
	uint32_t before = t->of[block] & BLOCK_TYPE;

	if (t->of[block] & BLOCK_BAD || before == type ||
	    packed_get(t->known, block) != CLASS_UNKNOWN || !class_type_tells(t, type))
		return;
	class_types_note_misfit(t, type, block);
	if (before != TYPE_NONE && class_type_begins_with(t, before, type))
		return;
	if (before != TYPE_NONE && !class_type_begins_with(t, type, before)) {
		t->of[block] |= BLOCK_BAD;
		t->again = true;
		return;
	}
	t->of[block] = (t->of[block] & ~BLOCK_TYPE) | type;
	class_types_enqueue(t, block);
}

static bool class_types_word(struct class_types *t, uint64_t address, uint64_t *word)
{
	return !(address % 8) && memory_image_word_near(t->image->memory, &t->near, address, word);
}

/*
 * A pointer to the end of an array leads to the beginning of the block behind it, where an allocator has
 * nothing between: then what leads to the array is near by (begin, end; and the room's end of std::vector).
 */
static bool class_types_is_end(struct class_types *t, uint64_t base, const struct type_pointer *all,
			       size_t count, size_t at, uint32_t block)
{
	uint64_t address = heap_block_address(t->image, block), start;

	if (!block || heap_block_end(t->image, block - 1) != address)
		return false;
	start = heap_block_address(t->image, block - 1);
	for (size_t i = at > NEAR ? at - NEAR : 0; i < count && i <= at + NEAR; i++) {
		uint64_t word;

		if (i != at && all[i].to == all[at].to &&
		    class_types_word(t, base + all[i].offset, &word) && word >= start &&
		    word < address)
			return true;
	}
	return false;
}

/* The word at an address; where none is, *skip is how many of that stride do not reach the next one. */
static bool class_types_next_word(struct class_types *t, uint64_t address, uint64_t stride,
				  uint64_t *word, uint64_t *skip)
{
	const struct memory_region *r;

	*skip = 0;
	if (class_types_word(t, address, word))
		return true;
	r = memory_image_region(t->image->memory, address);
	if (!r)
		*skip = UINT64_MAX;
	else if (r->start > address)
		*skip = (r->start - address) / stride;
	return false;
}

/* One of the pointers and all that follow it at its stride, up to the end. */
static void class_types_follow_one(struct class_types *t, uint64_t base, uint64_t end,
				   const struct type_pointer *all, size_t count, size_t at)
{
	const struct type_pointer *p = &all[at];
	uint64_t address = base + p->offset, n = p->count, word, skip;

	if (!p->count && address < end)
		n = (end - address + p->stride - 1) / p->stride;
	for (uint64_t i = 0; i < n && t->steps; i++, address += p->stride) {
		uint32_t block;

		t->steps--;
		if (!class_types_next_word(t, address, p->stride ?: 8, &word, &skip)) {
			if (skip >= n - i)
				return;
			i += skip;
			address += skip * p->stride;
			continue;
		}
		block = word ? block_index_find(t->index, word) : BLOCK_NONE;
		if (block == BLOCK_NONE || heap_block_address(t->image, block) != word ||
		    class_types_is_end(t, base, all, count, at, block))
			continue;
		class_types_say(t, block, p->to);
	}
}

/* How many elements from `base` on, of n, lie where nothing is. */
static uint64_t class_types_absent(struct class_types *t, uint64_t base, uint64_t size, uint64_t n)
{
	const struct memory_region *r = t->near;

	if (r && base - r->start < r->size)
		return 0;
	r = memory_image_region(t->image->memory, base);
	if (!r || r->start <= base)
		return r ? 0 : n;
	return (r->start - base) / size < n ? (r->start - base) / size : n;
}

/* Blocks may be of any size, with memory here and there: what is not there takes no time. */
static void class_types_follow_block(struct class_types *t, uint32_t block)
{
	uint32_t type = t->of[block] & BLOCK_TYPE;
	const struct type *at = &t->table->types[type];
	const struct type_pointer *pointers;
	uint64_t n = t->of[block] & BLOCK_BAD ? 0 : class_types_count(t, type, block);
	uint64_t base = heap_block_address(t->image, block);
	/* What lies behind may be left over from an earlier block; an element that begins before is one. */
	uint64_t end = base + class_fit_least(t->image, block);

	if (!at->count)
		return;
	pointers = &t->table->pointers[at->first];
	for (uint64_t i = 0; i < n && t->steps; i++, base += at->size) {
		uint64_t absent = n > 1 ? class_types_absent(t, base, at->size, n - i) : 0;

		t->steps--;
		i += absent;
		base += absent * at->size;
		if (i == n)
			return;
		for (size_t k = 0; k < at->count && t->steps; k++)
			class_types_follow_one(t, base, end, pointers, at->count, k);
	}
}

/*
 * Objects that say themselves what they are, by their virtual table, say all of it: whatever pointers lead to them are
 * declared as. One that is just being made or taken apart is another class's for that time, whose size it has not.
 */
static void class_types_follow_objects(struct class_types *t)
{
	for (size_t i = 0; t->class_count && i < t->image->block_count && t->steps; i++) {
		const uint64_t known = packed_get(t->known, i);
		const uint64_t base = heap_block_address(t->image, i);
		const struct class_room room = class_types_room(t, i);
		const struct type *at;

		if (known >= t->class_count || t->classes[known] == TYPE_NONE)
			continue;
		at = &t->table->types[t->classes[known]];
		for (size_t k = 0; class_type_is_one(at, &room) && k < at->count && t->steps; k++)
			class_types_follow_one(t, base, base + class_fit_least(t->image, i),
					       &t->table->pointers[at->first], at->count, k);
	}
}

static void class_types_follow_all(struct class_types *t)
{
	t->again = false;
	/* Whatever the types say. */
	t->steps = t->image->memory->bytes / 8 * WORD_LOOKS + STEPS_LEAST;
	for (size_t i = 0; i < t->root_count && t->steps; i++)
		class_types_follow_one(t, 0, 0, t->roots, t->root_count, i);
	class_types_follow_objects(t);
	while (t->queue_count) {
		uint32_t block = t->queue[t->queue_first];

		t->queue_first = (t->queue_first + 1) % t->image->block_count;
		t->queue_count--;
		t->of[block] &= ~BLOCK_QUEUED;
		class_types_follow_block(t, block);
	}
	t->cut |= !t->steps;
}

struct class_types *class_types_new(const struct heap_image *image, struct class_groups *groups,
				    const struct packed *known)
{
	struct class_types *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	*t = (struct class_types){.image = image, .groups = groups, .known = known};
	t->table = type_table_new();
	if (!t->table) {
		free(t);
		return NULL;
	}
	return t;
}

/* 0 or -ENOMEM. */
static int class_types_find_classes(struct class_types *t)
{
	size_t count = class_groups_count(t->groups);

	t->classes = calloc(count + 1, sizeof(*t->classes));
	if (!t->classes)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct inspected_group *group = class_groups_at(t->groups, i);
		uint32_t type = group->kind == GROUP_CLASS && group->name
					? type_table_find(t->table, group->name)
					: TYPE_NONE;
		const struct type *at = &t->table->types[type];

		if ((at->flags & (TYPE_DEFINED | TYPE_AMBIGUOUS)) != TYPE_DEFINED || !at->count)
			continue;
		t->classes[i] = type;
		t->class_count = i + 1;
	}
	return 0;
}

bool class_types_found(const struct class_types *t)
{
	return t->of != NULL;
}

int class_types_run(struct class_types *t)
{
	size_t count = t->image->block_count;

	if (class_types_find_classes(t))
		return -ENOMEM;
	if ((!t->root_count && !t->class_count) || !count)
		return 0;
	class_types_find_outer(t);
	t->index = block_index_new(t->image);
	t->of = calloc(count, sizeof(*t->of));
	t->queue = calloc(count, sizeof(*t->queue));
	if (!t->index || !t->of || !t->queue)
		return -ENOMEM;
	class_types_follow_all(t);
	if (t->again) {
		for (size_t i = 0; i < count; i++)
			t->of[i] &= BLOCK_BAD;
		class_types_follow_all(t);
	}
	if (t->cut)
		log_info("there are more pointers of known types than are followed, not all types "
			 "of blocks are known");
	free(TAKE_PTR(t->queue));
	block_index_free(TAKE_PTR(t->index));
	return 0;
}

void class_types_free(struct class_types *t)
{
	if (!t)
		return;
	type_table_free(t->table);
	free(t->more);
	free(t->roots);
	free(t->classes);
	free(t->of);
	free(t->queue);
	block_index_free(t->index);
	free(t);
}

/* ---- groups --------------------------------------------------------------------------------- */

int class_types_group(struct class_types *t, size_t block, uint32_t *group)
{
	uint32_t type = t->of ? t->of[block] & BLOCK_TYPE : TYPE_NONE;
	_cleanup_free_ char *name = NULL;
	const struct class_room room = class_types_room(t, block);
	uint32_t *made;
	bool array;
	int err;

	*group = CLASS_NO_GROUP;
	if (type == TYPE_NONE || t->of[block] & BLOCK_BAD || !class_types_count(t, type, block))
		return 0;
	array = !class_type_is_one(&t->table->types[type], &room);
	made = array ? &t->more[type].array_group : &t->more[type].group;
	if (*made == CLASS_NO_GROUP) {
		if (asprintf(&name, "%s%s", t->table->types[type].name, array ? "[]" : "") < 0) {
			name = NULL;
			return -ENOMEM;
		}
		err = class_groups_named(t->groups, GROUP_TYPE, name, t->more[type].path, made);
		if (err)
			return err;
	}
	*group = *made;
	return 0;
}
