// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/recording_verdict.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/text.h"
#include "user/base/util.h"

/* The verdict, and what its functions need. */
struct recorded_verdict {
	struct verdict v;
	const struct snapshot *from; /* writer: of the verdict, */
	const uint32_t *numbers;     /* and the row of each stack */
	struct snapshot *to;	     /* reader: its stacks are in the order of their rows */
	struct recorded_notes *notes;
};

FIELD_OWN_FUNCTIONS(verdict_reason);
FIELD_OWN_FUNCTIONS(verdict_rows);
FIELD_OWN_FUNCTIONS(verdict_before);
FIELD_OWN_FUNCTIONS(verdict_unjoined);
FIELD_OWN_FUNCTIONS(verdict_kept);
FIELD_OWN_FUNCTIONS(verdict_notes);

const struct field recording_verdict_fields[] = {
	FIELD_SMALL(1, struct recorded_verdict, v.state),
	FIELD_OWN(2, verdict_reason),
	FIELD_NUMBER(3, struct recorded_verdict, v.pause_ns),
	FIELD_NUMBER(4, struct recorded_verdict, v.total_ns),
	FIELD_NUMBER(5, struct recorded_verdict, v.read_bytes),
	FIELD_NUMBER(6, struct recorded_verdict, v.unknown_bytes),
	FIELD_NUMBER(7, struct recorded_verdict, v.unread_bytes),
	FIELD_SMALL(8, struct recorded_verdict, v.approximate),
	FIELD_OWN(9, verdict_rows),
	FIELD_OWN(11, verdict_before),
	{0},
};

/* There where threads have ended that nobody has joined. */
static const struct field unjoined_fields[] = {
	FIELD_NUMBER(12, struct recorded_verdict, v.unjoined.count),
	FIELD_NUMBER(13, struct recorded_verdict, v.unjoined.bytes),
	FIELD_NUMBER(14, struct recorded_verdict, v.unjoined.resident),
	FIELD_NUMBER(15, struct recorded_verdict, v.unjoined.held),
	FIELD_OWN(16, verdict_unjoined),
	{0},
};

/* Of stacks: the row, then bytes and count of kept and hangs. */
static const struct field kept_fields[] = {
	FIELD_OWN(17, verdict_kept),
	{0},
};

