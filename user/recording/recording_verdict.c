// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_verdict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/text.h"
#include "user/base/util.h"

enum verdict_field {
	VERDICT_STATE = 1,
	VERDICT_REASON = 2,
	VERDICT_PAUSE_NS = 3,
	VERDICT_TOTAL_NS = 4,
	VERDICT_READ_BYTES = 5,
	VERDICT_UNKNOWN_BYTES = 6,
	VERDICT_UNREAD_BYTES = 7,
	VERDICT_APPROXIMATE = 8,
	VERDICT_ROWS = 9,
	VERDICT_NOTE = 10,
	VERDICT_BEFORE = 11, /* as one row */
	VERDICT_UNJOINED_COUNT = 12,
	VERDICT_UNJOINED_BYTES = 13,
	VERDICT_UNJOINED_RESIDENT = 14,
	VERDICT_UNJOINED_HELD = 15,
	VERDICT_UNJOINED_ROWS = 16, /* of stacks: the row, then the four numbers */
};

static const struct wire_number verdict_numbers[] = {
	WIRE_NUMBER(VERDICT_PAUSE_NS, struct verdict, pause_ns),
	WIRE_NUMBER(VERDICT_TOTAL_NS, struct verdict, total_ns),
	WIRE_NUMBER(VERDICT_READ_BYTES, struct verdict, read_bytes),
	WIRE_NUMBER(VERDICT_UNKNOWN_BYTES, struct verdict, unknown_bytes),
	WIRE_NUMBER(VERDICT_UNREAD_BYTES, struct verdict, unread_bytes),
	WIRE_NUMBER(VERDICT_UNJOINED_COUNT, struct verdict, unjoined.count),
	WIRE_NUMBER(VERDICT_UNJOINED_BYTES, struct verdict, unjoined.bytes),
	WIRE_NUMBER(VERDICT_UNJOINED_RESIDENT, struct verdict, unjoined.resident),
	WIRE_NUMBER(VERDICT_UNJOINED_HELD, struct verdict, unjoined.held),
	{0},
};

enum note_field {
	NOTE_ROW = 1,
	NOTE_PATH = 2,	   /* left out: as it was; without lines: there is none any more */
	NOTE_CONTENTS = 3, /* the same */
};

enum path_field { PATH_LINE = 1 /* empty: as the line at that place was */ };

struct recorded_note {
	char *held_by, *contents; /* as in struct stack; owned */
	size_t contents_len;
};

void recorded_notes_free(struct recorded_notes *notes)
{
	for (size_t i = 0; i < notes->count; i++) {
		free(notes->items[i].held_by);
		free(notes->items[i].contents);
	}
	free(notes->items);
	*notes = (struct recorded_notes){0};
}

/* NULL when out of memory. */
static struct recorded_note *note_at(struct recorded_notes *notes, uint32_t row)
{
	if (row >= notes->count) {
		size_t count = row + 64ul;
		struct recorded_note *grown = reallocarray(notes->items, count, sizeof(*grown));

		if (!grown)
			return NULL;
		memset(grown + notes->count, 0, (count - notes->count) * sizeof(*grown));
		notes->items = grown;
		notes->count = count;
	}
	return &notes->items[row];
}

/* ---- writing ------------------------------------------------------------------------------ */

static void verdict_put_row(struct wire *out, uint32_t row,
			    const struct amount classes[VERDICT_CLASSES])
{
	uint64_t mask = 0;

	for (int i = 0; i < VERDICT_CLASSES; i++)
		mask |= classes[i].count ? 1ull << i : 0;
	if (!mask)
		return;
	wire_varint(out, row);
	wire_varint(out, mask);
	for (int i = 0; i < VERDICT_CLASSES; i++) {
		if (!(mask >> i & 1))
			continue;
		wire_varint(out, classes[i].bytes);
		wire_varint(out, classes[i].count);
	}
}

static void verdict_put_unjoined(struct wire *out, const struct snapshot *s,
				 const uint32_t *numbers)
{
	size_t list;

	wire_put_numbers(out, verdict_numbers, VERDICT_UNJOINED_COUNT, VERDICT_UNJOINED_HELD,
			 &s->verdict);
	list = wire_open(out, VERDICT_UNJOINED_ROWS);
	for (size_t i = 0; i < s->stack_count; i++) {
		const struct unjoined_threads *u = &s->stacks[i].unjoined;

		if (!u->count)
			continue;
		wire_varint(out, numbers[i]);
		wire_varint(out, u->count);
		wire_varint(out, u->bytes);
		wire_varint(out, u->resident);
		wire_varint(out, u->held);
	}
	wire_close(out, list);
}

/* False at the end: *rest is NULL then. */
static bool note_next_line(const char **rest, const char **line, size_t *len)
{
	if (!*rest)
		return false;
	*line = *rest;
	*len = strcspn(*rest, "\n");
	*rest = (*rest)[*len] ? *rest + *len + 1 : NULL;
	return true;
}

