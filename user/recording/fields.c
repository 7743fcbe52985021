// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/recording/fields.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bpf/lost_cause.h"
#include "user/recording/recording_names.h"

static const void *field_of(const struct field *field, const void *from)
{
	return (const char *)from + field->at;
}

static uint64_t field_number(const struct field *field, const void *from)
{
	const void *at = field_of(field, from);
	uint64_t number;
	uint32_t small;

	if (field->size == 1)
		return *(const bool *)at;
	/* Copied: it may be an enum, or the bits of a double. */
	if (field->size == sizeof(number)) {
		memcpy(&number, at, sizeof(number));
		return number;
	}
	memcpy(&small, at, sizeof(small));
	return small;
}

static size_t field_count(const struct field *field, const void *from)
{
	return *(const size_t *)((const char *)from + field->count_at);
}

/* Copied: it may point to chars or to bytes. */
static const char *field_text(const struct field *field, const void *from)
{
	const char *text;

	memcpy(&text, field_of(field, from), sizeof(text));
	return text;
}

/* Of a string, which is in the table of names already. 0 for NULL, or when that has no room. */
static int field_string(struct recording_out *out, const struct field *field, const void *from,
			uint32_t *id)
{
	const char *text = field_text(field, from);

	*id = 0;
	if (!text)
		return 0;
	if (field->form == FORM_STRING)
		return frame_table_string(out->table, text, id);
	return frame_table_bytes(out->table, text, field_count(field, from), id);
}

/* ---- writing ------------------------------------------------------------------------------ */

int fields_name(struct recording_out *out, const struct field *table, const void *from)
{
	uint32_t id;
	int err = 0;

	for (; !err && table->number; table++) {
		if (table->form == FORM_STRING || table->form == FORM_STRING_BYTES)
			err = field_string(out, table, from, &id);
	}
	return err;
}

static uint64_t field_flags(const struct field *first, const void *from)
{
	uint64_t flags = 0;

	for (const struct field *row = first; row->number == first->number; row++)
		flags |= (uint64_t) * (const bool *)field_of(row, from) << row->bit;
	return flags;
}

static bool field_is_zero(const struct field *field, const char *at)
{
	size_t i = 0;

	while (i < field->size && !at[i])
		i++;
	return i == field->size;
}

static void field_put_list(struct wire *to, const struct field *field, const uint64_t *numbers)
{
	bool lost = field->form == FORM_LOST;
	/* An array by causes has more elements than there are causes. */
	size_t count = lost ? LOST_CAUSES : field->size / sizeof(*numbers), mark;

	if (field->if_any && field_is_zero(field, (const char *)numbers))
		return;
	while (field->if_any && !lost && !numbers[count - 1])
		count--;
	mark = wire_open(to, field->number);
	for (size_t i = 0; i < count; i++)
		wire_varint(to, numbers[i]);
	wire_close(to, mark);
}

static void field_put_number(struct wire *to, const struct field *field, uint64_t number)
{
	if (number || !field->if_any)
		wire_uint(to, field->number, number);
}

static int field_put_parts(struct recording_out *out, const struct field *field, const void *from)
{
	const char *items = field_text(field, from);
	int err = 0;

	for (size_t i = 0; !err && i < field_count(field, from) && i < field->most; i++)
		err = fields_put_part(out, field->number, field->parts,
				      items + i * field->part_size);
	return err;
}

