// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The tree is walked twice: from its leaves up, to see what each block keeps; then from the roots down, to put
 * each block into a way. A block that is found to hold itself, as words in forged copies may do, is
 * nobody's.
 */
#include "user/heap/ways.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/heap/colours.h"
#include "user/heap/heap_image.h"
#include "user/heap/held_roots.h"
#include "user/model/id_map.h"

/* No program has so many that are worth a line; what comes later counts with its holder. */
#define WAYS_MAX 65536u

/* What keeps such a part of all stands by itself, and so much that hangs on a stack word is worth its frame's name. */
#define ALONE_SHARE 100
#define FRAME_SHARE 1000
#define ALONE_MAX   4096

/* Words that are asked for whether they are a thread's own. */
#define THREAD_WORDS_MAX 10000

#define NONE	 UINT32_MAX
#define UNKNOWN	 UINT32_MAX
#define ON_TRACK (UINT32_MAX - 1)

/* Roots that are no words. */
#define LOST_NAME   "nothing: it is lost"
#define CIRCLE_NAME "blocks that seem to hold themselves"

struct ways_run {
	const struct ways_of *how;
	struct ways *out;
	uint32_t blocks;
	/* By block: its holder; of one that a root holds its root, from `blocks` on. */
	uint32_t *holder;
	uint64_t *kept; /* by block: bytes of it and of what hangs on it */
	uint32_t *left; /* by block: how many that hang on it are still to be counted */
	struct held_word *words;
	size_t word_count, word_room;
	struct held_roots roots;
	struct id_map by_key; /* of up and kind */
	uint32_t circle; /* the root of blocks that hold themselves; NONE: there are none so far */
	uint32_t *track;
	size_t track_room;
	struct colours colours;
	size_t room; /* of out->items */
	/* Blocks that stand by themselves, by number. */
	uint32_t *alone;
	size_t alone_count;
};

uint32_t ways_holder(const struct reach *reach, uint32_t block)
{
	uint64_t from = reach_holder(reach, block);

	if (!from || from & REACH_REGISTER || reach_is_root_inside(reach, from))
		return NONE;
	return reach_find(reach, from);
}

static uint64_t ways_size(const struct ways_run *r, uint32_t block)
{
	return heap_block_at(r->how->image, block).size;
}

/* ---- who holds whom ----------------------------------------------------------------------- */

static int ways_take_holder(struct ways_run *r, uint32_t block)
{
	uint32_t holder = ways_holder(r->how->reach, block);

	r->holder[block] = holder;
	if (holder != NONE)
		return 0;
	if (!RESERVE_ITEM(r->words, r->word_count, r->word_room, 1024))
		return -ENOMEM;
	r->words[r->word_count++] =
		(struct held_word){.address = reach_holder(r->how->reach, block), .block = block};
	return 0;
}

/* The block and all that hangs on it has been counted: so may have been all that hangs on its holder. */
static void ways_count_up(struct ways_run *r, uint32_t block)
{
	while (block != NONE && !r->left[block]) {
		uint32_t holder = r->holder[block];

		r->left[block] = NONE;
		r->kept[block] += ways_size(r, block);
		if (holder == NONE)
			return;
		r->kept[holder] += r->kept[block];
		r->left[holder]--;
		block = holder;
	}
}

static int ways_find_kept(struct ways_run *r)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < r->blocks; i++)
		err = ways_take_holder(r, i);
	for (uint32_t i = 0; !err && i < r->blocks; i++) {
		if (r->holder[i] != NONE)
			r->left[r->holder[i]]++;
		r->out->whole.bytes += ways_size(r, i);
	}
	r->out->whole.count = r->blocks;
	for (uint32_t i = 0; !err && i < r->blocks; i++)
		ways_count_up(r, i);
	return err;
}

