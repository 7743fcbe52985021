// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A table of a program may have millions of words, each of which holds a block: a name costs a search through
 * symbols. Of words that are in order the first and a later one tell that those between are of the same
 * variable, for variables do not lie in each other.
 */
#include "user/heap/held_roots.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/fnv.h"
#include "user/base/util.h"

/* So many names are asked for; what is left has none. */
#define NAMES_MAX 200000

struct held_naming {
	const struct held_by *held;
	struct held_word *words;
	size_t count;
	uint64_t framed_bytes;
	struct held_roots *roots;
	size_t named;
};

void held_roots_free(struct held_roots *roots)
{
	for (size_t i = 0; i < roots->count; i++)
		free(roots->items[i].name);
	free(roots->items);
	id_map_free(&roots->by_hash);
	*roots = (struct held_roots){0};
}

static int held_word_order(const void *a, const void *b)
{
	const struct held_word *x = a, *y = b;

	if (x->address != y->address)
		return x->address < y->address ? -1 : 1;
	return x->block < y->block ? -1 : x->block > y->block;
}

/* Takes the name over. Two of one hash that are not the same: the later one stands for itself. */
static int held_intern(struct held_naming *n, char *name, uint64_t variable, uint32_t *root)
{
	uint64_t hash = fnv1a(fnv1a(FNV1A_BASIS, &variable, sizeof(variable)), name, strlen(name));
	struct held_roots *roots = n->roots;

	if (id_map_get(&n->roots->by_hash, hash, root) &&
	    roots->items[*root].variable == variable && !strcmp(roots->items[*root].name, name)) {
		free(name);
		return 0;
	}
	if (!RESERVE_ITEM(roots->items, roots->count, roots->room, 64)) {
		free(name);
		return -ENOMEM;
	}
	*root = (uint32_t)roots->count;
	roots->items[roots->count++] = (struct held_root){name, variable};
	return id_map_put(&n->roots->by_hash, hash, *root);
}

static int held_name_word(struct held_naming *n, size_t at)
{
	const struct held_word *word = &n->words[at];
	bool frames = word->bytes >= n->framed_bytes;
	char *name = NULL;
	size_t len = 0;
	uint64_t variable;
	FILE *out = open_memstream(&name, &len);

	if (!out)
		return -ENOMEM;
	n->named++;
	variable = held_by_put_whole(n->held, out, word->address, frames);
	if (close_memstream(out)) {
		free(name);
		return -ENOMEM;
	}
	return held_intern(n, name, variable, &n->words[at].root);
}

static int held_leave(struct held_naming *n, size_t at)
{
	char *name = strdup("roots that were not named, for there are too many");

	return name ? held_intern(n, name, 0, &n->words[at].root) : -ENOMEM;
}

/* Is it one of those whose root is known by a word in front of it and one behind? */
static bool held_is_variable(const struct held_naming *n, size_t at)
{
	return n->roots->items[n->words[at].root].variable != 0;
}

/* The words in (first, last) are all of the root that both ends are of. */
static void held_fill(struct held_naming *n, size_t first, size_t last)
{
	for (size_t i = first + 1; i < last; i++)
		n->words[i].root = n->words[first].root;
}

/* Goes on from `first`, whose root is known, in longer and longer steps. *next: the one to be asked for next. */
static int held_name_run(struct held_naming *n, size_t first, size_t *next)
{
	size_t step = 1, at = first;
	int err = 0;

	while (!err && held_is_variable(n, first) && at + step < n->count) {
		err = held_name_word(n, at + step);
		if (err || n->words[at + step].root != n->words[first].root)
			break;
		held_fill(n, at, at + step);
		at += step;
		step *= 2;
	}
	/* Too far: half as far, down to the next one. */
	for (step /= 2; !err && step && held_is_variable(n, first); step /= 2) {
		if (at + step >= n->count)
			continue;
		err = held_name_word(n, at + step);
		if (err || n->words[at + step].root != n->words[first].root)
			continue;
		held_fill(n, at, at + step);
		at += step;
	}
	*next = at + 1;
	return err;
}

int held_roots_find(const struct held_by *held, struct held_word *words, size_t count,
		    uint64_t framed_bytes, struct held_roots *out)
{
	struct held_naming n = {
		.held = held,
		.words = words,
		.count = count,
		.framed_bytes = framed_bytes,
		.roots = out,
	};
	size_t next = 0;
	int err = 0;

	if (count)
		qsort(words, count, sizeof(*words), held_word_order);
	for (size_t at = 0; !err && at < count; at = next) {
		next = at + 1;
		err = n.named < NAMES_MAX ? held_name_word(&n, at) : held_leave(&n, at);
		if (!err)
			err = held_name_run(&n, at, &next);
	}
	return err;
}
