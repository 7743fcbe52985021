// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_misuse.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/recording/recording_format.h"

/* Of one owner; the kernel's tables have fewer of all. */
#define MAX_MISUSES (1u << 20)

/* A misuse, and what the file has in place of some of its members. */
struct recorded_misuse {
	uint32_t owner, number;
	struct misuse misuse; /* without frames, which are a table's: */
	uint32_t stacks[MISUSE_CALLS];
	const char *kind, *mode, *alloc_family, *free_family; /* as JSON has them; NULL: unknown */
	int64_t offset;					      /* of address, from block */
	uint64_t value;					      /* plus 1; 0: not known */
	uint64_t now; /* writer: its count in the snapshot that is being written */
};

/* One of the calls that tell it. */
struct recorded_call {
	uint64_t which; /* misuse_call_of() */
	uint64_t stack_id, stack, end;
};

static const struct field call_fields[] = {
	FIELD_NUMBER(1, struct recorded_call, which),
	FIELD_FIXED(2, struct recorded_call, stack_id),
	FIELD_NUMBER(3, struct recorded_call, stack), /* number of its frames, 0: not known */
	FIELD_NUMBER(4, struct recorded_call, end),
	{0},
};

FIELD_OWN_FUNCTIONS(misuse_calls);

#define COUNTED                                                           \
	FIELD_SMALL(MESSAGE_FIELD_TARGET, struct recorded_misuse, owner), \
		FIELD_SMALL(2, struct recorded_misuse, number),           \
		FIELD_NUMBER(3, struct recorded_misuse, misuse.count) /* 0: it is none any more */

static const struct field counted_fields[] = {COUNTED, {0}};

const struct field recording_check_fields[] = {
	COUNTED,
	FIELD_STRING(4, struct recorded_misuse, kind),
	FIELD_STRING(5, struct recorded_misuse, alloc_family),
	FIELD_STRING(6, struct recorded_misuse, free_family),
	FIELD_NUMBER(7, struct recorded_misuse, misuse.address),
	FIELD_NUMBER(8, struct recorded_misuse, misuse.block),
	FIELD_NUMBER(9, struct recorded_misuse, misuse.size),
	FIELD_OWN_PARTS(10, misuse_calls, call_fields),
	{0},
};

const struct field recording_guard_fields[] = {
	COUNTED,
	FIELD_STRING(4, struct recorded_misuse, kind),
	FIELD_STRING(5, struct recorded_misuse, mode),
	FIELD_SIGNED(6, struct recorded_misuse, offset),
	FIELD_NUMBER(7, struct recorded_misuse, misuse.block),
	FIELD_NUMBER(8, struct recorded_misuse, misuse.size),
	FIELD_SMALL(9, struct recorded_misuse, misuse.thread),
	FIELD_CHARS(10, struct recorded_misuse, misuse.comm),
	FIELD_IF_ANY(11, struct recorded_misuse, value),
	FIELD_OWN_PARTS(12, misuse_calls, call_fields),
	{0},
};

static const struct field *misuse_fields(enum misuse_finder finder)
{
	return finder == MISUSE_BY_GUARD ? recording_guard_fields : recording_check_fields;
}

void recorded_misuses_free(struct recorded_misuses *list)
{
	free(list->items);
	id_map_free(&list->numbers);
	*list = (struct recorded_misuses){0};
}

/* NULL when out of memory. */
static struct recorded_misuse *misuse_append(struct recorded_misuses *list)
{
	if (!RESERVE_ITEM(list->items, list->count, list->room, 2))
		return NULL;
	list->items[list->count] = (struct recorded_misuse){0};
	return &list->items[list->count++];
}

/* ---- writing ------------------------------------------------------------------------------ */

static int put_misuse_calls(struct recording_out *out, unsigned number, const void *from)
{
	const struct recorded_misuse *item = from;
	int err = 0;

	for (int i = 0; !err && i < MISUSE_CALLS; i++) {
		enum misuse_call which = misuse_call_of(item->misuse.finder, i);
		const struct reported_call *call = &item->misuse.calls[which];
		struct recorded_call recorded = {.which = (unsigned)i,
						 .stack_id = call->stack_id,
						 .stack = item->stacks[which],
						 .end = call->end};

		if (call->known)
			err = fields_put_part(out, number, call_fields, &recorded);
	}
	return err;
}