/* Most of a path stays: of a list that grows only the line with its length changes. */
static void note_put_path(struct wire *out, const char *before, const char *now)
{
	size_t mark = wire_open(out, NOTE_PATH), len, old_len;
	const char *line, *old;

	while (note_next_line(&now, &line, &len)) {
		if (note_next_line(&before, &old, &old_len) && len == old_len &&
		    !memcmp(line, old, len))
			len = 0;
		wire_bytes(out, PATH_LINE, line, len);
	}
	wire_close(out, mark);
}

static int note_set_path(struct recorded_note *note, const char *path)
{
	char *copy = path ? strdup(path) : NULL;

	if (path && !copy)
		return -ENOMEM;
	free(note->held_by);
	note->held_by = copy;
	return 0;
}

static int note_set_contents(struct recorded_note *note, const void *contents, size_t len)
{
	char *copy = len ? malloc(len) : NULL;

	if (len && !copy)
		return -ENOMEM;
	if (len)
		memcpy(copy, contents, len);
	free(note->contents);
	note->contents = copy;
	note->contents_len = len;
	return 0;
}

static int note_put(struct wire *out, uint32_t row, const struct stack *stack,
		    struct recorded_notes *notes)
{
	/* Most stacks never have one. */
	bool any = stack->held_by || stack->contents_len || row < notes->count;
	struct recorded_note *note = any ? note_at(notes, row) : NULL;
	bool path, contents;
	size_t mark;
	int err = 0;

	if (!note)
		return any ? -ENOMEM : 0;
	path = strcmp(stack->held_by ?: "", note->held_by ?: "") != 0;
	contents = stack->contents_len != note->contents_len ||
		   (note->contents_len &&
		    memcmp(stack->contents, note->contents, note->contents_len) != 0);
	if (!path && !contents)
		return 0;
	mark = wire_open(out, VERDICT_NOTE);
	wire_uint(out, NOTE_ROW, row);
	if (path) {
		note_put_path(out, note->held_by, stack->held_by);
		err = note_set_path(note, stack->held_by);
	}
	if (!err && contents) {
		wire_bytes(out, NOTE_CONTENTS, stack->contents, stack->contents_len);
		err = note_set_contents(note, stack->contents, stack->contents_len);
	}
	wire_close(out, mark);
	return err;
}

int recording_put_verdict(struct wire *out, unsigned field, const struct snapshot *s,
			  const uint32_t *numbers, struct recorded_notes *notes)
{
	const struct verdict *v = &s->verdict;
	bool taken = v->state == VERDICT_TAKEN;
	size_t mark, list;
	int err = 0;

	if (v->state == VERDICT_NOT_ASKED)
		return 0;
	mark = wire_open(out, field);
	wire_uint(out, VERDICT_STATE, v->state);
	if (v->state == VERDICT_REFUSED)
		wire_string(out, VERDICT_REASON, v->reason);
	wire_put_numbers(out, verdict_numbers, VERDICT_PAUSE_NS, VERDICT_UNREAD_BYTES, v);
	wire_uint(out, VERDICT_APPROXIMATE, v->approximate);
	list = wire_open(out, VERDICT_ROWS);
	for (size_t i = 0; taken && i < s->stack_count; i++)
		verdict_put_row(out, numbers[i], s->stacks[i].verdict);
	wire_close(out, list);
	if (taken && verdict_has_before(v)) {
		list = wire_open(out, VERDICT_BEFORE);
		verdict_put_row(out, 0, v->before);
		wire_close(out, list);
	}
	if (taken && v->unjoined.count)
		verdict_put_unjoined(out, s, numbers);
	for (size_t i = 0; taken && !err && i < s->stack_count; i++)
		err = note_put(out, numbers[i], &s->stacks[i], notes);
	wire_close(out, mark);
	return err;
}

/* ---- reading ------------------------------------------------------------------------------ */

/* What follows a row's number. */
static bool verdict_take_classes(struct wire_reader *list, struct amount classes[VERDICT_CLASSES])
{
	uint64_t mask;

	if (wire_read_varint(list, &mask) || mask >> VERDICT_CLASSES)
		return false;
	for (int i = 0; i < VERDICT_CLASSES; i++) {
		if (mask >> i & 1 && (wire_read_varint(list, &classes[i].bytes) ||
				      wire_read_varint(list, &classes[i].count)))
			return false;
	}
	return true;
}

static bool verdict_take_rows(struct wire_reader list, struct snapshot *s)
{
	while (wire_left(&list)) {
		struct amount classes[VERDICT_CLASSES] = {0};
		uint64_t row;

		if (wire_read_varint(&list, &row) || row >= s->stack_count ||
		    !verdict_take_classes(&list, classes))
			return false;
		for (int i = 0; i < VERDICT_CLASSES; i++) {
			s->stacks[row].verdict[i] = classes[i];
			amount_add(&s->verdict.classes[i], &classes[i]);
		}
	}
	return true;
}

static bool verdict_take_before(struct wire_reader list, struct verdict *v)
{
	uint64_t row;

	return !wire_read_varint(&list, &row) && verdict_take_classes(&list, v->before);
}

