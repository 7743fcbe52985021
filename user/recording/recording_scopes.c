// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_scopes.h"

#include <stdlib.h>

#include "user/recording/recording_format.h"
#include "user/recording/recording_target.h"

/* Of one target; the kernel side has 4,096 of all. */
#define MAX_SCOPES (1u << 16)
/* Of one scope; the kernel side has 57. */
#define MAX_KEPT 1024

/* function and tag are those of the table of names. */
struct recorded_scope {
	uint64_t target, number;
	struct scope scope;
};

FIELD_OWN_FUNCTIONS(scope_kept_calls);

#define S struct recorded_scope

const struct field recording_scope_fields[] = {
	FIELD_NUMBER(MESSAGE_FIELD_TARGET, S, target),
	FIELD_NUMBER(2, S, number),
	FIELD_STRING(3, S, scope.function),
	FIELD_STRING(4, S, scope.tag),
	FIELD_IF_ANY(5, S, scope.calls),
	FIELD_IF_ANY(6, S, scope.open),
	FIELD_IF_ANY(7, S, scope.left),
	FIELD_IF_ANY(8, S, scope.timed),
	FIELD_IF_ANY(9, S, scope.time_ns),
	FIELD_IF_ANY(10, S, scope.time_max_ns),
	FIELD_IF_ANY(12, S, scope.alloc.bytes),
	FIELD_IF_ANY(13, S, scope.alloc.count),
	FIELD_IF_ANY(14, S, scope.freed.bytes),
	FIELD_IF_ANY(15, S, scope.freed.count),
	FIELD_IF_ANY(16, S, scope.kept.bytes),
	FIELD_IF_ANY(17, S, scope.kept.count),
	FIELD_IF_ANY(18, S, scope.live.bytes),
	FIELD_IF_ANY(19, S, scope.live.count),
	FIELD_IF_ANY(20, S, scope.own_alloc.bytes),
	FIELD_IF_ANY(21, S, scope.own_alloc.count),
	FIELD_IF_ANY(22, S, scope.own_kept.bytes),
	FIELD_IF_ANY(23, S, scope.own_kept.count),
	FIELD_IF_ANY(24, S, scope.own_live.bytes),
	FIELD_IF_ANY(25, S, scope.own_live.count),
	FIELD_IF_ANY(27, S, scope.tags),
	FIELD_IF_ANY(28, S, scope.kept_error), /* the bits of a double */
	FIELD_IF_ANY(29, S, scope.live_error), /* likewise */
	FIELD_LIST_IF_ANY(11, S, scope.times),
	FIELD_OWN(26, scope_kept_calls),
	{0},
};

/* ---- writing ------------------------------------------------------------------------------ */

/* Bytes, how many more at most, calls. */
static int put_scope_kept_calls(struct recording_out *out, unsigned number, const void *from)
{
	const struct scope *scope = &((const struct recorded_scope *)from)->scope;
	struct wire *to = &out->chunk.body;
	size_t mark;

	if (!scope->kept_count)
		return 0;
	mark = wire_open(to, number);
	for (size_t i = 0; i < scope->kept_count; i++) {
		const struct scope_kept *kept = &scope->kept_calls[i];

		wire_varint(to, kept->bytes);
		wire_varint(to, kept->bytes_max - kept->bytes);
		wire_varint(to, kept->calls);
	}
	wire_close(to, mark);
	return 0;
}

int recording_put_scopes(struct recording_out *out, uint32_t target, struct scopes_list *known,
			 const struct snapshot *s, uint32_t *numbers)
{
	for (size_t i = 0; i < s->scopes.count; i++) {
		const struct scope *now = &s->scopes.items[i];
		size_t before = known->count;
		struct recorded_scope recorded;
		struct scope *was = scopes_list_get(known, now->function, now->tag);
		int err;

		if (!was)
			return -ENOMEM;
		numbers[i] = (uint32_t)(was - known->items) + 1;
		if (known->count == before && scope_same_figures(was, now))
			continue;
		err = scope_set_figures(was, now);
		recorded = (struct recorded_scope){target, numbers[i] - 1, *now};
		err = err ? err
			  : recording_put_message(out, MESSAGE_SCOPE, recording_scope_fields,
						  &recorded);
		if (err)
			return err;
	}
	return 0;
}

/* ---- reading ------------------------------------------------------------------------------ */

static int take_scope_kept_calls(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct scope *scope = &((struct recorded_scope *)to)->scope;
	struct wire_reader body = f->body;

	while (f->type == WIRE_BYTES && wire_left(&body)) {
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

int recording_take_scope(struct recording_in *in, struct read_target *t, struct wire_reader message)
{
	struct recorded_scope now = {.number = UINT64_MAX};
	size_t before = t->scopes.count;
	struct scope *scope;
	int err = fields_take(in, recording_scope_fields, message, &now, "a scope cannot be read");

	if (!err &&
	    (!now.scope.function || !(now.scope.kept_error >= 0) || !(now.scope.live_error >= 0)))
		err = recording_refuse(in, "a scope cannot be read");
	if (!err && (now.number > before || now.number >= MAX_SCOPES))
		err = recording_refuse(in, "a scope's number is impossible");
	if (!err) {
		scope = scopes_list_get(&t->scopes, now.scope.function, now.scope.tag);
		if (!scope)
			err = -ENOMEM;
		else if ((uint64_t)(scope - t->scopes.items) != now.number)
			err = recording_refuse(in, "a scope is there under two numbers");
		else
			err = scope_set_figures(scope, &now.scope);
	}
	free(now.scope.kept_calls);
	return err;
}
