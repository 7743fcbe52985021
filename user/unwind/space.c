// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/unwind/space.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/unwind_abi.h"
#include "user/base/util.h"

#define GRAIN	   8u /* words; every extent begins and ends at a multiple */
#define DROP_BATCH 64

struct extent {
	uint32_t start, length; /* words in the chunk */
};

struct chunk {
	uint32_t *words; /* NULL: does not exist */
	struct extent *free;
	size_t free_count, free_room;
	size_t taken;	  /* extents handed out */
	uint32_t largest; /* no free extent is larger; may be too high */
};

struct unwind_space {
	struct unwind_chunks source;
	struct chunk *chunks;
	uint32_t chunk_count; /* slots in use or used once */
	size_t existing, used;
};

struct unwind_space *unwind_space_new(const struct unwind_chunks *chunks)
{
	struct unwind_space *space = calloc(1, sizeof(*space));

	if (!space)
		return NULL;
	space->source = *chunks;
	space->chunks = calloc(UNWIND_MAX_CHUNKS, sizeof(*space->chunks));
	if (!space->chunks) {
		free(space);
		return NULL;
	}
	return space;
}

/* Drops all chunks, or only the empty ones. */
static void space_drop_chunks(struct unwind_space *space, bool all)
{
	uint32_t numbers[DROP_BATCH], *words[DROP_BATCH];
	size_t count = 0;

	for (uint32_t i = 0; i < space->chunk_count; i++) {
		struct chunk *chunk = &space->chunks[i];

		if (!chunk->words || (!all && (!i || chunk->taken)))
			continue;
		if (count == DROP_BATCH) {
			space->source.drop(space->source.arg, numbers, count, words);
			count = 0;
		}
		numbers[count] = i;
		words[count++] = chunk->words;
		free(chunk->free);
		*chunk = (struct chunk){0};
		space->existing--;
	}
	if (count)
		space->source.drop(space->source.arg, numbers, count, words);
}

void unwind_space_trim(struct unwind_space *space)
{
	space_drop_chunks(space, false);
}

void unwind_space_free(struct unwind_space *space)
{
	if (!space)
		return;
	space_drop_chunks(space, true);
	free(space->chunks);
	free(space);
}

/*
 * Makes room for the free extents that there can be once all are back, so that giving back cannot
 * fail.
 */