static int field_put(struct recording_out *out, const struct field *field, const void *from)
{
	const void *at = field_of(field, from);
	struct wire *to = &out->chunk.body;
	uint32_t id;
	int err;

	switch (field->form) {
	case FORM_NUMBER:
		field_put_number(to, field, field_number(field, from));
		return 0;
	case FORM_SIGNED:
		wire_sint(to, field->number, *(const int64_t *)at);
		return 0;
	case FORM_PID:
		wire_uint(to, field->number, (uint64_t) * (const pid_t *)at);
		return 0;
	case FORM_FIXED:
		wire_fixed64(to, field->number, *(const uint64_t *)at);
		return 0;
	case FORM_DOUBLE:
		wire_double(to, field->number, *(const double *)at);
		return 0;
	case FORM_FLAG:
		field_put_number(to, field, field_flags(field, from));
		return 0;
	case FORM_STRING:
	case FORM_STRING_BYTES:
		err = field_string(out, field, from, &id);
		field_put_number(to, field, id);
		return err;
	case FORM_TEXT:
		if (field_text(field, from))
			wire_string(to, field->number, field_text(field, from));
		return 0;
	case FORM_CHARS:
		if (!field->if_any || *(const char *)at)
			wire_bytes(to, field->number, at, strnlen(at, field->size));
		return 0;
	case FORM_LIST:
	case FORM_LOST:
		field_put_list(to, field, at);
		return 0;
	case FORM_PART:
		return field_is_zero(field, at)
			       ? 0
			       : fields_put_part(out, field->number, field->parts, at);
	case FORM_PARTS:
		return field_put_parts(out, field, from);
	case FORM_OWN:
		return field->put(out, field->number, from);
	}
	return 0;
}

/* The last row of the field: all flags of a number are one. */
static const struct field *field_last(const struct field *field)
{
	while (field->form == FORM_FLAG && field[1].number == field->number)
		field++;
	return field;
}

int fields_put(struct recording_out *out, const struct field *table, const void *from)
{
	int err = 0;

	for (; !err && table->number; table = field_last(table) + 1)
		err = field_put(out, table, from);
	return err;
}

static bool field_same(const struct field *field, const void *from, const void *last)
{
	if (field->form == FORM_FLAG)
		return field_flags(field, from) == field_flags(field, last);
	return !memcmp(field_of(field, from), field_of(field, last), field->size);
}

int fields_put_changed(struct recording_out *out, const struct field *table, const void *from,
		       const void *last)
{
	int err = 0;

	for (; !err && table->number; table = field_last(table) + 1) {
		if (!field_same(table, from, last))
			err = field_put(out, table, from);
	}
	return err;
}

int fields_put_part(struct recording_out *out, unsigned number, const struct field *table,
		    const void *from)
{
	size_t mark = wire_open(&out->chunk.body, number);
	int err = fields_put(out, table, from);

	wire_close(&out->chunk.body, mark);
	return err;
}

/* ---- reading ------------------------------------------------------------------------------ */

static const enum wire_type field_types[] = {
	[FORM_NUMBER] = WIRE_VARINT, [FORM_SIGNED] = WIRE_VARINT,	[FORM_PID] = WIRE_VARINT,
	[FORM_FIXED] = WIRE_FIXED64, [FORM_DOUBLE] = WIRE_FIXED64,	[FORM_FLAG] = WIRE_VARINT,
	[FORM_STRING] = WIRE_VARINT, [FORM_STRING_BYTES] = WIRE_VARINT, [FORM_TEXT] = WIRE_BYTES,
	[FORM_CHARS] = WIRE_BYTES,   [FORM_LIST] = WIRE_BYTES,		[FORM_LOST] = WIRE_BYTES,
	[FORM_PART] = WIRE_BYTES,    [FORM_PARTS] = WIRE_BYTES,
};

static void field_set_number(const struct field *field, uint64_t number, void *at)
{
	uint32_t small = (uint32_t)number;

	if (field->size == 1)
		*(bool *)at = number != 0;
	else if (field->size == sizeof(number))
		memcpy(at, &number, sizeof(number));
	else
		memcpy(at, &small, sizeof(small));
}

static int field_take_string(struct recording_in *in, uint64_t number, void *to, size_t *len)
{
	const char *text;

	if (!recording_string(in, number, &text, len))
		return recording_refuse(in, "a string that is not there");
	memcpy(to, &text, sizeof(text));
	return 0;
}

