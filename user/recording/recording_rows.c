// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_rows.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/recording/recording_format.h"
#include "user/recording/recording_target.h"

#define MAX_ROWS     (1u << 24) /* of one target: --max-stacks' largest */
#define ROWS_AT_ONCE 8192

struct recorded_row {
	uint64_t target, number, stack_id, stack, end, truncated;
	uint64_t scope; /* its place among the target's, from 1 */
};

const struct field recording_row_fields[] = {
	FIELD_NUMBER(MESSAGE_FIELD_TARGET, struct recorded_row, target),
	FIELD_NUMBER(2, struct recorded_row, number),
	FIELD_FIXED(3, struct recorded_row, stack_id),
	FIELD_NUMBER(4, struct recorded_row, stack),
	FIELD_NUMBER(5, struct recorded_row, end),
	FIELD_NUMBER(6, struct recorded_row, truncated),
	FIELD_IF_ANY(7, struct recorded_row, scope),
	{0},
};

enum values_field { VALUES_TARGET = MESSAGE_FIELD_TARGET, VALUES_ROWS = 2 };

/*
 * What a value would be if only those before it in the enum had changed: most of the time it is.
 * `old` and `now` are rows.
 */
static uint64_t row_expected_value(enum row_value value, const uint64_t old[ROW_VALUES],
				   const uint64_t now[ROW_VALUES])
{
	switch (value) {
	case VALUE_LIVE_BYTES:
	case VALUE_LIVE_COUNT:
		return old[value] +
		       (now[value - VALUE_LIVE_BYTES] - old[value - VALUE_LIVE_BYTES]) -
		       (now[value - VALUE_LIVE_BYTES + VALUE_FREE_BYTES] -
			old[value - VALUE_LIVE_BYTES + VALUE_FREE_BYTES]);
	case VALUE_OLDER_BYTES:
	case VALUE_OLDER_COUNT:
		return old[value] + (now[value - VALUE_OLDER_BYTES + VALUE_LIVE_BYTES] -
				     old[value - VALUE_OLDER_BYTES + VALUE_LIVE_BYTES]);
	default:
		return old[value];
	}
}

/* ---- writing ------------------------------------------------------------------------------ */

static void row_values_of(const struct snapshot *s, const struct stack *stack,
			  uint64_t values[ROW_VALUES])
{
	values[VALUE_ALLOC_BYTES] = stack->alloc.bytes;
	values[VALUE_ALLOC_COUNT] = stack->alloc.count;
	values[VALUE_FREE_BYTES] = stack->free.bytes;
	values[VALUE_FREE_COUNT] = stack->free.count;
	values[VALUE_LIVE_BYTES] = stack->live.bytes;
	values[VALUE_LIVE_COUNT] = stack->live.count;
	values[VALUE_OLDER_BYTES] = stack->older.bytes;
	values[VALUE_OLDER_COUNT] = stack->older.count;
	/* When it was made does not change, as its age does. */
	values[VALUE_OLDEST] = 0;
	if (stack->oldest_ns)
		values[VALUE_OLDEST] =
			1 +
			(s->elapsed_ns > stack->oldest_ns ? s->elapsed_ns - stack->oldest_ns : 0);
	memcpy(&values[VALUE_ERROR], &stack->error_bytes, sizeof(values[VALUE_ERROR]));
}

void written_rows_free(struct written_rows *rows)
{
	free(rows->items);
	id_map_free(&rows->numbers);
}

static int row_add_written(struct written_rows *rows, uint64_t stack_id, uint32_t *number)
{
	int err;

	if (!RESERVE_ITEM(rows->items, rows->count, rows->room, 64))
		return -ENOMEM;
	*number = (uint32_t)rows->count;
	err = id_map_put(&rows->numbers, stack_id, *number);
	if (!err)
		rows->items[rows->count++] = (struct written_row){0};
	return err;
}

