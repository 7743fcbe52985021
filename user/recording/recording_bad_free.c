// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_bad_free.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
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

enum call_field {
	CALL_WHICH = 1, /* enum bad_free_stack */
	CALL_STACK_ID = 2,
	CALL_STACK = 3, /* number of its frames, 0: not known */
	CALL_END = 4,
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
	if (!RESERVE_ITEM(list->items, list->count, list->room, 16))
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
	for (int i = 0; i < BAD_FREE_STACKS; i++) {
		if (a->calls[i].known != b->calls[i].known ||
		    a->calls[i].stack_id != b->calls[i].stack_id)
			return false;
	}
	return a->kind == b->kind && a->alloc_family == b->alloc_family &&
	       a->free_family == b->free_family && a->address == b->address &&
	       a->block == b->block && a->size == b->size;
}

static uint64_t bad_free_hash(const struct bad_free *bad)
{
	uint64_t hash = bad->address ^ (uint64_t)bad->kind << 56;

	for (int i = 0; i < BAD_FREE_STACKS; i++)
		hash = id_map_mix(hash ^ bad->calls[i].stack_id);
	return hash;
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

/* The numbers of the stacks that have got their frames. 0 or -errno. */
static int bad_free_name_stacks(struct recording_out *out, struct recorded_bad_free *item,
				const struct bad_free *now, bool *changed)
{
	for (int i = 0; i < BAD_FREE_STACKS; i++) {
		const struct reported_call *call = &now->calls[i];
		int err;

		if (item->stacks[i] || !call->frames || !call->frame_count)
			continue;
		err = frame_table_stack(out->table, call->frames, call->frame_count,
					&item->stacks[i]);
		if (err)
			return err;
		*changed = true;
	}
	return 0;
}

/* The names are in the table: bad_free_put_strings(). */
static void bad_free_put_name(struct recording_out *out, unsigned field, const char *name)
{
	uint32_t id;

	if (name && !frame_table_string(out->table, name, &id))
		wire_uint(&out->chunk.body, field, id);
}

static void bad_free_describe(struct recording_out *out, const struct recorded_bad_free *item)
{
	const struct bad_free *bad = &item->bad;
	struct wire *to = &out->chunk.body;

	bad_free_put_name(out, BAD_KIND, bad_free_kind_name(bad->kind));
	bad_free_put_name(out, BAD_ALLOC_FAMILY, alloc_family_name(bad->alloc_family));
	bad_free_put_name(out, BAD_FREE_FAMILY, alloc_family_name(bad->free_family));
	wire_put_numbers(to, bad_free_numbers, BAD_ADDRESS, BAD_SIZE, bad);
	for (int i = 0; i < BAD_FREE_STACKS; i++) {
		size_t mark;

		if (!bad->calls[i].known)
			continue;
		mark = wire_open(to, BAD_CALL);
		wire_uint(to, CALL_WHICH, (unsigned)i);
		wire_fixed64(to, CALL_STACK_ID, bad->calls[i].stack_id);
		wire_uint(to, CALL_STACK, item->stacks[i]);
		wire_uint(to, CALL_END, bad->calls[i].end);
		wire_close(to, mark);
	}
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
		err = bad_free_name_stacks(out, item, bad, &describe);
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

static int bad_free_take_call(struct recording_in *in, struct wire_reader message,
			      struct recorded_bad_free *item)
{
	struct reported_call call = {.known = true};
	uint64_t which = BAD_FREE_STACKS, end = UINT64_MAX;
	uint32_t stack = 0;
	struct wire_field f;
	int got;

	while ((got = wire_next(&message, &f)) > 0) {
		if (f.type == WIRE_BYTES)
			continue;
		if (f.field == CALL_WHICH)
			which = f.number;
		else if (f.field == CALL_STACK_ID)
			call.stack_id = f.number;
		else if (f.field == CALL_END)
			end = f.number;
		else if (f.field == CALL_STACK && !recording_stack(in, f.number, &stack))
			return recording_refuse(in, "a bad free with a stack that is not there");
	}
	if (got < 0)
		return recording_refuse(in, "a bad free's call cannot be read");
	/* A later version may know more of them. */
	if (which >= BAD_FREE_STACKS)
		return 0;
	call.end = recording_stack_end(&in->header, end);
	item->bad.calls[which] = call;
	item->stacks[which] = stack;
	return 0;
}

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
			err = bad_free_take_call(in, f.body, item);
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
		for (int call = 0; call < BAD_FREE_STACKS; call++) {
			if (item->stacks[call])
				to->calls[call].frames =
					frame_table_stack_at(in->table, item->stacks[call],
							     &to->calls[call].frame_count);
		}
		s->bad_free_count++;
	}
	bad_frees_sort(s->bad_frees, s->bad_free_count);
	return 0;
}