/* Adds one that is no word. */
static int ways_add_root(struct ways_run *r, const char *name, uint32_t *root)
{
	if (!RESERVE_ITEM(r->roots.items, r->roots.count, r->roots.room, 16))
		return -ENOMEM;
	*root = (uint32_t)r->roots.count;
	r->roots.items[*root] = (struct held_root){.name = strdup(name)};
	if (!r->roots.items[*root].name)
		return -ENOMEM;
	r->roots.count++;
	return 0;
}

static int ways_name_words(struct ways_run *r, size_t first)
{
	int err = held_roots_find(r->how->names, r->words + first, r->word_count - first,
				  r->out->whole.bytes / FRAME_SHARE, &r->roots);

	for (size_t i = first; !err && i < r->word_count; i++)
		r->holder[r->words[i].block] = r->blocks + r->words[i].root;
	return err;
}

/*
 * A library that was opened late has what is thread-local in a block of its own, at the end of a thread's vector:
 * of what that holds the variables are the roots.
 */
static int ways_find_thread_variables(struct ways_run *r)
{
	const size_t named = r->word_count;
	size_t asked = 0;

	for (uint32_t i = 0; i < r->blocks && asked < THREAD_WORDS_MAX; i++) {
		uint32_t holder = r->holder[i];
		uint64_t from;

		if (holder >= r->blocks || r->holder[holder] < r->blocks ||
		    !strstr(r->roots.items[r->holder[holder] - r->blocks].name, "thread-local"))
			continue;
		from = reach_holder(r->how->reach, i);
		asked++;
		if (!held_by_is_thread_variable(r->how->names, from))
			continue;
		if (!RESERVE_ITEM(r->words, r->word_count, r->word_room, 1024))
			return -ENOMEM;
		r->words[r->word_count++] = (struct held_word){.address = from, .block = i};
	}
	return ways_name_words(r, named);
}

/* Lost ones have no word: they come first, and are not asked for a name. */
static int ways_find_roots(struct ways_run *r)
{
	size_t lost = 0;
	int err;

	for (size_t i = 0; i < r->word_count; i++) {
		struct held_word *w = &r->words[i];

		w->bytes = r->kept[w->block];
		if (!w->address) {
			const struct held_word one = *w;

			*w = r->words[lost];
			r->words[lost++] = one;
		}
	}
	err = ways_name_words(r, lost);
	err = err ?: ways_add_root(r, LOST_NAME, &r->out->lost);
	for (size_t i = 0; !err && i < lost; i++)
		r->holder[r->words[i].block] = r->blocks + r->out->lost;
	err = err ?: ways_find_thread_variables(r);
	free(r->words);
	r->words = NULL;
	return err;
}

/* ---- blocks that stand by themselves ------------------------------------------------------ */

static int ways_alone_order(const void *a, const void *b, void *ctx)
{
	const struct ways_run *r = ctx;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t kind_x, kind_y;

	if (r->holder[x] != r->holder[y])
		return r->holder[x] < r->holder[y] ? -1 : 1;
	kind_x = r->how->kind(r->how->ctx, x);
	kind_y = r->how->kind(r->how->ctx, y);
	return kind_x != kind_y ? (kind_x < kind_y ? -1 : 1) : x < y ? -1 : x > y;
}

/* Are two blocks of a kind, below one holder? */
static bool ways_alike(struct ways_run *r, uint32_t a, uint32_t b)
{
	return r->holder[a] == r->holder[b] &&
	       r->how->kind(r->how->ctx, a) == r->how->kind(r->how->ctx, b);
}

/* Several alike below one holder are one line, however much each keeps, unless their kind has names for each. */
static void ways_drop_alike(struct ways_run *r)
{
	size_t kept = 0;

	for (size_t i = 0, end; i < r->alone_count; i = end) {
		uint32_t first = r->alone[i];

		for (end = i + 1; end < r->alone_count && ways_alike(r, first, r->alone[end]);)
			end++;
		if (end > i + 1 && !(r->how->alone &&
				     r->how->alone(r->how->ctx, r->how->kind(r->how->ctx, first))))
			continue;
		for (size_t at = i; at < end; at++)
			r->alone[kept++] = r->alone[at];
	}
	r->alone_count = kept;
}

