// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/misuse/misuses.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include "bpf/abi.h"
#include "bpf/kinds.h"
#include "user/base/util.h"
#include "user/misuse/misuses_internal.h"
#include "user/stacks/slots.h"
#include "user/stacks/stacks.h"

/* A row of a finder's table. All keys have the same size and begin with the target's id. */
struct misuse_row {
	union {
		uint32_t target_id;
		struct bad_free_key check;
		struct bad_access_key guard;
	} key;
	union {
		struct bad_free_value check;
		struct bad_access_value guard;
	} value;
};
_Static_assert(sizeof(struct bad_free_key) == sizeof(struct bad_access_key), "ABI");

/* Numbers of bpf/guard.bpf.c */
_Static_assert(MISUSE_OVERFLOW == 0 && MISUSE_UNDERFLOW == 1 && MISUSE_USE_AFTER_FREE == 2 &&
		       MISUSE_SLACK_OVERWRITE == 3 && MISUSE_DOUBLE_FREE == 4 &&
		       MISUSE_INVALID_FREE == 5 && MISUSE_GUARDED_KINDS == GUARD_TOUCHED_AMID,
	       "ABI");

static const enum misuse_kind check_kinds[] = {
	[BAD_FREE_DOUBLE] = MISUSE_DOUBLE_FREE,
	[BAD_FREE_INSIDE] = MISUSE_INSIDE_BLOCK,
	[BAD_FREE_UNKNOWN] = MISUSE_NEVER_ALLOCATED,
	[BAD_FREE_MISMATCH] = MISUSE_MISMATCH,
};
_Static_assert(ARRAY_SIZE(check_kinds) == BAD_FREE_KINDS, "ABI");

/* `slots`: the counter slots of the calls, each of which stands for a stack. */
static void misuse_fill_calls(struct misuse *to, const struct misuses *misuses, uint32_t target_id,
			      const uint32_t slots[MISUSE_CALLS])
{
	for (int i = 0; i < MISUSE_CALLS; i++) {
		struct reported_call *call = &to->calls[i];
		const struct stack_entry *entry;
		const struct slot_info *info;

		if (slots[i] == ABI_NO_SLOT)
			continue;
		call->known = true;
		call->end = STACK_END_NO_MAPPING;
		if (slots[i] >= misuses->slots->options.max_stacks)
			continue;
		info = &misuses->slots->infos[slots[i]];
		call->stack_id = info->stack_id;
		call->end = info->end;
		entry = stack_table_find(misuses->stacks, target_id, info->stack_id);
		if (entry && entry->same_as) {
			call->stack_id = entry->same_as;
			call->end = entry->same_end;
		}
	}
}

/* False: of a kind that is not known here. */
typedef bool (*misuse_fill_fn)(struct misuse *to, const struct misuses *misuses,
			       const struct misuse_row *row);

static bool misuse_fill_check(struct misuse *to, const struct misuses *misuses,
			      const struct misuse_row *row)
{
	const struct bad_free_key *key = &row->key.check;
	const struct bad_free_value *value = &row->value.check;

	if (key->kind >= BAD_FREE_KINDS)
		return false;
	*to = (struct misuse){
		.finder = MISUSE_BY_CHECK,
		.kind = check_kinds[key->kind],
		.alloc_family = key->alloc_family,
		.free_family = key->free_family,
		.count = value->count,
		.address = value->address,
		.block = value->block,
		.size = value->size,
		.value = -1,
	};
	misuse_fill_calls(to, misuses, key->target_id,
			  (uint32_t[MISUSE_CALLS]){
				  [MISUSE_CALL_NOW] = key->free_slot,
				  [MISUSE_CALL_FREE] = key->first_slot,
				  [MISUSE_CALL_ALLOC] = key->alloc_slot,
			  });
	return true;
}

