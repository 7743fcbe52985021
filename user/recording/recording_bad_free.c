// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_bad_free.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/recording/recording_call.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_target.h"

/* Of one target; the kernel's table has 16,384 of all. */
#define MAX_BAD_FREES (1u << 20)

enum bad_free_field {
	BAD_TARGET = MESSAGE_FIELD_TARGET,
	BAD_NUMBER = 2,
	BAD_COUNT = 3, /* 0: it is none any more */
	BAD_KIND = 4,  /* numbers of strings, the names of JSON; left out: as described before */
	BAD_ALLOC_FAMILY = 5,
	BAD_FREE_FAMILY = 6,
	BAD_ADDRESS = 7,
	BAD_BLOCK = 8,
	BAD_SIZE = 9,
	BAD_CALL = 10,
};

static const struct wire_number bad_free_numbers[] = {
	WIRE_NUMBER(BAD_COUNT, struct bad_free, count),
	WIRE_NUMBER(BAD_ADDRESS, struct bad_free, address),
	WIRE_NUMBER(BAD_BLOCK, struct bad_free, block),
	WIRE_NUMBER(BAD_SIZE, struct bad_free, size),
	{0},
};

void recorded_bad_frees_free(struct recorded_bad_frees *list)
{
	free(list->items);
	id_map_free(&list->numbers);
	*list = (struct recorded_bad_frees){0};
}

/* NULL when out of memory. */
static struct recorded_bad_free *bad_free_append(struct recorded_bad_frees *list)
{
	if (!RESERVE_ITEM(list->items, list->count, list->room, 2))
		return NULL;
	list->items[list->count] = (struct recorded_bad_free){0};
	return &list->items[list->count++];
}

/* ---- writing ------------------------------------------------------------------------------ */

/*
 * All of one kind with the same stacks are one; the first one's block tells those apart whose
 * stacks have only turned out to be the same.
 */
static bool bad_free_is_same(const struct bad_free *a, const struct bad_free *b)
{
	return recorded_calls_same(a->calls, b->calls, BAD_FREE_STACKS) && a->kind == b->kind &&
	       a->alloc_family == b->alloc_family && a->free_family == b->free_family &&
	       a->address == b->address && a->block == b->block && a->size == b->size;
}

static uint64_t bad_free_hash(const struct bad_free *bad)
{
	return recorded_calls_hash(bad->address ^ (uint64_t)bad->kind << 56, bad->calls,
				   BAD_FREE_STACKS);
}

/* Its number; a new one has no count yet. 0 or -ENOMEM. */
static int bad_free_number(struct recorded_bad_frees *list, const struct bad_free *bad,
			   uint32_t *number)
{
	uint64_t hash = bad_free_hash(bad);
	struct recorded_bad_free *item;

	for (; id_map_get(&list->numbers, hash, number); hash++) {
		if (bad_free_is_same(&list->items[*number].bad, bad))
			return 0;
	}
	*number = (uint32_t)list->count;
	item = bad_free_append(list);
	if (!item || id_map_put(&list->numbers, hash, *number))
		return -ENOMEM;
	item->bad = *bad;
	item->bad.count = 0;
	for (int i = 0; i < BAD_FREE_STACKS; i++)
		item->bad.calls[i].frames = NULL; /* theirs may go */
	return 0;
}

static void bad_free_describe(struct recording_out *out, const struct recorded_bad_free *item)
{
	const struct bad_free *bad = &item->bad;
	struct wire *to = &out->chunk.body;

	recording_put_name(out, BAD_KIND, bad_free_kind_name(bad->kind));
	recording_put_name(out, BAD_ALLOC_FAMILY, alloc_family_name(bad->alloc_family));
	recording_put_name(out, BAD_FREE_FAMILY, alloc_family_name(bad->free_family));
	wire_put_numbers(to, bad_free_numbers, BAD_ADDRESS, BAD_SIZE, bad);
	recording_put_calls(to, BAD_CALL, bad->calls, BAD_FREE_STACKS, item->stacks);
}

/* What the description is about to mention has to stand before it. */
static int bad_free_put_strings(struct recording_out *out, const struct bad_free *bad)
{
	const char *const names[] = {bad_free_kind_name(bad->kind),
				     alloc_family_name(bad->alloc_family),
				     alloc_family_name(bad->free_family)};
	int err = 0;
	uint32_t id;

	for (size_t i = 0; !err && i < ARRAY_SIZE(names); i++)
		err = frame_table_string(out->table, names[i], &id);
	return err ? err : recording_put_names(out);
}