static int ways_number_order(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

static int ways_find_alone(struct ways_run *r)
{
	const uint64_t least = r->out->whole.bytes / ALONE_SHARE + 1;

	r->alone = malloc(ALONE_MAX * sizeof(*r->alone));
	if (!r->alone)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->blocks && r->alone_count < ALONE_MAX; i++) {
		if (r->kept[i] >= least)
			r->alone[r->alone_count++] = i;
	}
	qsort_r(r->alone, r->alone_count, sizeof(*r->alone), ways_alone_order, r);
	ways_drop_alike(r);
	qsort(r->alone, r->alone_count, sizeof(*r->alone), ways_number_order);
	return 0;
}

static bool ways_is_alone(const struct ways_run *r, uint32_t block)
{
	size_t at = BISECT(i, 0, r->alone_count, r->alone[i] < block);

	return at < r->alone_count && r->alone[at] == block;
}

/* ---- the tree by kinds -------------------------------------------------------------------- */

/* The way below `up` of that key, made as `way` where it is not there. 0 or -ENOMEM. */
static int ways_get(struct ways_run *r, uint32_t up, uint64_t key, struct way way, uint32_t *out)
{
	struct ways *to = r->out;

	/* Ways are fewer than 2^20, roots included: both fit. */
	key |= (uint64_t)(up == WAY_NONE ? 0 : up + 1) << 34;
	if (id_map_get(&r->by_key, key, out))
		return 0;
	if (to->count >= WAYS_MAX && up != WAY_NONE) {
		*out = up;
		return 0;
	}
	if (!RESERVE_ITEM(to->items, to->count, r->room, 256))
		return -ENOMEM;
	*out = to->count;
	to->items[to->count++] = way;
	return id_map_put(&r->by_key, key, *out);
}

static int ways_of_root(struct ways_run *r, uint32_t root, uint32_t *way)
{
	const struct way one = {.up = WAY_NONE, .kind = root, .root = root, .block = NONE};

	return ways_get(r, WAY_NONE, root, one, way);
}

/* The first of a list keeps all of it, and is one of many for all that. */
static uint32_t ways_link(struct ways_run *r, uint32_t way)
{
	r->out->items[way].linked = true;
	r->out->items[way].block = NONE;
	return way;
}

/*
 * A list is one way, and so is what alternates: node, link, node. Which ways blocks of a list take is
 * of no interest.
 */
static int ways_of_block(struct ways_run *r, uint32_t up, uint32_t block, uint32_t *way)
{
	uint32_t kind = r->how->kind(r->how->ctx, block), above = r->out->items[up].up;
	struct way one = {.up = up, .kind = kind, .root = r->out->items[up].root, .block = NONE};
	uint64_t key = kind | 1ull << 32;

	if (above != WAY_NONE && r->out->items[up].kind == kind) {
		*way = ways_link(r, up);
		return 0;
	}
	if (above != WAY_NONE && r->out->items[above].up != WAY_NONE &&
	    r->out->items[above].kind == kind) {
		*way = ways_link(r, above);
		return 0;
	}
	if (ways_is_alone(r, block)) {
		one.block = block;
		key = block | 1ull << 33;
	}
	return ways_get(r, up, key, one, way);
}

