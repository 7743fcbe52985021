// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/keepers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/heap/keeping.h"

/* Of each allocator that many kinds, and that many stacks, are told. */
#define KEEPERS_TOLD 200
/* Of so many kinds it is told with which they keep memory. */
#define PARTNERS 64

#define NONE UINT32_MAX

/* What blocks of one kind or stack keep of one allocator's memory. */
struct keepers_charge {
	uint64_t kept, alone, blocks;
	uint32_t last; /* the block that was counted last */
	uint32_t oldest_ms;
};

/* By kind, or by stack: `count` keys. */
struct keepers_table {
	struct keepers_charge *charges;
	uint32_t count;
	uint32_t (*key)(void *ctx, uint32_t block);
	void *ctx;
};

struct keepers {
	const struct heap_image *image;
	const struct inventory *inventory;
	const struct inspect_traced *traced;
	struct inspection *out;
	struct hanging_kinds *kinds;
	size_t room;
};

/* The blocks of a unit. */
struct keepers_blocks {
	uint32_t first;
	uint64_t count;
};

/* ---- units -------------------------------------------------------------------------------- */

/* `at`: the first block that does not begin before the unit. */
static struct keepers_blocks keepers_in(const struct heap_image *image,
					const struct keeping_unit *unit, size_t at)
{
	const uint64_t end = unit->start + unit->bytes;
	struct keepers_blocks in = {.first = (uint32_t)at};

	while (at < image->block_count && heap_block_address(image, at) < end)
		at++;
	in.count = at - in.first;
	if (unit->reached && in.first) {
		in.first--;
		in.count++;
	}
	/* A block that begins with the next page has its header in this one. */
	if (!in.count && !unit->cached && at < image->block_count &&
	    heap_block_address(image, at) == end)
		in.count = 1;
	return in;
}

typedef void (*keepers_fn)(void *ctx, const struct keeping_unit *unit,
			   const struct keepers_blocks *in);

/* Calls for each unit of the allocator. */
static void keepers_each_unit(const struct keepers *k, size_t allocator, keepers_fn fn, void *ctx)
{
	const struct keeping *keeping = k->inventory->keeping;
	size_t at = 0;

	for (size_t i = 0; i < keeping->count; i++) {
		const struct keeping_unit *unit = &keeping->units[i];
		struct keepers_blocks in;

		if (unit->allocator != allocator)
			continue;
		while (at < k->image->block_count && heap_block_address(k->image, at) < unit->start)
			at++;
		in = keepers_in(k->image, unit, at);
		fn(ctx, unit, &in);
	}
}

/* ---- charging ----------------------------------------------------------------------------- */

static uint32_t keepers_kind(void *ctx, uint32_t block)
{
	return hanging_kind(((struct keepers *)ctx)->kinds, block);
}

/* Stacks by number; behind them what is of none. */
static uint32_t keepers_stack(void *ctx, uint32_t block)
{
	const struct keepers *k = ctx;
	const uint32_t stack = heap_block_at(k->image, block).stack;

	return stack < k->traced->stack_count ? stack : k->traced->stack_count;
}

struct keepers_charging {
	const struct keepers *k;
	struct keepers_table *table;
	struct inspected_allocator *shown; /* NULL: its sums have been made */
};

/* Each has an equal part; what does not divide goes to the last ones, a byte each. */
static void keepers_charge(const struct keepers_charging *c, const struct keeping_unit *unit,
			   const struct keepers_blocks *in)
{
	const uint32_t only = c->table->key(c->table->ctx, in->first);
	bool alone = true;

	for (uint64_t i = 1; alone && i < in->count; i++)
		alone = c->table->key(c->table->ctx, in->first + (uint32_t)i) == only;
	for (uint64_t i = 0; i < in->count; i++) {
		const uint32_t block = in->first + (uint32_t)i;
		struct keepers_charge *to = &c->table->charges[c->table->key(c->table->ctx, block)];
		const uint64_t share =
			unit->free * (i + 1) / in->count - unit->free * i / in->count;
		const uint32_t age_ms = heap_block_at(c->k->image, block).age_ms;

		to->kept += share;
		to->alone += alone ? share : 0;
		to->blocks += !to->blocks || to->last != block;
		to->last = block;
		to->oldest_ms = age_ms > to->oldest_ms ? age_ms : to->oldest_ms;
	}
}

static void keepers_take_unit(void *ctx, const struct keeping_unit *unit,
			      const struct keepers_blocks *in)
{
	const struct keepers_charging *c = ctx;
	struct inspected_allocator *shown = c->shown;

	if (unit->unknown) {
		if (shown)
			shown->untold_resident += unit->free;
		return;
	}
	if (!in->count) {
		if (shown && unit->cached)
			shown->cached_resident += unit->free;
		return;
	}
	if (shown && unit->free) {
		shown->kept_units++;
		shown->kept_resident += unit->free;
	}
	if (unit->free)
		keepers_charge(c, unit, in);
}

/* ---- the largest -------------------------------------------------------------------------- */

