// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_scopes.h"

#include <limits.h>
#include <stdlib.h>

#include "user/base/util.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_target.h"

/* Of one target; the kernel side has 4,096 of all. */
#define MAX_SCOPES (1u << 16)
/* Of one scope; the kernel side has 57. */
#define MAX_KEPT 1024

enum scope_field {
	SCOPE_TARGET = MESSAGE_FIELD_TARGET,
	SCOPE_NUMBER = 2,
	SCOPE_FUNCTION = 3, /* number of a string */
	SCOPE_TAG = 4,	    /* likewise; left out: none */
	SCOPE_CALLS = 5,
	SCOPE_OPEN = 6,
	SCOPE_LEFT = 7,
	SCOPE_TIMED = 8,
	SCOPE_TIME_NS = 9,
	SCOPE_TIME_MAX_NS = 10,
	SCOPE_TIME_CLASSES = 11, /* packed */
	SCOPE_ALLOC_BYTES = 12,
	SCOPE_ALLOC_COUNT = 13,
	SCOPE_FREED_BYTES = 14,
	SCOPE_FREED_COUNT = 15,
	SCOPE_KEPT_BYTES = 16,
	SCOPE_KEPT_COUNT = 17,
	SCOPE_LIVE_BYTES = 18,
	SCOPE_LIVE_COUNT = 19,
	SCOPE_OWN_ALLOC_BYTES = 20,
	SCOPE_OWN_ALLOC_COUNT = 21,
	SCOPE_OWN_KEPT_BYTES = 22,
	SCOPE_OWN_KEPT_COUNT = 23,
	SCOPE_OWN_LIVE_BYTES = 24,
	SCOPE_OWN_LIVE_COUNT = 25,
	SCOPE_KEPT_CALLS = 26, /* packed: bytes, how many more at most, calls */
	SCOPE_TAGS_SEEN = 27,
	SCOPE_KEPT_ERROR = 28, /* the bits of a double */
	SCOPE_LIVE_ERROR = 29, /* likewise */
};

static const struct wire_number scope_numbers[] = {
	WIRE_NUMBER_IF_ANY(SCOPE_CALLS, struct scope, calls),
	WIRE_NUMBER_IF_ANY(SCOPE_OPEN, struct scope, open),
	WIRE_NUMBER_IF_ANY(SCOPE_LEFT, struct scope, left),
	WIRE_NUMBER_IF_ANY(SCOPE_TIMED, struct scope, timed),
	WIRE_NUMBER_IF_ANY(SCOPE_TIME_NS, struct scope, time_ns),
	WIRE_NUMBER_IF_ANY(SCOPE_TIME_MAX_NS, struct scope, time_max_ns),
	WIRE_NUMBER_IF_ANY(SCOPE_ALLOC_BYTES, struct scope, alloc.bytes),
	WIRE_NUMBER_IF_ANY(SCOPE_ALLOC_COUNT, struct scope, alloc.count),
	WIRE_NUMBER_IF_ANY(SCOPE_FREED_BYTES, struct scope, freed.bytes),
	WIRE_NUMBER_IF_ANY(SCOPE_FREED_COUNT, struct scope, freed.count),
	WIRE_NUMBER_IF_ANY(SCOPE_KEPT_BYTES, struct scope, kept.bytes),
	WIRE_NUMBER_IF_ANY(SCOPE_KEPT_COUNT, struct scope, kept.count),
	WIRE_NUMBER_IF_ANY(SCOPE_LIVE_BYTES, struct scope, live.bytes),
	WIRE_NUMBER_IF_ANY(SCOPE_LIVE_COUNT, struct scope, live.count),
	WIRE_NUMBER_IF_ANY(SCOPE_OWN_ALLOC_BYTES, struct scope, own_alloc.bytes),
	WIRE_NUMBER_IF_ANY(SCOPE_OWN_ALLOC_COUNT, struct scope, own_alloc.count),
	WIRE_NUMBER_IF_ANY(SCOPE_OWN_KEPT_BYTES, struct scope, own_kept.bytes),
	WIRE_NUMBER_IF_ANY(SCOPE_OWN_KEPT_COUNT, struct scope, own_kept.count),
	WIRE_NUMBER_IF_ANY(SCOPE_OWN_LIVE_BYTES, struct scope, own_live.bytes),
	WIRE_NUMBER_IF_ANY(SCOPE_OWN_LIVE_COUNT, struct scope, own_live.count),
	WIRE_NUMBER_IF_ANY(SCOPE_TAGS_SEEN, struct scope, tags),
	WIRE_NUMBER_IF_ANY(SCOPE_KEPT_ERROR, struct scope, kept_error),
	WIRE_NUMBER_IF_ANY(SCOPE_LIVE_ERROR, struct scope, live_error),
	{0},
};

/* ---- writing ------------------------------------------------------------------------------ */

static void scope_put_times(struct wire *to, const struct scope *scope)
{
	size_t count = SCOPE_TIMES, mark;

	while (count && !scope->times[count - 1])
		count--;
	if (!count)
		return;
	mark = wire_open(to, SCOPE_TIME_CLASSES);
	for (size_t i = 0; i < count; i++)
		wire_varint(to, scope->times[i]);
	wire_close(to, mark);
}