/* In place of one that has come before. */
static int field_take_text(char **to, const struct wire_reader *body)
{
	char *copy = strndup((const char *)body->at, wire_left(body));

	if (!copy)
		return -ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

static void field_take_chars(const struct field *field, const struct wire_reader *body, char *to)
{
	size_t len = wire_left(body) < field->size ? wire_left(body) : field->size - 1;

	memset(to, 0, field->size);
	if (len)
		memcpy(to, body->at, len);
}

/* A later version may have more of them. */
static int field_take_list(struct recording_in *in, const struct field *field,
			   struct wire_reader body, uint64_t *numbers, const char *why)
{
	for (size_t i = 0; i < field->size / sizeof(*numbers) && wire_left(&body); i++) {
		if (wire_read_varint(&body, &numbers[i]))
			return recording_refuse(in, why);
	}
	return 0;
}

static int field_take_lost(struct recording_in *in, struct wire_reader body, uint64_t *lost)
{
	const struct number_list *causes = &in->header.causes;

	for (size_t i = 0; wire_left(&body); i++) {
		uint64_t count;

		if (wire_read_varint(&body, &count))
			return recording_refuse(in, "losses cannot be read");
		if (i < causes->count && causes->numbers[i] >= 0)
			lost[causes->numbers[i]] = count;
	}
	return 0;
}

/* There is room for a power of two. */
static int field_take_parts(struct recording_in *in, const struct field *field,
			    struct wire_reader body, void *to, const char *why)
{
	size_t *count = (size_t *)((char *)to + field->count_at), size = field->part_size;
	void *at = (char *)to + field->at;
	char *items, *item;

	memcpy(&items, at, sizeof(items));
	if (*count >= field->most)
		return recording_refuse(in, "there are too many of a kind");
	if (!(*count & (*count - 1))) {
		items = reallocarray(items, *count ? 2 * *count : 1, size);
		if (!items)
			return -ENOMEM;
		memcpy(at, &items, sizeof(items));
	}
	item = items + (*count)++ * size;
	if (field->blank)
		memcpy(item, field->blank, size);
	else
		memset(item, 0, size);
	return fields_take(in, field->parts, body, item, why);
}

static int field_take(struct recording_in *in, const struct field *field,
		      const struct wire_field *f, void *to, const char *why)
{
	void *at = (char *)to + field->at;

	switch (field->form) {
	case FORM_NUMBER:
		field_set_number(field, f->number, at);
		return 0;
	case FORM_SIGNED:
		*(int64_t *)at = wire_unzigzag(f->number);
		return 0;
	case FORM_PID:
		if (f->number <= INT_MAX)
			*(pid_t *)at = (pid_t)f->number;
		return 0;
	case FORM_FIXED:
	case FORM_DOUBLE:
		memcpy(at, &f->number, sizeof(f->number));
		return 0;
	case FORM_FLAG:
		for (const struct field *row = field; row->number == field->number; row++)
			*(bool *)((char *)to + row->at) = f->number >> row->bit & 1;
		return 0;
	case FORM_STRING:
		return field_take_string(in, f->number, at, NULL);
	case FORM_STRING_BYTES:
		return field_take_string(in, f->number, at,
					 (size_t *)((char *)to + field->count_at));
	case FORM_TEXT:
		return field_take_text(at, &f->body);
	case FORM_CHARS:
		field_take_chars(field, &f->body, at);
		return 0;
	case FORM_LIST:
		return field_take_list(in, field, f->body, at, why);
	case FORM_LOST:
		return field_take_lost(in, f->body, at);
	case FORM_PART:
		return fields_take(in, field->parts, f->body, at, why);
	case FORM_PARTS:
		return field_take_parts(in, field, f->body, to, why);
	case FORM_OWN:
		return field->take(in, f, to);
	}
	return 0;
}

/* The first of its rows, searched from `next` on: fields come in the order of the rows. NULL: none. */
static const struct field *field_find(const struct field *table, const struct field *next,
				      unsigned number)
{
	for (const struct field *row = next; row->number; row++) {
		if (row->number == number)
			return row;
	}
	for (const struct field *row = table; row != next; row++) {
		if (row->number == number)
			return row;
	}
	return NULL;
}

int fields_take(struct recording_in *in, const struct field *table, struct wire_reader message,
		void *to, const char *why)
{
	const struct field *next = table;
	struct wire_field f;
	int got, err = 0;

	while (!err && (got = wire_next(&message, &f)) > 0) {
		const struct field *row = field_find(table, next, f.field);

		if (!row)
			continue;
		next = row;
		/* Whoever takes a field in by itself looks at its type, too. */
		if (row->form == FORM_OWN || f.type == field_types[row->form])
			err = field_take(in, row, &f, to, why);
	}
	return err ? err : got < 0 ? recording_refuse(in, why) : 0;
}
