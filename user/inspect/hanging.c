// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/hanging.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/heap/heap_image.h"
#include "user/base/text.h"
#include "user/base/util.h"
#include "user/heap/ways.h"
#include "user/inspect/python_keys.h"
#include "user/model/id_map.h"

/* Groups whose holders are told, and ways that are worth a line: such a part of all, and no more of them. */
#define GROUPS_HELD 32
#define WAYS_SHARE  1000
#define WAYS_KEPT   1000

/* Steps of a path; between the first ones and the last ones it is cut. */
#define STEPS_MAX 64

struct hanging {
	const struct held_by *held;
	struct hanging_kinds *kinds;
	struct inspection *out;
	struct ways ways;
	struct python_name *named; /* by address: single objects of Python */
	size_t named_count;
};

/* What blocks of one way a group has. */
struct hanging_share {
	uint32_t group, way;
	struct amount held;
};

/* ---- kinds -------------------------------------------------------------------------------- */

static int hanging_size_order(const void *a, const void *b, void *ctx)
{
	const struct inspection *out = ctx;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const uint64_t size_x = out->groups[x].size, size_y = out->groups[y].size;

	return size_x != size_y ? (size_x < size_y ? -1 : 1) : x < y ? -1 : x > y;
}

/* How blocks begin says little of what hangs on what: the first of the groups of one size stands for all. */
int hanging_kinds_init(struct hanging_kinds *kinds, const struct packed *group_of,
		       const struct inspection *out)
{
	_cleanup_free_ uint32_t *sized = malloc((out->group_count + 1) * sizeof(*sized));
	size_t count = 0;

	*kinds = (struct hanging_kinds){.group_of = group_of, .out = out};
	kinds->of_group = malloc((out->group_count + 1) * sizeof(*kinds->of_group));
	if (!kinds->of_group || !sized)
		return -ENOMEM;
	for (size_t i = 0; i < out->group_count; i++) {
		kinds->of_group[i] = (uint32_t)i;
		if (out->groups[i].kind == GROUP_SIZE && out->groups[i].size)
			sized[count++] = (uint32_t)i;
	}
	qsort_r(sized, count, sizeof(*sized), hanging_size_order, (void *)out);
	for (size_t i = 1; i < count; i++) {
		if (out->groups[sized[i]].size == out->groups[sized[i - 1]].size)
			kinds->of_group[sized[i]] = kinds->of_group[sized[i - 1]];
	}
	return 0;
}

void hanging_kinds_release(struct hanging_kinds *kinds)
{
	free(kinds->of_group);
	*kinds = (struct hanging_kinds){0};
}

uint32_t hanging_kind(void *ctx, uint32_t block)
{
	const struct hanging_kinds *kinds = ctx;

	return kinds->of_group[packed_get(kinds->group_of, block)];
}

static uint32_t hanging_kind_of(void *ctx, uint32_t block)
{
	return hanging_kind(((struct hanging *)ctx)->kinds, block);
}

/* An interpreter's dictionary below another one is a module, a class, a cache: each is its own. */
static bool hanging_is_alone(void *ctx, uint32_t kind)
{
	const struct hanging *h = ctx;

	return h->out->groups[kind].kind == GROUP_PYTHON;
}

/* ---- names -------------------------------------------------------------------------------- */

static char *hanging_kind_name(const struct hanging *h, const struct way *way)
{
	const struct inspected_group *g = &h->out->groups[way->kind];
	char human[FORMAT_BYTES_MAX], *name = NULL;
	uint64_t size = g->size;

	if (g->kind != GROUP_SIZE)
		return inspected_group_label(g);
	if (way->block != UINT32_MAX)
		size = heap_block_at(h->held->image, way->block).size;
	if (!size)
		return strdup("blocks of other sizes");
	format_bytes(human, size);
	if (asprintf(&name, way->block != UINT32_MAX ? "a block of %s" : "blocks of %s", human) < 0)
		return NULL;
	return name;
}

/* It is one line, whatever the process has put into names. */
static char *hanging_one_line(const char *name)
{
	static const struct text_rules one_line = {.harmful = "?"};
	char *text = NULL;
	size_t len = 0;
	FILE *out = name ? open_memstream(&text, &len) : NULL;

	if (!out)
		return NULL;
	text_put(out, name, &one_line);
	if (!close_memstream(out))
		return text;
	free(text);
	return NULL;
}