static const struct field notes_fields[] = {
	FIELD_OWN(10, verdict_notes),
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

static int put_verdict_reason(struct recording_out *out, unsigned number, const void *from)
{
	const struct verdict *v = &((const struct recorded_verdict *)from)->v;

	if (v->state == VERDICT_REFUSED)
		wire_string(&out->chunk.body, number, v->reason);
	return 0;
}

static int put_verdict_rows(struct recording_out *out, unsigned number, const void *from)
{
	const struct recorded_verdict *r = from;
	bool taken = r->v.state == VERDICT_TAKEN;
	size_t mark = wire_open(&out->chunk.body, number);

	for (size_t i = 0; taken && i < r->from->stack_count; i++)
		verdict_put_row(&out->chunk.body, r->numbers[i], r->from->stacks[i].verdict);
	wire_close(&out->chunk.body, mark);
	return 0;
}

static int put_verdict_before(struct recording_out *out, unsigned number, const void *from)
{
	const struct verdict *v = &((const struct recorded_verdict *)from)->v;
	size_t mark;

	if (v->state != VERDICT_TAKEN || !verdict_has_before(v))
		return 0;
	mark = wire_open(&out->chunk.body, number);
	verdict_put_row(&out->chunk.body, 0, v->before);
	wire_close(&out->chunk.body, mark);
	return 0;
}

static int put_verdict_unjoined(struct recording_out *out, unsigned number, const void *from)
{
	const struct recorded_verdict *r = from;
	struct wire *to = &out->chunk.body;
	size_t list = wire_open(to, number);

	for (size_t i = 0; i < r->from->stack_count; i++) {
		const struct unjoined_threads *u = &r->from->stacks[i].unjoined;

		if (!u->count)
			continue;
		wire_varint(to, r->numbers[i]);
		wire_varint(to, u->count);
		wire_varint(to, u->bytes);
		wire_varint(to, u->resident);
		wire_varint(to, u->held);
	}
	wire_close(to, list);
	return 0;
}

/* Nothing where no stack has some. */
static int put_verdict_kept(struct recording_out *out, unsigned number, const void *from)
{
	const struct recorded_verdict *r = from;
	const struct snapshot *s = r->from;
	struct wire *to = &out->chunk.body;
	bool any = false;
	size_t list = 0;

	for (size_t i = 0; i < s->stack_count; i++) {
		const struct stack *stack = &s->stacks[i];

		if (!stack->kept.count && !stack->hangs.count)
			continue;
		if (!any)
			list = wire_open(to, number);
		any = true;
		wire_varint(to, r->numbers[i]);
		wire_varint(to, stack->kept.bytes);
		wire_varint(to, stack->kept.count);
		wire_varint(to, stack->hangs.bytes);
		wire_varint(to, stack->hangs.count);
	}
	if (any)
		wire_close(to, list);
	return 0;
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

static int note_put(struct wire *out, unsigned field, uint32_t row, const struct stack *stack,
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
	mark = wire_open(out, field);
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

static int put_verdict_notes(struct recording_out *out, unsigned number, const void *from)
{
	const struct recorded_verdict *r = from;
	int err = 0;

	for (size_t i = 0; !err && i < r->from->stack_count; i++)
		err = note_put(&out->chunk.body, number, r->numbers[i], &r->from->stacks[i],
			       r->notes);
	return err;
}

int recording_put_verdict(struct recording_out *out, const struct snapshot *s,
			  const uint32_t *numbers, struct recorded_notes *notes)
{
	const struct recorded_verdict r = {
		.v = s->verdict, .from = s, .numbers = numbers, .notes = notes};
	bool taken = r.v.state == VERDICT_TAKEN;
	size_t mark;
	int err;

	if (r.v.state == VERDICT_NOT_ASKED)
		return 0;
	mark = wire_open(&out->chunk.body, SNAPSHOT_VERDICT);
	err = fields_put(out, recording_verdict_fields, &r);
	if (!err && taken && r.v.unjoined.count)
		err = fields_put(out, unjoined_fields, &r);
	if (!err && taken)
		err = fields_put(out, kept_fields, &r);
	if (!err && taken)
		err = fields_put(out, notes_fields, &r);
	wire_close(&out->chunk.body, mark);
	return err;
}

/* ---- reading ------------------------------------------------------------------------------ */

static const char verdict_unread[] = "a verdict cannot be read";

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

static int take_verdict_rows(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct recorded_verdict *r = to;
	struct wire_reader list = f->body;

	while (f->type == WIRE_BYTES && wire_left(&list)) {
		struct amount classes[VERDICT_CLASSES] = {0};
		uint64_t row;

		if (wire_read_varint(&list, &row) || row >= r->to->stack_count ||
		    !verdict_take_classes(&list, classes))
			return recording_refuse(in, verdict_unread);
		for (int i = 0; i < VERDICT_CLASSES; i++) {
			r->to->stacks[row].verdict[i] = classes[i];
			amount_add(&r->v.classes[i], &classes[i]);
		}
	}
	return 0;
}

static int take_verdict_before(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct recorded_verdict *r = to;
	struct wire_reader list = f->body;
	uint64_t row;

	if (f->type != WIRE_BYTES)
		return 0;
	return wire_read_varint(&list, &row) || !verdict_take_classes(&list, r->v.before)
		       ? recording_refuse(in, verdict_unread)
		       : 0;
}

static int take_verdict_unjoined(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct snapshot *s = ((struct recorded_verdict *)to)->to;
	struct wire_reader list = f->body;

	while (f->type == WIRE_BYTES && wire_left(&list)) {
		struct unjoined_threads u;
		uint64_t row;

		if (wire_read_varint(&list, &row) || row >= s->stack_count ||
		    wire_read_varint(&list, &u.count) || wire_read_varint(&list, &u.bytes) ||
		    wire_read_varint(&list, &u.resident) || wire_read_varint(&list, &u.held))
			return recording_refuse(in, verdict_unread);
		s->stacks[row].unjoined = u;
	}
	return 0;
}

static int take_verdict_kept(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct snapshot *s = ((struct recorded_verdict *)to)->to;
	struct wire_reader list = f->body;

	while (f->type == WIRE_BYTES && wire_left(&list)) {
		struct amount kept, hangs;
		uint64_t row;

		if (wire_read_varint(&list, &row) || row >= s->stack_count ||
		    wire_read_varint(&list, &kept.bytes) || wire_read_varint(&list, &kept.count) ||
		    wire_read_varint(&list, &hangs.bytes) || wire_read_varint(&list, &hangs.count))
			return recording_refuse(in, verdict_unread);
		s->stacks[row].kept = kept;
		s->stacks[row].hangs = hangs;
	}
	return 0;
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

static int take_verdict_reason(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct verdict *v = &((struct recorded_verdict *)to)->v;

	(void)in;
	if (f->type == WIRE_BYTES)
		text_copy(v->reason, sizeof(v->reason), (const char *)f->body.at,
			  wire_left(&f->body), &text_for_terminal);
	return 0;
}

static int take_verdict_notes(struct recording_in *in, const struct wire_field *f, void *to)
{
	struct recorded_verdict *r = to;
	int err = f->type == WIRE_BYTES ? note_take(f->body, r->to->stack_count, r->notes) : 0;

	return err == -EBADMSG ? recording_refuse(in, verdict_unread) : err;
}

int recording_take_verdict(struct recording_in *in, struct wire_reader message, struct snapshot *s,
			   struct recorded_notes *notes)
{
	const struct field *const tables[] = {recording_verdict_fields, unjoined_fields,
					      kept_fields, notes_fields};
	struct recorded_verdict r = {.v = s->verdict, .to = s, .notes = notes};
	int err = 0;

	for (size_t i = 0; !err && i < ARRAY_SIZE(tables); i++)
		err = fields_take(in, tables[i], message, &r, verdict_unread);
	if (r.v.state > VERDICT_TAKEN)
		r.v.state = VERDICT_NOT_ASKED;
	s->verdict = r.v;
	return !err && r.v.state == VERDICT_TAKEN ? note_fill_all(s, notes) : err;
}
