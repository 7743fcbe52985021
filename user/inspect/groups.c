// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Blocks of one size whose first word is the same are alike, if they are many: a million of one kind
 * mostly begin with the same type, virtual table or flags. Which words are frequent is found in one
 * pass with a few counters a size (Misra and Gries, "Finding repeated elements", 1982): what more than
 * one in WORDS + 1 blocks of a size begins with is among them. A second pass counts exactly.
 */
#include "user/inspect/groups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/hash.h"
#include "user/base/util.h"

#define WORDS	       4
#define SMALL_SIZES    4096
#define NO_GROUP       UINT32_MAX
#define ALIKE_AT_LEAST 16

/* A word that many blocks of a size may begin with. */
struct group_word {
	uint64_t word;
	uint32_t votes, count;
	uint32_t group;
};

/* Blocks of one size. */
struct group_size {
	uint64_t size;
	uint32_t count, group; /* of those that begin with none of the words */
	struct group_word words[WORDS];
	UT_hash_handle hh; /* of those that are not small */
};

struct groups {
	const struct heap_image *image;
	size_t region;			       /* where the last block was */
	struct group_size *small[SMALL_SIZES]; /* by size */
	struct group_size *large;
	uint32_t *of_block;
	struct inspection *out;
	size_t room;
};

static void groups_release(struct groups *g)
{
	struct group_size *size, *next;

	HASH_ITER (hh, g->large, size, next) {
		HASH_DEL(g->large, size);
		free(size);
	}
	for (size_t i = 0; i < SMALL_SIZES; i++)
		free(g->small[i]);
}

static struct group_size *groups_new_size(uint64_t size)
{
	struct group_size *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->size = size;
	s->group = NO_GROUP;
	for (size_t i = 0; i < WORDS; i++)
		s->words[i].group = NO_GROUP;
	return s;
}

/* NULL when out of memory. */
static struct group_size *groups_size_of(struct groups *g, const struct heap_block *b)
{
	uint64_t size = b->end - b->address;
	struct group_size *s;

	if (size < SMALL_SIZES) {
		if (!g->small[size])
			g->small[size] = groups_new_size(size);
		return g->small[size];
	}
	HASH_FIND(hh, g->large, &size, sizeof(size), s);
	if (s)
		return s;
	s = groups_new_size(size);
	if (!s)
		return NULL;
	HASH_ADD(hh, g->large, size, sizeof(s->size), s);
	if (s->hh.tbl)
		return s;
	free(s);
	return NULL;
}

/* Blocks come in the order of their addresses. False: it has none, or it is not there. */
static bool groups_first_word(struct groups *g, const struct heap_block *b, uint64_t *word)
{
	const struct memory_image *memory = g->image->memory;
	const struct memory_region *r;

	if (b->end - b->address < 8 || b->address % 8)
		return false;
	while (g->region < memory->region_count &&
	       memory->regions[g->region].start + memory->regions[g->region].size <= b->address)
		g->region++;
	if (g->region == memory->region_count)
		return false;
	r = &memory->regions[g->region];
	if (r->start > b->address)
		return false;
	*word = r->words[(b->address - r->start) / 8];
	return true;
}

static struct group_word *groups_word(struct group_size *s, uint64_t word)
{
	for (size_t i = 0; i < WORDS; i++) {
		if (s->words[i].votes && s->words[i].word == word)
			return &s->words[i];
	}
	return NULL;
}

static void groups_vote(struct group_size *s, uint64_t word)
{
	struct group_word *known = groups_word(s, word);

	for (size_t i = 0; !known && i < WORDS; i++) {
		if (s->words[i].votes)
			continue;
		known = &s->words[i];
		known->word = word;
	}
	if (known) {
		known->votes++;
		return;
	}
	for (size_t i = 0; i < WORDS; i++)
		s->words[i].votes--;
}

/* So that they can be found again in a later look at the process, or in one at another. */
static uint64_t groups_hash(uint64_t word)
{
	word ^= word >> 33;
	word *= 0xff51afd7ed558ccdull; /* the finalizer of MurmurHash3 */
	word ^= word >> 33;
	word *= 0xc4ceb9fe1a85ec53ull;
	word ^= word >> 33;
	return word ? word : 1;
}

static int groups_add(struct groups *g, uint32_t *group, uint64_t size, uint64_t beginning)
{
	if (*group != NO_GROUP)
		return 0;
	if (!RESERVE_ITEM(g->out->groups, g->out->group_count, g->room, 256))
		return -ENOMEM;
	g->out->groups[g->out->group_count] =
		(struct inspected_group){.kind = GROUP_SIZE, .size = size, .beginning = beginning};
	*group = (uint32_t)g->out->group_count++;
	return 0;
}

/* Words that few blocks begin with tell nothing. */
static bool groups_is_telling(const struct group_size *s, const struct group_word *word)
{
	return word && word->count >= ALIKE_AT_LEAST && word->count >= s->count / 16;
}

static int groups_find_words(struct groups *g)
{
	uint64_t word;

	for (size_t i = 0; i < g->image->block_count; i++) {
		const struct heap_block *b = &g->image->blocks[i];
		struct group_size *s = groups_size_of(g, b);

		if (!s)
			return -ENOMEM;
		if (groups_first_word(g, b, &word))
			groups_vote(s, word);
	}
	g->region = 0;
	for (size_t i = 0; i < g->image->block_count; i++) {
		const struct heap_block *b = &g->image->blocks[i];
		struct group_size *s = groups_size_of(g, b);
		struct group_word *known = NULL;

		if (groups_first_word(g, b, &word))
			known = groups_word(s, word);
		s->count++;
		if (known)
			known->count++;
	}
	g->region = 0;
	return 0;
}

static int groups_assign(struct groups *g, const struct reach *reach)
{
	int err = 0;

	for (size_t i = 0; !err && i < g->image->block_count; i++) {
		const struct heap_block *b = &g->image->blocks[i];
		const struct amount one = {b->end - b->address, 1};
		struct group_size *s = groups_size_of(g, b);
		struct group_word *known = NULL;
		struct inspected_group *group;
		uint32_t *at = &s->group;
		uint64_t word, beginning = 0;

		if (groups_first_word(g, b, &word))
			known = groups_word(s, word);
		if (groups_is_telling(s, known)) {
			at = &known->group;
			beginning = groups_hash(word);
		}
		err = groups_add(g, at, s->size, beginning);
		if (err)
			break;
		g->of_block[i] = *at;
		group = &g->out->groups[*at];
		amount_add(&group->live, &one);
		amount_add(&group->verdict[reach_class(reach, i)], &one);
	}
	return err;
}

int groups_find(const struct heap_image *image, const struct reach *reach, struct inspection *out,
		uint32_t **group_of)
{
	struct groups *g = calloc(1, sizeof(*g));
	int err = -ENOMEM;

	if (!g)
		return err;
	g->image = image;
	g->out = out;
	g->of_block = malloc((image->block_count + 1) * sizeof(*g->of_block));
	if (g->of_block)
		err = groups_find_words(g);
	err = err ?: groups_assign(g, reach);
	*group_of = g->of_block;
	groups_release(g);
	free(g);
	return err;
}