static void scope_put_kept_calls(struct wire *to, const struct scope *scope)
{
	size_t mark;

	if (!scope->kept_count)
		return;
	mark = wire_open(to, SCOPE_KEPT_CALLS);
	for (size_t i = 0; i < scope->kept_count; i++) {
		const struct scope_kept *kept = &scope->kept_calls[i];

		wire_varint(to, kept->bytes);
		wire_varint(to, kept->bytes_max - kept->bytes);
		wire_varint(to, kept->calls);
	}
	wire_close(to, mark);
}

static int scope_put(struct recording_out *out, uint32_t target, uint32_t number,
		     const struct scope *scope)
{
	struct wire *to = &out->chunk.body;
	uint32_t function, tag = 0;
	size_t mark;
	int err = frame_table_string(out->table, scope->function, &function);

	if (!err && scope->tag)
		err = frame_table_string(out->table, scope->tag, &tag);
	err = err ? err : recording_put_names(out);
	if (err)
		return err;
	mark = wire_open(to, MESSAGE_SCOPE);
	wire_uint(to, SCOPE_TARGET, target);
	wire_uint(to, SCOPE_NUMBER, number);
	wire_uint(to, SCOPE_FUNCTION, function);
	if (tag)
		wire_uint(to, SCOPE_TAG, tag);
	wire_put_numbers(to, scope_numbers, 0, UINT_MAX, scope);
	scope_put_times(to, scope);
	scope_put_kept_calls(to, scope);
	wire_close(to, mark);
	return chunk_flush_if_large(&out->chunk);
}

int recording_put_scopes(struct recording_out *out, uint32_t target, struct scopes_list *known,
			 const struct snapshot *s, uint32_t *numbers)
{
	for (size_t i = 0; i < s->scopes.count; i++) {
		const struct scope *now = &s->scopes.items[i];
		size_t before = known->count;
		struct scope *was = scopes_list_get(known, now->function, now->tag);
		int err;

		if (!was)
			return -ENOMEM;
		numbers[i] = (uint32_t)(was - known->items) + 1;
		if (known->count == before && scope_same_figures(was, now))
			continue;
		err = scope_set_figures(was, now);
		err = err ? err : scope_put(out, target, numbers[i] - 1, now);
		if (err)
			return err;
	}
	return 0;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* False: it cannot be read. */
static bool scope_take_times(struct wire_reader body, struct scope *scope)
{
	/* A later version may have more classes. */
	for (size_t i = 0; i < SCOPE_TIMES && wire_left(&body); i++) {
		if (wire_read_varint(&body, &scope->times[i]))
			return false;
	}
	return true;
}

static int scope_take_kept_calls(struct recording_in *in, struct wire_reader body,
				 struct scope *scope)
{
	while (wire_left(&body)) {
		uint64_t bytes, more, calls;

		if (wire_read_varint(&body, &bytes) || wire_read_varint(&body, &more) ||
		    wire_read_varint(&body, &calls) || bytes + more < bytes || !calls ||
		    scope->kept_count == MAX_KEPT)
			return recording_refuse(in, "what calls of a scope kept is impossible");
		if (scope_add_kept_calls(scope, bytes, bytes + more, calls))
			return -ENOMEM;
	}
	return 0;
}

static int scope_take_fields(struct recording_in *in, struct wire_reader message,
			     struct scope *scope, const char **function, const char **tag,
			     uint64_t *number)
{
	struct wire_field f;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.field == SCOPE_NUMBER && f.type == WIRE_VARINT)
			*number = f.number;
		else if (f.field == SCOPE_FUNCTION)
			err = recording_take_text(in, &f, function, NULL);
		else if (f.field == SCOPE_TAG)
			err = recording_take_text(in, &f, tag, NULL);
		else if (f.field == SCOPE_TIME_CLASSES && f.type == WIRE_BYTES)
			err = scope_take_times(f.body, scope)
				      ? 0
				      : recording_refuse(in, "a scope's times cannot be read");
		else if (f.field == SCOPE_KEPT_CALLS && f.type == WIRE_BYTES)
			err = scope_take_kept_calls(in, f.body, scope);
		else
			wire_take_number(scope_numbers, &f, scope);
	}
	if (!err &&
	    (got < 0 || !*function || !(scope->kept_error >= 0) || !(scope->live_error >= 0)))
		err = recording_refuse(in, "a scope cannot be read");
	return err;
}

int recording_take_scope(struct recording_in *in, struct read_target *t, struct wire_reader message)
{
	struct scope now = {0}, *scope;
	const char *function = NULL, *tag = NULL;
	uint64_t number = UINT64_MAX;
	size_t before = t->scopes.count;
	int err = scope_take_fields(in, message, &now, &function, &tag, &number);

	if (!err && (number > before || number >= MAX_SCOPES))
		err = recording_refuse(in, "a scope's number is impossible");
	if (!err) {
		scope = scopes_list_get(&t->scopes, function, tag);
		if (!scope)
			err = -ENOMEM;
		else if ((uint64_t)(scope - t->scopes.items) != number)
			err = recording_refuse(in, "a scope is there under two numbers");
		else
			err = scope_set_figures(scope, &now);
	}
	free(now.kept_calls);
	return err;
}