static int bad_free_put(struct recording_out *out, uint32_t target, uint32_t number,
			struct recorded_bad_free *item, bool describe)
{
	int err = describe ? bad_free_put_strings(out, &item->bad) : 0;
	struct wire *to = &out->chunk.body;
	size_t mark;

	if (err)
		return err;
	item->bad.count = item->now;
	mark = wire_open(to, MESSAGE_BAD_FREE);
	wire_uint(to, BAD_TARGET, target);
	wire_uint(to, BAD_NUMBER, number);
	wire_uint(to, BAD_COUNT, item->now);
	if (describe)
		bad_free_describe(out, item);
	wire_close(to, mark);
	return 0;
}

int recording_put_bad_frees(struct recording_out *out, uint32_t target,
			    struct recorded_bad_frees *list, const struct report *report)
{
	int err = 0;

	for (size_t i = 0; i < list->count; i++)
		list->items[i].now = 0;
	for (size_t i = 0; !err && i < report->snapshot->bad_free_count; i++) {
		const struct bad_free *bad = &report->bad_frees[i];
		struct recorded_bad_free *item;
		bool describe = false;
		size_t known = list->count;
		uint32_t number;

		err = bad_free_number(list, bad, &number);
		if (err)
			return err;
		item = &list->items[number];
		item->now += bad->count;
		describe = list->count > known;
		err = recording_name_calls(out, bad->calls, BAD_FREE_STACKS, item->stacks,
					   &describe);
		if (!err && describe)
			err = bad_free_put(out, target, number, item, true);
	}
	for (size_t i = 0; !err && i < list->count; i++) {
		if (list->items[i].now != list->items[i].bad.count)
			err = bad_free_put(out, target, (uint32_t)i, &list->items[i], false);
	}
	return err;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* A kind or family that is not known here is none of those that are. */
static int bad_free_take_name(struct recording_in *in, const struct wire_field *f,
			      struct bad_free *bad)
{
	const char *name;

	if (f->type != WIRE_VARINT || !recording_string(in, f->number, &name, NULL) || !name)
		return recording_refuse(in, "a bad free with a name that is not there");
	if (f->field == BAD_KIND)
		bad->kind = bad_free_kind_of(name);
	else if (f->field == BAD_ALLOC_FAMILY)
		bad->alloc_family = alloc_family_of(name);
	else
		bad->free_family = alloc_family_of(name);
	return 0;
}

int recording_take_bad_free(struct recording_in *in, struct read_target *t,
			    struct wire_reader message)
{
	struct recorded_bad_frees *list = &t->bad_frees;
	struct recorded_bad_free *item;
	uint64_t number = UINT64_MAX;
	struct wire_field f;
	int got, err = 0;

	for (struct wire_reader head = message; wire_next(&head, &f) > 0;) {
		if (f.field == BAD_NUMBER && f.type == WIRE_VARINT)
			number = f.number;
	}
	if (number > list->count || number >= MAX_BAD_FREES)
		return recording_refuse(in, "a bad free's number is impossible");
	if (number == list->count) {
		item = bad_free_append(list);
		if (!item)
			return -ENOMEM;
		item->bad.kind = BAD_FREE_KINDS; /* until it is told */
	}
	item = &list->items[number];
	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.field == BAD_CALL && f.type == WIRE_BYTES)
			err = recording_take_call(in, f.body, item->bad.calls, BAD_FREE_STACKS,
						  item->stacks);
		else if (f.field >= BAD_KIND && f.field <= BAD_FREE_FAMILY)
			err = bad_free_take_name(in, &f, &item->bad);
		else
			wire_take_number(bad_free_numbers, &f, &item->bad);
	}
	return err ? err : got < 0 ? recording_refuse(in, "a bad free cannot be read") : 0;
}

/* Can it be shown? A later version may have kinds and families that this one does not know. */
static bool bad_free_is_known(const struct bad_free *bad)
{
	return bad->count && bad->kind < BAD_FREE_KINDS &&
	       (bad->kind != BAD_FREE_MISMATCH || (bad->alloc_family && bad->free_family));
}

int recording_fill_bad_frees(const struct recording_in *in, const struct recorded_bad_frees *list,
			     struct snapshot *s)
{
	if (!list->count)
		return 0;
	s->bad_frees = calloc(list->count, sizeof(*s->bad_frees));
	if (!s->bad_frees)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++) {
		const struct recorded_bad_free *item = &list->items[i];
		struct bad_free *to = &s->bad_frees[s->bad_free_count];

		if (!bad_free_is_known(&item->bad))
			continue;
		*to = item->bad;
		recording_fill_calls(in, to->calls, BAD_FREE_STACKS, item->stacks);
		s->bad_free_count++;
	}
	bad_frees_sort(s->bad_frees, s->bad_free_count);
	return 0;
}