/* From the block up to one whose way is known, and down again. */
static int ways_follow(struct ways_run *r, uint32_t block)
{
	uint32_t *of = r->out->of, at = block, way = WAY_NONE;
	size_t depth = 0;
	int err = 0;

	while (at < r->blocks && of[at] == UNKNOWN) {
		if (!RESERVE_ITEM(r->track, depth, r->track_room, 1024))
			return -ENOMEM;
		of[at] = ON_TRACK;
		r->track[depth++] = at;
		at = r->holder[at];
	}
	if (at >= r->blocks) {
		err = ways_of_root(r, at - r->blocks, &way);
	} else if (of[at] == ON_TRACK) {
		if (r->circle == NONE)
			err = ways_add_root(r, CIRCLE_NAME, &r->circle);
		err = err ?: ways_of_root(r, r->circle, &way);
	} else {
		way = of[at];
	}
	while (!err && depth) {
		const uint32_t one = r->track[--depth];
		const struct amount amount = {ways_size(r, one), 1};

		err = ways_of_block(r, way, one, &way);
		if (err)
			break;
		of[one] = way;
		amount_add(&r->out->items[way].own, &amount);
		if (r->colours.of[one] == r->out->items[way].root)
			amount_add(&r->out->items[way].alone, &amount);
		else if (r->colours.of[one] == COLOUR_MANY)
			amount_add(&r->out->items[way].shared, &amount);
	}
	return err;
}

static void ways_sum(struct ways *ways)
{
	for (uint32_t i = 0; i < ways->count; i++)
		ways->items[i].retained = ways->items[i].own;
	for (uint32_t i = ways->count; i-- > 0;) {
		const struct way *way = &ways->items[i];

		if (way->up == WAY_NONE)
			continue;
		amount_add(&ways->items[way->up].retained, &way->retained);
		amount_add(&ways->items[way->up].alone, &way->alone);
		amount_add(&ways->items[way->up].shared, &way->shared);
	}
}

static int ways_take_names(struct ways_run *r)
{
	r->out->roots = calloc(r->roots.count + 1, sizeof(*r->out->roots));
	if (!r->out->roots)
		return -ENOMEM;
	r->out->root_count = r->roots.count;
	for (size_t i = 0; i < r->roots.count; i++)
		r->out->roots[i] = TAKE_PTR(r->roots.items[i].name);
	return 0;
}

static int ways_run(struct ways_run *r)
{
	int err = ways_find_kept(r);

	free(r->left);
	r->left = NULL;
	err = err ?: ways_find_roots(r);
	err = err ?: ways_find_alone(r);
	free(r->kept);
	r->kept = NULL;
	err = err ?: colours_find(r->how->names, r->how->reach, &r->roots, &r->colours);
	if (err)
		return err;
	r->out->of = malloc(((size_t)r->blocks + 1) * sizeof(*r->out->of));
	if (!r->out->of)
		return -ENOMEM;
	memset(r->out->of, 0xff, ((size_t)r->blocks + 1) * sizeof(*r->out->of));
	for (uint32_t i = 0; !err && i < r->blocks; i++)
		err = ways_follow(r, i);
	if (!err)
		ways_sum(r->out);
	return err ?: ways_take_names(r);
}

int ways_find(const struct ways_of *how, struct ways *out)
{
	struct ways_run r = {.how = how,
			     .out = out,
			     .blocks = (uint32_t)how->image->block_count,
			     .circle = NONE};
	const size_t n = (size_t)r.blocks + 1;
	int err = -ENOMEM;

	*out = (struct ways){0};
	r.holder = malloc(n * sizeof(*r.holder));
	r.kept = calloc(n, sizeof(*r.kept));
	r.left = calloc(n, sizeof(*r.left));
	if (r.holder && r.kept && r.left)
		err = ways_run(&r);
	free(r.holder);
	free(r.kept);
	free(r.left);
	free(r.words);
	free(r.track);
	free(r.alone);
	id_map_free(&r.by_key);
	colours_release(&r.colours);
	held_roots_free(&r.roots);
	return err;
}

void ways_release(struct ways *ways)
{
	for (size_t i = 0; i < ways->root_count; i++)
		free(ways->roots[i]);
	free(ways->roots);
	free(ways->items);
	free(ways->of);
	*ways = (struct ways){0};
}
