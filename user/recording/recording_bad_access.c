// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_bad_access.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/recording/recording_call.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_target.h"

/* Of one owner. */
#define MAX_BAD_ACCESSES (1u << 20)

enum bad_access_field {
	ACCESS_OWNER = MESSAGE_FIELD_TARGET, /* target, or number of a survey's process */
	ACCESS_NUMBER = 2,
	ACCESS_COUNT = 3, /* 0: it is none any more */
	ACCESS_KIND = 4,  /* numbers of strings, the names of JSON; left out: as described before */
	ACCESS_MODE = 5,
	ACCESS_OFFSET = 6, /* zigzag */
	ACCESS_BLOCK = 7,
	ACCESS_SIZE = 8,
	ACCESS_THREAD = 9,
	ACCESS_COMM = 10,
	ACCESS_VALUE = 11, /* plus 1; left out: not known */
	ACCESS_CALL = 12,  /* recording_call.c */
};

static const struct wire_number bad_access_numbers[] = {
	WIRE_NUMBER(ACCESS_COUNT, struct bad_access, count),
	WIRE_NUMBER(ACCESS_BLOCK, struct bad_access, block),
	WIRE_NUMBER(ACCESS_SIZE, struct bad_access, size),
	{0},
};

void recorded_bad_accesses_free(struct recorded_bad_accesses *list)
{
	free(list->items);
	id_map_free(&list->numbers);
	*list = (struct recorded_bad_accesses){0};
}

/* NULL when out of memory. */
static struct recorded_bad_access *bad_access_append(struct recorded_bad_accesses *list)
{
	if (!RESERVE_ITEM(list->items, list->count, list->room, 2))
		return NULL;
	list->items[list->count] = (struct recorded_bad_access){.bad.value = -1};
	return &list->items[list->count++];
}

/* ---- writing ------------------------------------------------------------------------------ */

/* As the first was: what comes later adds to the count. */
static bool bad_access_is_same(const struct bad_access *a, const struct bad_access *b)
{
	return recorded_calls_same(a->calls, b->calls, BAD_ACCESS_STACKS) && a->kind == b->kind &&
	       a->mode == b->mode && a->offset == b->offset && a->block == b->block &&
	       a->size == b->size && a->thread == b->thread && a->value == b->value &&
	       !strncmp(a->comm, b->comm, sizeof(a->comm));
}

static uint64_t bad_access_hash(const struct bad_access *bad)
{
	return recorded_calls_hash(bad->block ^ (uint64_t)bad->kind << 56, bad->calls,
				   BAD_ACCESS_STACKS);
}

/* Its number; a new one has no count yet. 0 or -ENOMEM. */
static int bad_access_number(struct recorded_bad_accesses *list, const struct bad_access *bad,
			     uint32_t *number)
{
	uint64_t hash = bad_access_hash(bad);
	struct recorded_bad_access *item;

	for (; id_map_get(&list->numbers, hash, number); hash++) {
		if (bad_access_is_same(&list->items[*number].bad, bad))
			return 0;
	}
	*number = (uint32_t)list->count;
	item = bad_access_append(list);
	if (!item || id_map_put(&list->numbers, hash, *number))
		return -ENOMEM;
	item->bad = *bad;
	item->bad.count = 0;
	for (int i = 0; i < BAD_ACCESS_STACKS; i++)
		item->bad.calls[i].frames = NULL; /* theirs may go */
	return 0;
}

static void bad_access_describe(struct recording_out *out, const struct recorded_bad_access *item)
{
	const struct bad_access *bad = &item->bad;
	struct wire *to = &out->chunk.body;

	recording_put_name(out, ACCESS_KIND, bad_access_kind_name(bad->kind));
	recording_put_name(out, ACCESS_MODE, access_mode_name(bad->mode));
	wire_sint(to, ACCESS_OFFSET, bad->offset);
	wire_put_numbers(to, bad_access_numbers, ACCESS_BLOCK, ACCESS_SIZE, bad);
	wire_uint(to, ACCESS_THREAD, bad->thread);
	wire_bytes(to, ACCESS_COMM, bad->comm, strnlen(bad->comm, sizeof(bad->comm)));
	if (bad->value >= 0)
		wire_uint(to, ACCESS_VALUE, (uint64_t)bad->value + 1);
	recording_put_calls(to, ACCESS_CALL, bad->calls, BAD_ACCESS_STACKS, item->stacks);
}

/* What the description is about to mention has to stand before it. */
static int bad_access_put_strings(struct recording_out *out, const struct bad_access *bad)
{
	const char *mode = access_mode_name(bad->mode);
	uint32_t id;
	int err = frame_table_string(out->table, bad_access_kind_name(bad->kind), &id);

	if (!err && mode)
		err = frame_table_string(out->table, mode, &id);
	return err ? err : recording_put_names(out);
}

static int bad_access_put(struct recording_out *out, struct bad_access_owner owner, uint32_t number,
			  struct recorded_bad_access *item, bool describe)
{
	int err = describe ? bad_access_put_strings(out, &item->bad) : 0;
	struct wire *to = &out->chunk.body;
	size_t mark;

	if (err)
		return err;
	item->bad.count = item->now;
	mark = wire_open(to, owner.message);
	wire_uint(to, ACCESS_OWNER, owner.number);
	wire_uint(to, ACCESS_NUMBER, number);
	wire_uint(to, ACCESS_COUNT, item->now);
	if (describe)
		bad_access_describe(out, item);
	wire_close(to, mark);
	return 0;
}

