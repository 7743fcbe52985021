// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/class_sizes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"

/* How many blocks of a size have to begin alike, and which share of that size, to be of interest. */
#define ALIKE_MIN   16
#define ALIKE_SHARE 16

/* Of a block, that is. Behind them lies what differs in most programs: counters, names. */
#define BEGINNING_WORDS 2

/* What of a slot is its kind. */
#define SLOT_KIND (2 * CLASS_KINDS_MAX - 1)

/* Half of the table is free, at least: nobody comes by so many of them in a row by chance. */
#define PROBES_MAX 64

/* All of sizes that are not told apart. */
#define KIND_REST 0u

struct class_size_kind {
	uint64_t size, beginning; /* 0: any */
	uint32_t count;		  /* of "any": all of that size. Saturated */
	uint32_t rest;		  /* the kind of that size and any beginning */
	uint32_t group;		  /* CLASS_NO_GROUP: not asked for yet */
};

struct class_sizes {
	const struct class_memory *memory;
	const struct mapping *last; /* where the last pointer led to */
	struct class_size_kind *kinds;
	size_t count, room;
	uint32_t *slots; /* kind + 1, open addressing, with bits of its hash above SLOT_KIND */
	size_t slot_count;
};

static int class_sizes_make_slots(struct class_sizes *sizes, size_t count)
{
	uint32_t *slots = calloc(count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	free(sizes->slots);
	sizes->slots = slots;
	sizes->slot_count = count;
	return 0;
}

struct class_sizes *class_sizes_new(const struct class_memory *memory)
{
	struct class_sizes *sizes = calloc(1, sizeof(*sizes));

	if (!sizes)
		return NULL;
	sizes->memory = memory;
	if (class_sizes_make_slots(sizes, 1024) ||
	    !RESERVE_ITEM(sizes->kinds, sizes->count, sizes->room, 512)) {
		class_sizes_free(sizes);
		return NULL;
	}
	sizes->kinds[sizes->count++] = (struct class_size_kind){.group = CLASS_NO_GROUP};
	return sizes;
}

void class_sizes_free(struct class_sizes *sizes)
{
	if (!sizes)
		return;
	free(sizes->slots);
	free(sizes->kinds);
	free(sizes);
}

/* ---- how a block begins --------------------------------------------------------------------- */

static uint64_t class_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static uint64_t class_mix_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = class_mix(hash, (unsigned char)*text);
	return hash;
}

/*
 * A pointer into a file's memory is the same in each block that it makes alike, and in each run of the
 * program by the file and the place in it. One into the heap or a stack differs from block to block, so
 * that all that counts is that it is one.
 */
static uint64_t class_mix_word(struct class_sizes *sizes, uint64_t hash, uint64_t word)
{
	const struct maps *maps = class_memory_image(sizes->memory)->maps;
	const struct mapping *m = sizes->last;

	if (!word || !maps)
		return class_mix(hash, word);
	if (!m || word < m->start || word >= m->end)
		m = maps_find(maps, word);
	if (!m)
		return class_mix(class_mix(hash, 1), word);
	sizes->last = m;
	if (!m->ino || m->shared)
		return class_mix(hash, 2);
	return class_mix(class_mix_text(hash, m->path), m->offset + (word - m->start));
}

static uint64_t class_beginning(struct class_sizes *sizes, const uint64_t *words, size_t count)
{
	uint64_t hash = 1469598103934665603ull;

	/* What was never touched, and so is not there, is zeros. */
	count = count < BEGINNING_WORDS ? count : BEGINNING_WORDS;
	while (count && !words[count - 1])
		count--;
	for (size_t i = 0; i < count; i++)
		hash = class_mix_word(sizes, hash, words[i]);
	return hash ?: 1;
}

/* ---- kinds ---------------------------------------------------------------------------------- */

static uint64_t class_sizes_hash(uint64_t size, uint64_t beginning)
{
	return class_mix(class_mix(0, size), beginning);
}

