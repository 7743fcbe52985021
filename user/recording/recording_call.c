// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_call.h"

#include "user/model/id_map.h"

enum call_field {
	CALL_WHICH = 1, /* enum bad_free_stack, enum bad_access_stack */
	CALL_STACK_ID = 2,
	CALL_STACK = 3, /* number of its frames, 0: not known */
	CALL_END = 4,
};

bool recorded_calls_same(const struct reported_call *a, const struct reported_call *b, int count)
{
	for (int i = 0; i < count; i++) {
		if (a[i].known != b[i].known || a[i].stack_id != b[i].stack_id)
			return false;
	}
	return true;
}

uint64_t recorded_calls_hash(uint64_t hash, const struct reported_call *calls, int count)
{
	for (int i = 0; i < count; i++)
		hash = id_map_mix(hash ^ calls[i].stack_id);
	return hash;
}

/* ---- writing ------------------------------------------------------------------------------ */

int recording_name_calls(struct recording_out *out, const struct reported_call *calls, int count,
			 uint32_t *stacks, bool *changed)
{
	for (int i = 0; i < count; i++) {
		const struct reported_call *call = &calls[i];
		int err;

		if (stacks[i] || !call->frames || !call->frame_count)
			continue;
		err = frame_table_stack(out->table, call->frames, call->frame_count, &stacks[i]);
		if (err)
			return err;
		*changed = true;
	}
	return 0;
}

void recording_put_calls(struct wire *to, unsigned field, const struct reported_call *calls,
			 int count, const uint32_t *stacks)
{
	for (int i = 0; i < count; i++) {
		size_t mark;

		if (!calls[i].known)
			continue;
		mark = wire_open(to, field);
		wire_uint(to, CALL_WHICH, (unsigned)i);
		wire_fixed64(to, CALL_STACK_ID, calls[i].stack_id);
		wire_uint(to, CALL_STACK, stacks[i]);
		wire_uint(to, CALL_END, calls[i].end);
		wire_close(to, mark);
	}
}

void recording_put_name(struct recording_out *out, unsigned field, const char *name)
{
	uint32_t id;

	if (name && !frame_table_string(out->table, name, &id))
		wire_uint(&out->chunk.body, field, id);
}

/* ---- reading ------------------------------------------------------------------------------ */

int recording_take_call(struct recording_in *in, struct wire_reader message,
			struct reported_call *calls, int count, uint32_t *stacks)
{
	struct reported_call call = {.known = true};
	uint64_t which = UINT64_MAX, end = UINT64_MAX;
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
			return recording_refuse(in, "a call with a stack that is not there");
	}
	if (got < 0)
		return recording_refuse(in, "a call cannot be read");
	/* A later version may know more of them. */
	if (which >= (uint64_t)count)
		return 0;
	call.end = recording_stack_end(&in->header, end);
	calls[which] = call;
	stacks[which] = stack;
	return 0;
}

void recording_fill_calls(const struct recording_in *in, struct reported_call *calls, int count,
			  const uint32_t *stacks)
{
	for (int i = 0; i < count; i++) {
		if (stacks[i])
			calls[i].frames =
				frame_table_stack_at(in->table, stacks[i], &calls[i].frame_count);
	}
}