static int hanging_named_order(const void *a, const void *b)
{
	const struct python_name *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* What each single object of Python is called, by a dictionary that has it. 0 or -ENOMEM. */
static int hanging_find_names(struct hanging *h)
{
	const struct heap_image *image = h->held->image;
	size_t keys = 0;

	while (keys < h->out->group_count &&
	       (h->out->groups[keys].kind != GROUP_PYTHON || !h->out->groups[keys].name ||
		strcmp(h->out->groups[keys].name, "dict (keys)") != 0))
		keys++;
	if (keys == h->out->group_count)
		return 0;
	h->named = calloc((size_t)h->ways.count + 1, sizeof(*h->named));
	if (!h->named)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->ways.count; i++) {
		const struct way *way = &h->ways.items[i];

		if (way->up == WAY_NONE || way->block == UINT32_MAX ||
		    h->out->groups[way->kind].kind != GROUP_PYTHON)
			continue;
		h->named[h->named_count++] = (struct python_name){
			.start = heap_block_address(image, way->block),
			.end = heap_block_end(image, way->block),
			.block = way->block,
		};
	}
	qsort(h->named, h->named_count, sizeof(*h->named), hanging_named_order);
	python_names_find(image, h->kinds->group_of, keys, h->named, h->named_count);
	return 0;
}

/* 'Python dict "shop.SESSIONS"'. NULL: it has no name, or out of memory. */
static char *hanging_keyed(const struct hanging *h, const struct way *way)
{
	char *label, *name = NULL;

	for (size_t i = 0; way->block != UINT32_MAX && i < h->named_count; i++) {
		if (h->named[i].block != way->block || !*h->named[i].key)
			continue;
		label = hanging_kind_name(h, way);
		if (!label || asprintf(&name, "%s \"%s%s%s\"", label, h->named[i].module,
				       *h->named[i].module ? "." : "", h->named[i].key) < 0)
			name = NULL;
		free(label);
		return name;
	}
	return NULL;
}

static char *hanging_name(const struct hanging *h, const struct way *way)
{
	char *label, *name;

	if (way->up == WAY_NONE)
		return strdup(h->ways.roots[way->kind]);
	label = hanging_keyed(h, way) ?: hanging_kind_name(h, way);
	name = hanging_one_line(label);
	free(label);
	return name;
}

/* The way as the model has it, without what it hangs on. */
static int hanging_describe(const struct hanging *h, const struct way *way,
			    struct inspected_way *out)
{
	*out = (struct inspected_way){
		.up = way->up == WAY_NONE ? SIZE_MAX : way->up,
		.name = hanging_name(h, way),
		.linked = way->linked,
		.single = way->block != UINT32_MAX,
		.lost = way->up == WAY_NONE && way->kind == h->ways.lost,
		.own = way->own,
		.retained = way->retained,
		.alone = way->alone,
		.shared = way->shared,
	};
	return out->name ? 0 : -ENOMEM;
}

/* ---- ways --------------------------------------------------------------------------------- */

static int hanging_least_order(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x > y ? -1 : x < y;
}

/* From how many bytes on a way is kept. 0 or -ENOMEM. */
static int hanging_least(const struct hanging *h, uint64_t *least)
{
	_cleanup_free_ uint64_t *bytes = NULL;

	*least = h->ways.whole.bytes / WAYS_SHARE;
	if (h->ways.count <= WAYS_KEPT)
		return 0;
	bytes = malloc(h->ways.count * sizeof(*bytes));
	if (!bytes)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->ways.count; i++)
		bytes[i] = h->ways.items[i].retained.bytes;
	qsort(bytes, h->ways.count, sizeof(*bytes), hanging_least_order);
	if (bytes[WAYS_KEPT] + 1 > *least)
		*least = bytes[WAYS_KEPT] + 1;
	return 0;
}

/* What holds a way keeps as much as that, so it is there before. */
static int hanging_take_ways(struct hanging *h)
{
	struct inspection *out = h->out;
	_cleanup_free_ size_t *place = calloc(h->ways.count + 1, sizeof(*place));
	uint64_t least;
	int err = place ? hanging_least(h, &least) : -ENOMEM;

	out->ways = err ? NULL : calloc(WAYS_KEPT + 1, sizeof(*out->ways));
	if (!out->ways)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < h->ways.count && out->way_count < WAYS_KEPT; i++) {
		const struct way *way = &h->ways.items[i];
		struct inspected_way *to = &out->ways[out->way_count];

		if (!way->retained.count || way->retained.bytes < least)
			continue;
		err = hanging_describe(h, way, to);
		if (way->up != WAY_NONE)
			to->up = place[way->up];
		place[i] = out->way_count;
		out->way_count += !err;
	}
	return err;
}

/* ---- what holds groups -------------------------------------------------------------------- */

static size_t hanging_choose(const struct inspection *out, uint32_t chosen[static GROUPS_HELD])
{
	size_t count = 0;

	for (size_t i = 0; i < out->group_count; i++) {
		const uint64_t bytes = out->groups[i].live.bytes;
		size_t at = count;

		while (at && out->groups[chosen[at - 1]].live.bytes < bytes)
			at--;
		if (at == GROUPS_HELD)
			continue;
		count += count < GROUPS_HELD;
		memmove(&chosen[at + 1], &chosen[at], (count - 1 - at) * sizeof(*chosen));
		chosen[at] = (uint32_t)i;
	}
	return count;
}