static int keepers_order(const void *a, const void *b, void *ctx)
{
	const struct keepers_charge *charges = ctx;
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	if (charges[x].kept != charges[y].kept)
		return charges[x].kept > charges[y].kept ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Keys that keep some, the most first; *count of them. NULL when out of memory. */
static uint32_t *keepers_largest(const struct keepers_table *table, size_t *count)
{
	uint32_t *keys = malloc(((size_t)table->count + 1) * sizeof(*keys));

	*count = 0;
	for (uint32_t i = 0; keys && i < table->count; i++) {
		if (table->charges[i].kept)
			keys[(*count)++] = i;
	}
	if (keys)
		qsort_r(keys, *count, sizeof(*keys), keepers_order, table->charges);
	*count = *count < KEEPERS_TOLD ? *count : KEEPERS_TOLD;
	return keys;
}

/* Which of the first keys are in a unit together, by bytes. */
struct keepers_pairs {
	const struct keepers_table *table;
	uint8_t *number; /* by key: 1 more than its place among the first; 0: it is none */
	uint64_t shared[PARTNERS][PARTNERS + 1]; /* the last: with any other one */
};

static void keepers_pair(void *ctx, const struct keeping_unit *unit,
			 const struct keepers_blocks *in)
{
	struct keepers_pairs *p = ctx;
	uint64_t there = 0;
	bool others = false;

	if (unit->unknown || in->count < 2)
		return;
	for (uint64_t i = 0; i < in->count; i++) {
		const uint32_t key = p->table->key(p->table->ctx, in->first + (uint32_t)i);

		if (p->number[key])
			there |= 1ull << (p->number[key] - 1);
		else
			others = true;
	}
	for (unsigned x = 0; x < PARTNERS; x++) {
		if (!(there >> x & 1))
			continue;
		for (unsigned y = 0; y < PARTNERS; y++) {
			if (y != x && there >> y & 1)
				p->shared[x][y] += unit->free;
		}
		p->shared[x][PARTNERS] += others ? unit->free : 0;
	}
}

/* Of the kinds in `keys`, which stand from out->keepers[first] on: with what they keep memory. */
static int keepers_find_partners(const struct keepers *k, const struct keepers_table *table,
				 size_t allocator, const uint32_t *keys, size_t count, size_t first)
{
	struct keepers_pairs *p = calloc(1, sizeof(*p));
	int err = p ? 0 : -ENOMEM;

	count = count < PARTNERS ? count : PARTNERS;
	if (p) {
		p->table = table;
		p->number = calloc((size_t)table->count + 1, sizeof(*p->number));
		err = p->number ? 0 : -ENOMEM;
	}
	for (size_t i = 0; !err && i < count; i++)
		p->number[keys[i]] = (uint8_t)(i + 1);
	if (!err)
		keepers_each_unit(k, allocator, keepers_pair, p);
	for (size_t i = 0; !err && i < count; i++) {
		size_t best = PARTNERS;

		for (size_t y = 0; y < count; y++)
			best = p->shared[i][y] > p->shared[i][best] ? y : best;
		if (best < PARTNERS)
			k->out->keepers[first + i].with = keys[best];
	}
	if (p)
		free(p->number);
	free(p);
	return err;
}

/* ---- what is told ------------------------------------------------------------------------- */

static int keepers_add(struct keepers *k, const struct keepers_table *table, size_t allocator,
		       uint32_t key)
{
	const struct keepers_charge *c = &table->charges[key];
	struct inspection *out = k->out;
	const bool by_stack = table->key == keepers_stack;
	const char *function = NULL;
	struct inspected_keeper *to;

	if (!RESERVE_ITEM(out->keepers, out->keeper_count, k->room, 64))
		return -ENOMEM;
	to = &out->keepers[out->keeper_count];
	*to = (struct inspected_keeper){
		.allocator = allocator,
		.group = by_stack ? SIZE_MAX : key,
		.kept = c->kept,
		.alone = c->alone,
		.blocks = c->blocks,
		.with = SIZE_MAX,
		.oldest_ms = by_stack ? c->oldest_ms : 0,
	};
	if (by_stack && key < k->traced->stack_count && k->traced->stack)
		k->traced->stack(k->traced->ctx, key, &to->stack_id, &function);
	to->function = function ? strdup(function) : NULL;
	if (function && !to->function)
		return -ENOMEM;
	out->keeper_count++;
	return 0;
}

static int keepers_tell(struct keepers *k, const struct keepers_table *table, size_t allocator)
{
	const size_t first = k->out->keeper_count;
	size_t count;
	_cleanup_free_ uint32_t *keys = keepers_largest(table, &count);
	int err = keys ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < count; i++)
		err = keepers_add(k, table, allocator, keys[i]);
	if (!err && count && table->key == keepers_kind)
		err = keepers_find_partners(k, table, allocator, keys, count, first);
	return err;
}

static int keepers_of(struct keepers *k, struct keepers_table *table, size_t allocator, bool sum)
{
	struct keepers_charging c = {
		.k = k,
		.table = table,
		.shown = sum ? &k->out->allocators[allocator] : NULL,
	};

	table->ctx = k;
	table->charges = calloc((size_t)table->count + 1, sizeof(*table->charges));
	if (!table->charges)
		return -ENOMEM;
	keepers_each_unit(k, allocator, keepers_take_unit, &c);
	return keepers_tell(k, table, allocator);
}

int keepers_find(const struct heap_image *image, const struct inventory *inventory,
		 struct hanging_kinds *kinds, const struct inspect_traced *traced,
		 struct inspection *out)
{
	struct keepers k = {.image = image,
			    .inventory = inventory,
			    .traced = traced,
			    .out = out,
			    .kinds = kinds};
	int err = 0;

	for (size_t i = 0; !err && i < out->allocator_count; i++) {
		struct keepers_table by_kind = {.key = keepers_kind,
						.count = (uint32_t)out->group_count};

		err = keepers_of(&k, &by_kind, i, true);
		free(by_kind.charges);
	}
	/* Of a sample it cannot be told whose the other blocks of a unit are. */
	for (size_t i = 0; !err && traced && !image->sample_bytes && i < out->allocator_count;
	     i++) {
		struct keepers_table by_stack = {.key = keepers_stack,
						 .count = traced->stack_count + 1};

		err = keepers_of(&k, &by_stack, i, false);
		free(by_stack.charges);
	}
	return err;
}