static bool misuse_fill_guard(struct misuse *to, const struct misuses *misuses,
			      const struct misuse_row *row)
{
	const struct bad_access_key *key = &row->key.guard;
	const struct bad_access_value *value = &row->value.guard;

	if (key->kind >= MISUSE_GUARDED_KINDS)
		return false;
	*to = (struct misuse){
		.finder = MISUSE_BY_GUARD,
		.kind = key->kind,
		.mode = touched_mode(misuses, key),
		.count = value->count,
		.address = value->block + (uint64_t)value->offset,
		.block = value->block,
		.size = value->size,
		.thread = value->tid,
		.value = value->value,
	};
	memcpy(to->comm, value->comm, sizeof(to->comm));
	to->comm[sizeof(to->comm) - 1] = '\0';
	misuse_fill_calls(to, misuses, key->target_id,
			  (uint32_t[MISUSE_CALLS]){
				  [MISUSE_CALL_NOW] = key->touch_slot,
				  [MISUSE_CALL_FREE] = key->free_slot,
				  [MISUSE_CALL_ALLOC] = key->alloc_slot,
			  });
	return true;
}

static const misuse_fill_fn fills[MISUSE_FINDERS] = {
	[MISUSE_BY_CHECK] = misuse_fill_check,
	[MISUSE_BY_GUARD] = misuse_fill_guard,
};

/* Calls fn for each row of the target, or (0) of all of them, until it returns an error. */
static int misuses_each(const struct misuses *misuses, enum misuse_finder finder,
			uint32_t target_id, int (*fn)(void *ctx, const struct misuse_row *row),
			void *ctx)
{
	const struct bpf_map *table = misuses->maps.tables[finder];
	int fd = table ? bpf_map__fd(table) : -1, err = 0;
	struct misuse_row row, previous;

	if (!table || bpf_map_get_next_key(fd, NULL, &row.key))
		return 0;
	do {
		if ((!target_id || row.key.target_id == target_id) &&
		    !bpf_map_lookup_elem(fd, &row.key, &row.value))
			err = fn(ctx, &row);
		previous = row;
	} while (!err && !bpf_map_get_next_key(fd, &previous.key, &row.key));
	return err;
}

struct misuses_reading {
	const struct misuses *misuses;
	enum misuse_finder finder;
	struct misuse_list *list;
	size_t room;
};

static int misuses_add(void *ctx, const struct misuse_row *row)
{
	struct misuses_reading *reading = ctx;
	struct misuse_list *list = reading->list;

	if (!RESERVE_ITEM(list->items, list->count, reading->room, 16))
		return -ENOMEM;
	list->count += fills[reading->finder](&list->items[list->count], reading->misuses, row);
	return 0;
}

int misuses_read(const struct misuses *misuses, enum misuse_finder finder, uint32_t target_id,
		 struct misuse_list *list)
{
	struct misuses_reading reading = {.misuses = misuses, .finder = finder, .list = list};
	int err = misuses_each(misuses, finder, target_id, misuses_add, &reading);

	misuses_sort(list->items, list->count);
	return err;
}

struct misuses_counting {
	void (*fn)(void *ctx, uint32_t target_id, enum misuse_kind kind, uint64_t count);
	void *ctx;
};

static int misuses_count_row(void *ctx, const struct misuse_row *row)
{
	const struct misuses_counting *counting = ctx;

	if (row->key.guard.kind < MISUSE_GUARDED_KINDS)
		counting->fn(counting->ctx, row->key.target_id, row->key.guard.kind,
			     row->value.guard.count);
	return 0;
}

void misuses_count_guarded(const struct misuses *misuses, uint32_t target_id,
			   void (*fn)(void *ctx, uint32_t target_id, enum misuse_kind kind,
				      uint64_t count),
			   void *ctx)
{
	struct misuses_counting counting = {.fn = fn, .ctx = ctx};

	misuses_each(misuses, MISUSE_BY_GUARD, target_id, misuses_count_row, &counting);
}

void misuses_release_swept(struct misuses *misuses)
{
	for (int i = 0; i < MISUSE_FINDERS; i++) {
		if (misuses->maps.tables[i])
			slots_delete_swept(misuses->slots, bpf_map__fd(misuses->maps.tables[i]));
	}
	touched_release_swept(misuses);
}

int misuses_new(const struct misuses_maps *maps, const struct slots *slots,
		struct stack_table *stacks, const struct patches *patches, struct misuses **out)
{
	struct misuses *misuses = calloc(1, sizeof(*misuses));

	if (!misuses)
		return -ENOMEM;
	*misuses = (struct misuses){*maps, slots, stacks, patches, NULL};
	*out = misuses;
	return 0;
}

void misuses_free(struct misuses *misuses)
{
	if (!misuses)
		return;
	touched_free(misuses);
	free(misuses);
}