/*
 * As the first was: what comes later adds to the count. Its block tells those apart whose stacks
 * have only turned out to be the same.
 */
static bool misuse_is_same(const struct misuse *a, const struct misuse *b)
{
	return misuse_same_calls(a, b) && a->kind == b->kind && a->address == b->address &&
	       a->block == b->block && a->size == b->size && a->alloc_family == b->alloc_family &&
	       a->free_family == b->free_family && a->mode == b->mode && a->thread == b->thread &&
	       a->value == b->value && !strncmp(a->comm, b->comm, sizeof(a->comm));
}

static uint64_t misuse_hash(const struct misuse *misuse)
{
	uint64_t hash = misuse->address ^ (uint64_t)misuse->kind << 56;

	for (int i = 0; i < MISUSE_CALLS; i++)
		hash = id_map_mix(hash ^ misuse->calls[i].stack_id);
	return hash;
}

static void misuse_record(struct recorded_misuse *item, const struct misuse *misuse)
{
	item->misuse = *misuse;
	item->misuse.count = 0;
	for (int i = 0; i < MISUSE_CALLS; i++)
		item->misuse.calls[i].frames = NULL; /* theirs may go */
	item->kind = misuse_kind_name(misuse->kind);
	item->mode = access_mode_name(misuse->mode);
	item->alloc_family = alloc_family_name(misuse->alloc_family);
	item->free_family = alloc_family_name(misuse->free_family);
	item->offset = misuse_offset(misuse);
	item->value = misuse->value >= 0 ? (uint64_t)misuse->value + 1 : 0;
}

/* *out: the one of the file that it is; *fresh: it has come only now. 0 or -ENOMEM. */
static int misuse_get(struct recorded_misuses *list, struct misuse_owner owner,
		      const struct misuse *misuse, struct recorded_misuse **out, bool *fresh)
{
	uint64_t hash = misuse_hash(misuse);
	struct recorded_misuse *item;
	uint32_t number;

	*fresh = false;
	for (; id_map_get(&list->numbers, hash, &number); hash++) {
		*out = &list->items[number];
		if (misuse_is_same(&(*out)->misuse, misuse))
			return 0;
	}
	number = (uint32_t)list->count;
	*out = item = misuse_append(list);
	if (!item || id_map_put(&list->numbers, hash, number))
		return -ENOMEM;
	misuse_record(item, misuse);
	item->owner = owner.number;
	item->number = number;
	*fresh = true;
	return 0;
}