static int space_reserve(struct chunk *chunk)
{
	struct extent *bigger;
	size_t room = chunk->free_room ? chunk->free_room * 2 : 16;

	if (chunk->taken + 3 <= chunk->free_room)
		return 0;
	bigger = reallocarray(chunk->free, room, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	chunk->free = bigger;
	chunk->free_room = room;
	return 0;
}

/* A new chunk, all free. space_reserve() has been called. */
static void space_set_up_chunk(struct unwind_space *space, uint32_t number, uint32_t *words)
{
	struct chunk *chunk = &space->chunks[number];

	chunk->words = words;
	/* Word 0 means "nothing" everywhere. */
	chunk->free[0] = (struct extent){.start = number ? 0 : GRAIN};
	chunk->free[0].length = UNWIND_CHUNK_WORDS - chunk->free[0].start;
	chunk->free_count = 1;
	chunk->largest = chunk->free[0].length;
	space->existing++;
	if (number >= space->chunk_count)
		space->chunk_count = number + 1;
}

/* Adds `count` chunks, or as many as have numbers left. */
static int space_add_chunks(struct unwind_space *space, size_t count)
{
	_cleanup_free_ uint32_t *numbers = calloc(count, sizeof(*numbers));
	_cleanup_free_ uint32_t **words = calloc(count, sizeof(*words));
	size_t found = 0;
	int err = 0;

	if (!numbers || !words)
		return -ENOMEM;
	for (uint32_t i = 0; i < UNWIND_MAX_CHUNKS && found < count; i++) {
		if (!space->chunks[i].words)
			numbers[found++] = i;
	}
	if (!found)
		return -ENOSPC;
	for (size_t i = 0; !err && i < found; i++)
		err = space_reserve(&space->chunks[numbers[i]]);
	if (!err)
		err = space->source.add(space->source.arg, numbers, found, words);
	for (size_t i = 0; !err && i < found; i++)
		space_set_up_chunk(space, numbers[i], words[i]);
	return err;
}

int unwind_space_reserve(struct unwind_space *space, size_t words)
{
	size_t unused = space->existing * UNWIND_CHUNK_WORDS - space->used;

	if (words <= unused)
		return 0;
	return space_add_chunks(space,
				(words - unused + UNWIND_CHUNK_WORDS - 1) / UNWIND_CHUNK_WORDS);
}

/* Takes from the first free extent that is large enough. */
static int space_take_from(struct chunk *chunk, uint32_t length, uint32_t *start)
{
	uint32_t largest = 0;

	if (chunk->largest < length || space_reserve(chunk))
		return -ENOSPC;
	for (size_t i = 0; i < chunk->free_count; i++) {
		struct extent *e = &chunk->free[i];

		if (e->length < length) {
			if (e->length > largest)
				largest = e->length;
			continue;
		}
		*start = e->start;
		e->start += length;
		e->length -= length;
		if (!e->length) {
			memmove(e, e + 1, (chunk->free_count - i - 1) * sizeof(*e));
			chunk->free_count--;
		}
		chunk->taken++;
		return 0;
	}
	chunk->largest = largest;
	return -ENOSPC;
}

/* 0, or -ENOSPC when no chunk has room. */
static int space_take(struct unwind_space *space, uint32_t length, uint32_t *first)
{
	for (uint32_t number = 0; number < space->chunk_count; number++) {
		uint32_t start;

		if (!space->chunks[number].words ||
		    space_take_from(&space->chunks[number], length, &start))
			continue;
		*first = number * UNWIND_CHUNK_WORDS + start;
		space->used += length;
		return 0;
	}
	return -ENOSPC;
}

int unwind_space_take(struct unwind_space *space, uint32_t words, uint32_t *first)
{
	uint32_t length = (words + GRAIN - 1) & ~(GRAIN - 1);
	int err;

	if (words > UNWIND_CHUNK_WORDS - GRAIN)
		return -E2BIG;
	err = space_take(space, length, first);
	if (err != -ENOSPC)
		return err;
	err = space_add_chunks(space, 1);
	return err ? err : space_take(space, length, first);
}

void unwind_space_give(struct unwind_space *space, uint32_t first, uint32_t words)
{
	uint32_t number = first / UNWIND_CHUNK_WORDS, start = first % UNWIND_CHUNK_WORDS;
	uint32_t length = (words + GRAIN - 1) & ~(GRAIN - 1);
	struct chunk *chunk = &space->chunks[number];
	struct extent *e;
	size_t i = 0;

	space->used -= length;
	chunk->taken--;
	while (i < chunk->free_count && chunk->free[i].start < start)
		i++;
	e = &chunk->free[i];
	if (i && e[-1].start + e[-1].length == start) {
		e--;
		i--;
		e->length += length;
	} else {
		memmove(e + 1, e, (chunk->free_count - i) * sizeof(*e));
		*e = (struct extent){.start = start, .length = length};
		chunk->free_count++;
	}
	if (i + 1 < chunk->free_count && e->start + e->length == e[1].start) {
		e->length += e[1].length;
		memmove(e + 1, e + 2, (chunk->free_count - i - 2) * sizeof(*e));
		chunk->free_count--;
	}
	if (e->length > chunk->largest)
		chunk->largest = e->length;
}

uint32_t *unwind_space_at(const struct unwind_space *space, uint32_t word)
{
	return space->chunks[word / UNWIND_CHUNK_WORDS].words + word % UNWIND_CHUNK_WORDS;
}

const uint32_t *unwind_space_chunk(const struct unwind_space *space, uint32_t number)
{
	return number < UNWIND_MAX_CHUNKS ? space->chunks[number].words : NULL;
}

size_t unwind_space_used(const struct unwind_space *space)
{
	return space->used;
}

size_t unwind_space_chunks(const struct unwind_space *space)
{
	return space->existing;
}