/* 0 or -errno. */
static int bad_access_note(struct recording_out *out, struct bad_access_owner owner,
			   struct recorded_bad_accesses *list, const struct bad_access *bad)
{
	size_t known = list->count;
	struct recorded_bad_access *item;
	uint32_t number;
	bool describe;
	int err = bad_access_number(list, bad, &number);

	if (err)
		return err;
	item = &list->items[number];
	item->now += bad->count;
	describe = list->count > known;
	err = recording_name_calls(out, bad->calls, BAD_ACCESS_STACKS, item->stacks, &describe);
	return err || !describe ? err : bad_access_put(out, owner, number, item, true);
}

int recording_put_bad_accesses(struct recording_out *out, struct bad_access_owner owner,
			       struct recorded_bad_accesses *list, const struct bad_access *bad,
			       size_t count)
{
	int err = 0;

	for (size_t i = 0; i < list->count; i++)
		list->items[i].now = 0;
	for (size_t i = 0; !err && i < count; i++)
		err = bad_access_note(out, owner, list, &bad[i]);
	for (size_t i = 0; !err && i < list->count; i++) {
		if (list->items[i].now != list->items[i].bad.count)
			err = bad_access_put(out, owner, (uint32_t)i, &list->items[i], false);
	}
	return err;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* A kind that is not known here is none of those that are. */
static int bad_access_take_name(struct recording_in *in, const struct wire_field *f,
				struct bad_access *bad)
{
	const char *name;

	if (f->type != WIRE_VARINT || !recording_string(in, f->number, &name, NULL) || !name)
		return recording_refuse(in, "a bad access with a name that is not there");
	if (f->field == ACCESS_KIND)
		bad->kind = bad_access_kind_of(name);
	else
		bad->mode = access_mode_of(name);
	return 0;
}

static int64_t zigzag(uint64_t number)
{
	return (int64_t)(number >> 1 ^ (0 - (number & 1)));
}

static void bad_access_take_number(const struct wire_field *f, struct bad_access *bad)
{
	if (f->type != WIRE_VARINT)
		return;
	if (f->field == ACCESS_OFFSET)
		bad->offset = zigzag(f->number);
	else if (f->field == ACCESS_THREAD)
		bad->thread = (uint32_t)f->number;
	else if (f->field == ACCESS_VALUE)
		bad->value = f->number && f->number <= 256 ? (int)f->number - 1 : -1;
	else
		wire_take_number(bad_access_numbers, f, bad);
}

static void bad_access_take_comm(const struct wire_reader *text, struct bad_access *bad)
{
	size_t len = wire_left(text);

	memset(bad->comm, 0, sizeof(bad->comm));
	if (len && len <= sizeof(bad->comm))
		memcpy(bad->comm, text->at, len);
}

static int bad_access_take(struct recording_in *in, struct recorded_bad_access *item,
			   struct wire_reader message)
{
	struct wire_field f;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.field == ACCESS_CALL && f.type == WIRE_BYTES)
			err = recording_take_call(in, f.body, item->bad.calls, BAD_ACCESS_STACKS,
						  item->stacks);
		else if (f.field == ACCESS_COMM && f.type == WIRE_BYTES)
			bad_access_take_comm(&f.body, &item->bad);
		else if (f.field == ACCESS_KIND || f.field == ACCESS_MODE)
			err = bad_access_take_name(in, &f, &item->bad);
		else
			bad_access_take_number(&f, &item->bad);
	}
	return err ? err : got < 0 ? recording_refuse(in, "a bad access cannot be read") : 0;
}

int recording_take_bad_access_of(struct recording_in *in, struct recorded_bad_accesses *list,
				 struct wire_reader message)
{
	struct recorded_bad_access *item;
	uint64_t number = UINT64_MAX;
	struct wire_field f;

	for (struct wire_reader head = message; wire_next(&head, &f) > 0;) {
		if (f.field == ACCESS_NUMBER && f.type == WIRE_VARINT)
			number = f.number;
	}
	if (number > list->count || number >= MAX_BAD_ACCESSES)
		return recording_refuse(in, "a bad access's number is impossible");
	if (number == list->count) {
		item = bad_access_append(list);
		if (!item)
			return -ENOMEM;
		item->bad.kind = BAD_ACCESS_KINDS; /* until it is told */
	}
	return bad_access_take(in, &list->items[number], message);
}

int recording_take_bad_access(struct recording_in *in, struct read_target *t,
			      struct wire_reader message)
{
	return recording_take_bad_access_of(in, &t->bad_accesses, message);
}

int recording_fill_bad_accesses(const struct recording_in *in,
				const struct recorded_bad_accesses *list, struct bad_access **out,
				size_t *count)
{
	struct bad_access *filled = NULL;
	size_t n = 0;

	if (list->count) {
		filled = calloc(list->count, sizeof(*filled));
		if (!filled)
			return -ENOMEM;
	}
	for (size_t i = 0; i < list->count; i++) {
		const struct recorded_bad_access *item = &list->items[i];

		/* A later version may have kinds that this one does not know. */
		if (!item->bad.count || item->bad.kind >= BAD_ACCESS_KINDS)
			continue;
		filled[n] = item->bad;
		recording_fill_calls(in, filled[n].calls, BAD_ACCESS_STACKS, item->stacks);
		n++;
	}
	bad_accesses_sort(filled, n);
	*out = filled;
	*count = n;
	return 0;
}
