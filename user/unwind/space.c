// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/unwind/space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/unwind_abi.h"

#define GRAIN 8u /* words; every extent begins and ends at a multiple */

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

static void drop_chunk(struct unwind_space *space, uint32_t number)
{
	struct chunk *chunk = &space->chunks[number];

	if (!chunk->words)
		return;
	space->source.drop(space->source.arg, number, chunk->words);
	free(chunk->free);
	*chunk = (struct chunk){0};
	space->existing--;
}

void unwind_space_free(struct unwind_space *space)
{
	if (!space)
		return;
	for (uint32_t i = 0; i < space->chunk_count; i++)
		drop_chunk(space, i);
	free(space->chunks);
	free(space);
}

/* Room for the free extents that can be once all handed out are back, so that giving back cannot fail. */
static int reserve(struct chunk *chunk)
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

static int add_chunk(struct unwind_space *space, uint32_t number)
{
	struct chunk *chunk = &space->chunks[number];
	int err = reserve(chunk);

	if (!err)
		err = space->source.add(space->source.arg, number, &chunk->words);
	if (err) {
		free(chunk->free);
		*chunk = (struct chunk){0};
		return err;
	}
	/* Word 0 means "nothing" everywhere. */
	chunk->free[0] = (struct extent){.start = number ? 0 : GRAIN};
	chunk->free[0].length = UNWIND_CHUNK_WORDS - chunk->free[0].start;
	chunk->free_count = 1;
	chunk->largest = chunk->free[0].length;
	space->existing++;
	if (number >= space->chunk_count)
		space->chunk_count = number + 1;
	return 0;
}

/* Takes from the first free extent that is large enough. */
static int take_from(struct chunk *chunk, uint32_t length, uint32_t *start)
{
	uint32_t largest = 0;

	if (chunk->largest < length || reserve(chunk))
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

int unwind_space_take(struct unwind_space *space, uint32_t words, uint32_t *first)
{
	uint32_t length = (words + GRAIN - 1) & ~(GRAIN - 1), start, number;
	int err;

	if (words > UNWIND_CHUNK_WORDS - GRAIN)
		return -E2BIG;
	for (number = 0; number < space->chunk_count; number++) {
		if (space->chunks[number].words &&
		    !take_from(&space->chunks[number], length, &start))
			goto found;
	}
	for (number = 0; number < UNWIND_MAX_CHUNKS && space->chunks[number].words; number++)
		;
	if (number == UNWIND_MAX_CHUNKS)
		return -ENOSPC;
	err = add_chunk(space, number);
	if (err)
		return err;
	err = take_from(&space->chunks[number], length, &start);
	if (err)
		return err;
found:
	*first = number * UNWIND_CHUNK_WORDS + start;
	space->used += length;
	return 0;
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
	if (number && e->length == UNWIND_CHUNK_WORDS)
		drop_chunk(space, number);
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