int recording_put_rows(struct recording_out *out, uint32_t target, struct written_rows *rows,
		       const struct report *report, const uint32_t *scopes, uint32_t *numbers)
{
	for (size_t i = 0; i < report->snapshot->stack_count; i++) {
		const struct stack *stack = &report->snapshot->stacks[i];
		const struct stack_notes *notes = &report->notes[i];
		bool scoped = stack->scope && stack->scope <= report->snapshot->scopes.count;
		struct recorded_row row;
		bool known = id_map_get(&rows->numbers, stack->id, &numbers[i]);
		uint32_t frames = 0;
		int err = known ? 0 : row_add_written(rows, stack->id, &numbers[i]);

		if (!err && known &&
		    (rows->items[numbers[i]].stack || !notes->frames || !notes->frame_count))
			continue;
		if (!err && notes->frames && notes->frame_count)
			err = frame_table_stack(out->table, notes->frames, notes->frame_count,
						&frames);
		if (err)
			return err;
		rows->items[numbers[i]].stack = frames;
		row = (struct recorded_row){
			.target = target,
			.number = numbers[i],
			.stack_id = stack->id,
			.stack = frames,
			.end = stack->end,
			.truncated = stack->truncated,
			.scope = scoped ? scopes[stack->scope - 1] : 0,
		};
		err = recording_put_message(out, MESSAGE_ROW, recording_row_fields, &row);
		if (err)
			return err;
	}
	return 0;
}

/*
 * One row's changes: which values are not what was expected, and by how much; adds nothing when
 * there are none.
 */
static void row_put_changes(struct wire *to, struct written_row *row, uint32_t gap,
			    const uint64_t now[ROW_VALUES], bool *changed)
{
	uint64_t expected[ROW_VALUES], mask = 0;

	*changed = memcmp(row->values, now, sizeof(row->values)) != 0;
	if (!*changed)
		return;
	for (int i = 0; i < ROW_VALUES; i++) {
		expected[i] = row_expected_value((enum row_value)i, row->values, now);
		mask |= (uint64_t)(expected[i] != now[i]) << i;
	}
	wire_varint(to, gap);
	wire_varint(to, mask);
	for (int i = 0; i < ROW_VALUES; i++) {
		if (mask & 1u << i)
			wire_zigzag(to, (int64_t)(now[i] - expected[i]));
	}
	memcpy(row->values, now, sizeof(row->values));
}

struct numbered_stack {
	uint32_t row;
	const struct stack *stack;
};

static int row_compare(const void *a, const void *b)
{
	const struct numbered_stack *x = a, *y = b;

	return x->row < y->row ? -1 : x->row > y->row;
}

int recording_put_values(struct recording_out *out, uint32_t target, struct written_rows *rows,
			 const struct snapshot *s, const uint32_t *numbers)
{
	_cleanup_free_ struct numbered_stack *order =
		calloc(s->stack_count ? s->stack_count : 1, sizeof(*order));
	struct wire *to = &out->chunk.body;
	int err = order ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < s->stack_count; i++)
		order[i] = (struct numbered_stack){numbers[i], &s->stacks[i]};
	if (!err)
		qsort(order, s->stack_count, sizeof(*order), row_compare);
	for (size_t i = 0; !err && i < s->stack_count;) {
		size_t end = s->stack_count - i > ROWS_AT_ONCE ? i + ROWS_AT_ONCE : s->stack_count;
		size_t mark = wire_open(to, MESSAGE_VALUES), list;
		uint32_t next = 0;

		wire_uint(to, VALUES_TARGET, target);
		list = wire_open(to, VALUES_ROWS);
		for (; i < end; i++) {
			uint64_t now[ROW_VALUES];
			bool changed;

			row_values_of(s, order[i].stack, now);
			row_put_changes(to, &rows->items[order[i].row], order[i].row - next, now,
					&changed);
			if (changed)
				next = order[i].row + 1;
		}
		wire_close(to, list);
		wire_close(to, mark);
		err = chunk_flush_if_large(&out->chunk);
	}
	return err;
}

/* ---- reading ------------------------------------------------------------------------------ */