/* From the root on: what holds the blocks of the way, and not these. Of what is lost nobody. */
static int hanging_put_path(const struct hanging *h, uint32_t at, char **path)
{
	uint32_t steps[STEPS_MAX];
	size_t count = 0, len = 0;
	const char *separator = "";
	FILE *out = open_memstream(path, &len);
	int err = out ? 0 : -ENOMEM;

	for (at = h->ways.items[at].up; at != WAY_NONE; at = h->ways.items[at].up) {
		/* What is in the middle of a long one is left out. */
		if (count == STEPS_MAX)
			memmove(&steps[STEPS_MAX / 2], &steps[STEPS_MAX / 2 + 1],
				(STEPS_MAX / 2 - 1) * sizeof(*steps));
		count -= count == STEPS_MAX;
		steps[count++] = at;
	}
	while (!err && count) {
		struct inspected_way way;
		char *label = NULL;

		err = hanging_describe(h, &h->ways.items[steps[--count]], &way);
		if (!err)
			label = inspected_way_label(&way);
		err = err || label ? err : -ENOMEM;
		if (!err)
			fprintf(out, "%s%s", separator, label);
		separator = "\n";
		free(label);
		free(way.name);
	}
	return out && close_memstream(out) ? -ENOMEM : err;
}

static int hanging_share_order(const void *a, const void *b)
{
	const struct hanging_share *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->held.bytes != y->held.bytes)
		return x->held.bytes > y->held.bytes ? -1 : 1;
	return x->way < y->way ? -1 : x->way > y->way;
}

static int hanging_count(const struct hanging *h, const bool *chosen, struct hanging_share **shares,
			 size_t *count)
{
	struct id_map map = {0};
	size_t room = 0;
	int err = 0;

	for (uint32_t i = 0; !err && i < h->held->image->block_count; i++) {
		const uint32_t group = (uint32_t)packed_get(h->kinds->group_of, i);
		const struct amount one = {heap_block_at(h->held->image, i).size, 1};
		const uint64_t key = (uint64_t)group << 32 | h->ways.of[i];
		uint32_t at;

		if (!chosen[group])
			continue;
		if (!id_map_get(&map, key, &at)) {
			if (!RESERVE_ITEM(*shares, *count, room, 256)) {
				err = -ENOMEM;
				break;
			}
			at = (uint32_t)*count;
			(*shares)[(*count)++] = (struct hanging_share){group, h->ways.of[i], {0}};
			err = id_map_put(&map, key, at);
		}
		amount_add(&(*shares)[at].held, &one);
	}
	id_map_free(&map);
	return err;
}

/* Ways that are held alike are one holder: a list's blocks, and one of them that keeps much. */
static int hanging_add_holder(const struct hanging *h, const struct hanging_share *share)
{
	struct inspected_group *g = &h->out->groups[share->group];
	char *path = NULL;
	int err = hanging_put_path(h, share->way, &path);

	for (size_t i = 0; !err && i < g->holder_count; i++) {
		if (strcmp(g->holders[i].path, path) != 0)
			continue;
		amount_add(&g->holders[i].held, &share->held);
		free(path);
		return 0;
	}
	if (err || g->holder_count == INSPECTED_HOLDERS)
		free(path);
	else
		g->holders[g->holder_count++] = (struct inspected_holder){path, share->held};
	return err;
}

static int hanging_hold_groups(const struct hanging *h)
{
	_cleanup_free_ bool *chosen = calloc(h->out->group_count + 1, sizeof(*chosen));
	_cleanup_free_ struct hanging_share *shares = NULL;
	uint32_t best[GROUPS_HELD];
	size_t groups = hanging_choose(h->out, best), count = 0;
	int err;

	if (!chosen)
		return -ENOMEM;
	for (size_t i = 0; i < groups; i++)
		chosen[best[i]] = true;
	err = hanging_count(h, chosen, &shares, &count);
	if (!err && count)
		qsort(shares, count, sizeof(*shares), hanging_share_order);
	for (size_t i = 0; !err && i < count; i++) {
		if (h->out->groups[shares[i].group].holder_count < INSPECTED_HOLDERS)
			err = hanging_add_holder(h, &shares[i]);
	}
	return err;
}

int hanging_find(const struct held_by *held, struct reach *reach, struct hanging_kinds *kinds,
		 struct inspection *out)
{
	struct hanging h = {.held = held, .kinds = kinds, .out = out};
	const struct ways_of how = {
		.image = held->image,
		.reach = reach,
		.names = held,
		.ctx = &h,
		.kind = hanging_kind_of,
		.alone = hanging_is_alone,
	};
	int err = ways_find(&how, &h.ways);

	err = err ?: hanging_find_names(&h);
	err = err ?: hanging_take_ways(&h);
	err = err ?: hanging_hold_groups(&h);
	ways_release(&h.ways);
	free(h.named);
	return err;
}