/* The numbers of those stacks that have got their frames by now; *changed: there are some. */
static int misuse_name_calls(struct recording_out *out, const struct misuse *misuse,
			     struct recorded_misuse *item, bool *changed)
{
	for (int i = 0; i < MISUSE_CALLS; i++) {
		const struct reported_call *call = &misuse->calls[i];
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

/* 0 or -errno. */
static int misuse_note(struct recording_out *out, struct misuse_owner owner,
		       struct recorded_misuses *list, const struct misuse *misuse)
{
	struct recorded_misuse *item;
	bool describe;
	int err = misuse_get(list, owner, misuse, &item, &describe);

	if (err)
		return err;
	item->now += misuse->count;
	err = misuse_name_calls(out, misuse, item, &describe);
	if (err || !describe)
		return err;
	item->misuse.count = item->now;
	return recording_put_message(out, owner.message, misuse_fields(owner.finder), item);
}

int recording_put_misuses(struct recording_out *out, struct misuse_owner owner,
			  struct recorded_misuses *list, const struct misuse_list *now)
{
	int err = 0;

	for (size_t i = 0; i < list->count; i++)
		list->items[i].now = 0;
	for (size_t i = 0; !err && i < now->count; i++)
		err = misuse_note(out, owner, list, &now->items[i]);
	for (size_t i = 0; !err && i < list->count; i++) {
		struct recorded_misuse *item = &list->items[i];

		if (item->now == item->misuse.count)
			continue;
		item->misuse.count = item->now;
		err = recording_put_message(out, owner.message, counted_fields, item);
	}
	return err;
}

/* ---- reading ------------------------------------------------------------------------------ */

static int take_misuse_calls(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct recorded_call recorded = {.which = UINT64_MAX, .end = UINT64_MAX};
	struct recorded_misuse *item = to;
	enum misuse_call which;
	uint32_t stack;
	int err = f->type == WIRE_BYTES ? fields_take(in, call_fields, f->body, &recorded,
						      "a call cannot be read")
					: 0;

	if (err)
		return err;
	if (!recording_stack(in, recorded.stack, &stack))
		return recording_refuse(in, "a call with a stack that is not there");
	/* A later version may know more of them. */
	if (recorded.which >= MISUSE_CALLS)
		return 0;
	which = misuse_call_of(item->misuse.finder, (int)recorded.which);
	item->misuse.calls[which] =
		(struct reported_call){.known = true,
				       .stack_id = recorded.stack_id,
				       .end = recording_stack_end(&in->header, recorded.end)};
	item->stacks[which] = stack;
	return 0;
}

int recording_take_misuse(struct recording_in *in, enum misuse_finder finder,
			  struct recorded_misuses *list, struct wire_reader message)
{
	struct recorded_misuse head = {.number = UINT32_MAX};
	struct recorded_misuse *item;
	int err = fields_take(in, counted_fields, message, &head, "a misuse cannot be read");

	if (err)
		return err;
	if (head.number > list->count || head.number >= MAX_MISUSES)
		return recording_refuse(in, "a misuse's number is impossible");
	item = head.number < list->count ? &list->items[head.number] : misuse_append(list);
	if (!item)
		return -ENOMEM;
	item->misuse.finder = finder;
	return fields_take(in, misuse_fields(finder), message, item, "a misuse cannot be read");
}

/* What the file has in place of members. */
static struct misuse misuse_recorded(const struct recorded_misuse *item)
{
	struct misuse misuse = item->misuse;

	misuse.kind = item->kind ? misuse_kind_of(misuse.finder, item->kind) : MISUSE_KINDS;
	misuse.mode = item->mode ? access_mode_of(item->mode) : ACCESS_UNKNOWN;
	misuse.alloc_family = item->alloc_family ? alloc_family_of(item->alloc_family) : FAMILY_ANY;
	misuse.free_family = item->free_family ? alloc_family_of(item->free_family) : FAMILY_ANY;
	if (misuse.finder == MISUSE_BY_GUARD)
		misuse.address = misuse.block + (uint64_t)item->offset;
	misuse.value = item->value && item->value <= 256 ? (int)item->value - 1 : -1;
	return misuse;
}

/* Can it be shown? A later version may have kinds and families that this one does not know. */
static bool misuse_is_known(const struct misuse *misuse)
{
	return misuse->count && misuse->kind < MISUSE_KINDS &&
	       (misuse->kind != MISUSE_MISMATCH || (misuse->alloc_family && misuse->free_family));
}

int recording_fill_misuses(const struct recording_in *in, const struct recorded_misuses *list,
			   struct misuse_list *out)
{
	*out = (struct misuse_list){.items = list->count ? calloc(list->count, sizeof(*out->items))
							 : NULL};
	if (list->count && !out->items)
		return -ENOMEM;
	for (size_t i = 0; i < list->count; i++) {
		const struct recorded_misuse *item = &list->items[i];
		struct misuse misuse = misuse_recorded(item);

		if (!misuse_is_known(&misuse))
			continue;
		for (int call = 0; call < MISUSE_CALLS; call++) {
			struct reported_call *c = &misuse.calls[call];

			if (item->stacks[call])
				c->frames = frame_table_stack_at(in->table, item->stacks[call],
								 &c->frame_count);
		}
		out->items[out->count++] = misuse;
	}
	misuses_sort(out->items, out->count);
	return 0;
}