int recording_take_row(struct recording_in *in, struct read_target *t, struct wire_reader message)
{
	struct recorded_row recorded = {0};
	struct read_rows *rows = &t->rows;
	struct read_row *row;
	uint32_t stack;
	int err = fields_take(in, recording_row_fields, message, &recorded, "a row cannot be read");

	if (err)
		return err;
	if (recorded.number > rows->count || recorded.number >= MAX_ROWS)
		return recording_refuse(in, "a row's number is impossible");
	if (!recording_stack(in, recorded.stack, &stack))
		return recording_refuse(in, "a row of a stack that is not there");
	if (recorded.scope > t->scopes.count)
		return recording_refuse(in, "a row of a scope that is not there");
	if (recorded.number == rows->count) {
		if (!RESERVE_ITEM(rows->items, rows->count, rows->room, 2))
			return -ENOMEM;
		rows->items[rows->count++] = (struct read_row){0};
	}
	row = &rows->items[recorded.number];
	row->stack_id = recorded.stack_id;
	row->stack = stack;
	row->truncated = recorded.truncated != 0;
	row->scope = (uint32_t)recorded.scope;
	row->end = recording_stack_end(&in->header, recorded.end);
	return 0;
}

static int row_take_changes(struct recording_in *in, struct read_row *row, struct wire_reader *body)
{
	uint64_t now[ROW_VALUES], mask;
	double error_bytes;

	if (wire_read_varint(body, &mask))
		return recording_refuse(in, "values cannot be read");
	for (int i = 0; i < ROW_VALUES; i++) {
		int64_t change = 0;

		if (mask & 1u << i && wire_read_zigzag(body, &change))
			return recording_refuse(in, "values cannot be read");
		now[i] = row_expected_value((enum row_value)i, row->values, now) + (uint64_t)change;
	}
	memcpy(row->values, now, sizeof(now));
	memcpy(&error_bytes, &now[VALUE_ERROR], sizeof(error_bytes));
	return error_bytes >= 0 ? 0 : recording_refuse(in, "a standard error is impossible");
}

static int row_take_list(struct recording_in *in, struct read_rows *rows, struct wire_reader list)
{
	uint64_t next = 0, gap;
	int err = 0;

	while (!err && wire_left(&list)) {
		if (wire_read_varint(&list, &gap) || gap >= rows->count ||
		    next + gap >= rows->count)
			return recording_refuse(in, "values of a row that is not there");
		next += gap;
		err = row_take_changes(in, &rows->items[next++], &list);
	}
	return err;
}

int recording_take_values(struct recording_in *in, struct read_target *t,
			  struct wire_reader message)
{
	struct wire_field f;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.field == VALUES_ROWS && f.type == WIRE_BYTES)
			err = row_take_list(in, &t->rows, f.body);
	}
	return err ? err : got < 0 ? recording_refuse(in, "values cannot be read") : 0;
}

static void row_fill_stack(const struct recording_in *in, struct snapshot *s, struct stack *stack,
			   struct read_row *row)
{
	const uint64_t *v = row->values;
	uint64_t birth = v[VALUE_OLDEST];

	*stack = (struct stack){
		.id = row->stack_id,
		.alloc = {v[VALUE_ALLOC_BYTES], v[VALUE_ALLOC_COUNT]},
		.free = {v[VALUE_FREE_BYTES], v[VALUE_FREE_COUNT]},
		.live = {v[VALUE_LIVE_BYTES], v[VALUE_LIVE_COUNT]},
		.older = {v[VALUE_OLDER_BYTES], v[VALUE_OLDER_COUNT]},
		.truncated = row->truncated,
		.end = row->end,
		.scope = row->scope,
	};
	memcpy(&stack->error_bytes, &v[VALUE_ERROR], sizeof(stack->error_bytes));
	if (birth && birth - 1 <= s->elapsed_ns)
		stack->oldest_ns = s->elapsed_ns - (birth - 1);
	if (row->stack)
		stack->frames = frame_table_stack_at(in->table, row->stack, &stack->frame_count);
}

int recording_fill_stacks(const struct recording_in *in, struct read_rows *rows, struct snapshot *s)
{
	/* row_fill_stack() writes all of it: cleared first, it would be written twice. */
	s->stacks = reallocarray(NULL, rows->count ? rows->count : 1, sizeof(*s->stacks));
	if (!s->stacks)
		return -ENOMEM;
	for (size_t i = 0; i < rows->count; i++) {
		row_fill_stack(in, s, &s->stacks[i], &rows->items[i]);
		s->stacks[i].index = (uint32_t)i;
		snapshot_count(s, &s->stacks[i]);
	}
	s->stack_count = rows->count;
	return 0;
}