/* What a slot has of a kind, which is looked at only where this agrees: that takes its time. */
static uint32_t class_sizes_entry(uint64_t hash, uint32_t kind)
{
	return (uint32_t)(hash >> 32) << 19 | (kind + 1);
}

/* Where it is, or would be. NULL: kinds that were chosen to be in each other's way. */
static uint32_t *class_sizes_slot(const struct class_sizes *sizes, uint64_t size,
				  uint64_t beginning)
{
	uint64_t hash = class_sizes_hash(size, beginning);

	for (size_t i = 0; i < PROBES_MAX; i++) {
		uint32_t *slot = &sizes->slots[(hash + i) & (sizes->slot_count - 1)];
		const struct class_size_kind *kind;

		if (!*slot)
			return slot;
		if ((*slot ^ class_sizes_entry(hash, 0)) & ~SLOT_KIND)
			continue;
		kind = &sizes->kinds[(*slot & SLOT_KIND) - 1];
		if (kind->size == size && kind->beginning == beginning)
			return slot;
	}
	return NULL;
}

static int class_sizes_grow(struct class_sizes *sizes)
{
	if (sizes->count < sizes->slot_count / 2)
		return 0;
	if (class_sizes_make_slots(sizes, 2 * sizes->slot_count))
		return -ENOMEM;
	for (size_t i = 1; i < sizes->count; i++) {
		const struct class_size_kind *kind = &sizes->kinds[i];
		uint32_t *slot = class_sizes_slot(sizes, kind->size, kind->beginning);

		if (slot)
			*slot = class_sizes_entry(class_sizes_hash(kind->size, kind->beginning),
						  (uint32_t)i);
	}
	return 0;
}

/* The kind's index; KIND_REST where there is no room for another one. 0 or -ENOMEM. */
static int class_sizes_kind(struct class_sizes *sizes, uint64_t size, uint64_t beginning,
			    uint32_t rest, uint32_t *kind)
{
	uint32_t *slot = class_sizes_slot(sizes, size, beginning);

	*kind = slot && *slot ? (*slot & SLOT_KIND) - 1 : KIND_REST;
	if (!slot || *slot || sizes->count == CLASS_KINDS_MAX)
		return 0;
	if (!RESERVE_ITEM(sizes->kinds, sizes->count, sizes->room, 512))
		return -ENOMEM;
	*kind = (uint32_t)sizes->count;
	sizes->kinds[sizes->count++] = (struct class_size_kind){
		.size = size, .beginning = beginning, .rest = rest, .group = CLASS_NO_GROUP};
	*slot = class_sizes_entry(class_sizes_hash(size, beginning), *kind);
	return class_sizes_grow(sizes);
}

static void class_size_add(struct class_size_kind *kind)
{
	kind->count += kind->count != UINT32_MAX;
}

int class_sizes_count(struct class_sizes *sizes, uint64_t size, const uint64_t *words, size_t count,
		      uint32_t *kind)
{
	uint32_t rest;
	int err = class_sizes_kind(sizes, size, 0, KIND_REST, &rest);

	*kind = KIND_REST;
	if (!err && rest != KIND_REST)
		err = class_sizes_kind(sizes, size, class_beginning(sizes, words, count), rest,
				       kind);
	if (err)
		return err;
	class_size_add(&sizes->kinds[rest]);
	if (*kind == KIND_REST)
		*kind = rest;
	else
		class_size_add(&sizes->kinds[*kind]);
	return 0;
}

int class_sizes_group(struct class_sizes *sizes, struct class_groups *groups, uint32_t kind,
		      uint32_t *group)
{
	struct class_size_kind *k = &sizes->kinds[kind];
	const struct class_size_kind *rest = &sizes->kinds[k->rest];
	int err = 0;

	if (k->group == CLASS_NO_GROUP && k->beginning &&
	    (k->count < ALIKE_MIN || k->count < rest->count / ALIKE_SHARE))
		err = class_sizes_group(sizes, groups, k->rest, &k->group);
	else if (k->group == CLASS_NO_GROUP)
		err = class_groups_sized(groups, k->size, k->beginning, &k->group);
	*group = k->group;
	return err;
}