static bool verdict_take_unjoined(struct wire_reader list, struct snapshot *s)
{
	while (wire_left(&list)) {
		struct unjoined_threads u;
		uint64_t row;

		if (wire_read_varint(&list, &row) || row >= s->stack_count ||
		    wire_read_varint(&list, &u.count) || wire_read_varint(&list, &u.bytes) ||
		    wire_read_varint(&list, &u.resident) || wire_read_varint(&list, &u.held))
			return false;
		s->stacks[row].unjoined = u;
	}
	return true;
}

static void verdict_take_number(struct verdict *v, const struct wire_field *f)
{
	if (f->field == VERDICT_STATE)
		v->state = f->number <= VERDICT_TAKEN ? (enum verdict_state)f->number
						      : VERDICT_NOT_ASKED;
	else if (f->field == VERDICT_APPROXIMATE)
		v->approximate = f->number;
	else
		wire_take_number(verdict_numbers, f, v);
}

/* *path is NULL when it has no lines. 0, -EBADMSG or -ENOMEM. */
static int note_read_path(struct wire_reader message, const char *before, char **path)
{
	size_t len, size = 0, lines = 0;
	struct wire_field f;
	const char *line;
	FILE *out;
	int got;

	*path = NULL;
	out = open_memstream(path, &size);
	if (!out)
		return -ENOMEM;
	while ((got = wire_next(&message, &f)) > 0) {
		bool had;

		if (f.field != PATH_LINE || f.type != WIRE_BYTES)
			continue;
		had = note_next_line(&before, &line, &len);
		if (wire_left(&f.body) || !had) {
			line = (const char *)f.body.at;
			len = wire_left(&f.body);
		}
		if (lines++)
			fputc('\n', out);
		fwrite(line, 1, len, out);
	}
	if (close_memstream(out))
		got = -ENOMEM;
	if (got < 0 || !size || strlen(*path) != size) {
		/* A line with a NUL in it is none of ours. */
		got = got < 0 ? got : size ? -EBADMSG : 0;
		free(*path);
		*path = NULL;
	}
	return got;
}

static int note_take_path(struct wire_reader message, struct recorded_note *note)
{
	char *path;
	int err = note_read_path(message, note->held_by, &path);

	if (err)
		return err;
	free(note->held_by);
	note->held_by = path;
	return 0;
}

static int note_take(struct wire_reader message, size_t rows, struct recorded_notes *notes)
{
	struct recorded_note *note = NULL;
	struct wire_field f;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.field == NOTE_ROW && f.type == WIRE_VARINT) {
			if (f.number >= rows)
				return -EBADMSG;
			note = note_at(notes, (uint32_t)f.number);
			if (!note)
				return -ENOMEM;
			continue;
		}
		if (!note)
			return -EBADMSG;
		if (f.field == NOTE_PATH && f.type == WIRE_BYTES)
			err = note_take_path(f.body, note);
		else if (f.field == NOTE_CONTENTS && f.type == WIRE_BYTES)
			err = note_set_contents(note, f.body.at, wire_left(&f.body));
	}
	return err ? err : got;
}

static int note_fill_all(struct snapshot *s, const struct recorded_notes *notes)
{
	for (size_t i = 0; i < s->stack_count && i < notes->count; i++) {
		const struct recorded_note *note = &notes->items[i];
		struct recorded_note copy = {0};
		int err = note_set_path(&copy, note->held_by);

		err = err ? err : note_set_contents(&copy, note->contents, note->contents_len);
		s->stacks[i].held_by = copy.held_by;
		s->stacks[i].contents = copy.contents;
		s->stacks[i].contents_len = copy.contents_len;
		if (err)
			return err;
	}
	return 0;
}

static void verdict_take_reason(struct verdict *v, const struct wire_reader *body)
{
	text_copy(v->reason, sizeof(v->reason), (const char *)body->at, wire_left(body),
		  &text_for_terminal);
}

int recording_take_verdict(struct wire_reader message, struct snapshot *s,
			   struct recorded_notes *notes)
{
	struct wire_field f;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		if (f.type == WIRE_VARINT)
			verdict_take_number(&s->verdict, &f);
		else if (f.type != WIRE_BYTES)
			continue;
		else if (f.field == VERDICT_REASON)
			verdict_take_reason(&s->verdict, &f.body);
		else if (f.field == VERDICT_ROWS)
			err = verdict_take_rows(f.body, s) ? 0 : -EBADMSG;
		else if (f.field == VERDICT_BEFORE)
			err = verdict_take_before(f.body, &s->verdict) ? 0 : -EBADMSG;
		else if (f.field == VERDICT_UNJOINED_ROWS)
			err = verdict_take_unjoined(f.body, s) ? 0 : -EBADMSG;
		else if (f.field == VERDICT_NOTE)
			err = note_take(f.body, s->stack_count, notes);
	}
	if (err || got < 0)
		return err ? err : got;
	return s->verdict.state == VERDICT_TAKEN ? note_fill_all(s, notes) : 0;
}
