// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * By the tables of all messages: each row comes back as it was put, numbers are given once, and what
 * nobody wrote is taken or refused.
 */
#include <endian.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "tests/fuzz/made_recording.h"
#include "tests/unit/rounds.h"
#include "tests/unit/sample_snapshot.h"
#include "user/base/util.h"
#include "user/recording/recording_names.h"

#define ROWS_MAX   128
#define STRUCT_MAX 65536

/* Each table of a message and of its parts. */
static void each_table(const struct field *table, void (*look)(const struct field *table))
{
	look(table);
	for (; table->number; table++) {
		if (table->parts)
			each_table(table->parts, look);
	}
}

static void all_tables(void (*look)(const struct field *table))
{
	int tables = 0;

	for (unsigned message = 0; message < MESSAGES; message++) {
		const struct field *table = recording_message_fields(message);

		if (table)
			each_table(table, look);
		tables += table != NULL;
	}
	assert_int_equal(tables, 17);
	each_table(recording_verdict_fields, look);
}

/* ---- numbers ------------------------------------------------------------------------------ */

static void look_at_numbers(const struct field *table)
{
	for (const struct field *row = table; row->number; row++) {
		for (const struct field *other = row + 1; other->number; other++) {
			if (other->number != row->number)
				continue;
			/* Flags of a field are different bits, and follow each other. */
			assert_int_equal(row->form, FORM_FLAG);
			assert_int_equal(other->form, FORM_FLAG);
			assert_int_not_equal(row->bit, other->bit);
			assert_int_equal(row[1].number, row->number);
		}
	}
}

static void numbers(void **state)
{
	(void)state;
	all_tables(look_at_numbers);
}

/* ---- there and back ----------------------------------------------------------------------- */

static const char text[] = "a text";

static void fill(const struct field *row, char *to, uint64_t *random)
{
	const char *string = text;
	const size_t len = 3;
	uint64_t value = made_random(random) >> 33 | 1;
	double real = (double)value / 8;

	switch (row->form) {
	case FORM_NUMBER:
	case FORM_FLAG:
	case FORM_PID:
	case FORM_FIXED:
		memcpy(to + row->at, &value, row->size);
		if (row->size == 1)
			to[row->at] = 1;
		break;
	case FORM_SIGNED:
		value = 0 - value;
		memcpy(to + row->at, &value, sizeof(value));
		break;
	case FORM_DOUBLE:
		memcpy(to + row->at, &real, sizeof(real));
		break;
	case FORM_STRING_BYTES:
		memcpy(to + row->count_at, &len, sizeof(len));
		memcpy(to + row->at, &string, sizeof(string));
		break;
	case FORM_STRING:
	case FORM_TEXT:
		memcpy(to + row->at, &string, sizeof(string));
		break;
	case FORM_CHARS:
		memcpy(to + row->at, text, sizeof(text));
		break;
	case FORM_LIST:
		for (size_t i = 0; i < row->size / sizeof(value); i++)
			memcpy(to + row->at + i * sizeof(value), &value, sizeof(value));
		break;
	default:
		break;
	}
}

static void assert_back(const struct field *row, const char *put, const char *taken)
{
	char *string;

	switch (row->form) {
	case FORM_STRING_BYTES:
		assert_memory_equal(taken + row->count_at, put + row->count_at, sizeof(size_t));
		memcpy(&string, taken + row->at, sizeof(string));
		assert_memory_equal(string, text, 3);
		break;
	case FORM_STRING:
	case FORM_TEXT:
		memcpy(&string, taken + row->at, sizeof(string));
		assert_string_equal(string, text);
		if (row->form == FORM_TEXT)
			free(string);
		break;
	default:
		assert_memory_equal(taken + row->at, put + row->at, row->size);
		break;
	}
}

/* Those that need nothing but their member. */
static void look_there_and_back(const struct field *table)
{
	_cleanup_free_ char *put = calloc(1, STRUCT_MAX), *taken = calloc(1, STRUCT_MAX);
	struct recording_out out = {.table = frame_table_new()};
	struct field rows[ROWS_MAX + 1] = {0};
	uint32_t ids[ROWS_MAX];
	struct recording_in in = {.table = out.table, .strings = {.ids = ids}};
	struct wire_reader message;
	struct wire_field f;
	uint64_t random = 7;
	size_t count = 0;

	for (; table->number; table++) {
		/* Losses go by the header's names of their causes. */
		if (table->form == FORM_OWN || table->form == FORM_LOST || table->parts)
			continue;
		assert_true(count < ROWS_MAX && table->at + table->size <= STRUCT_MAX);
		rows[count++] = *table;
	}
	for (size_t i = 0; i < count; i++)
		fill(&rows[i], put, &random);
	assert_int_equal(fields_name(&out, rows, put), 0);
	assert_int_equal(fields_put_part(&out, 1, rows, put), 0);
	in.strings.count = frame_table_string_count(out.table);
	for (uint32_t i = 0; i < in.strings.count; i++)
		ids[i] = i + 1;
	message =
		(struct wire_reader){out.chunk.body.data, out.chunk.body.data + out.chunk.body.len};
	assert_int_equal(wire_next(&message, &f), 1);
	assert_int_equal(fields_take(&in, rows, f.body, taken, "it cannot be read"), 0);
	for (size_t i = 0; i < count; i++)
		assert_back(&rows[i], put, taken);
	wire_free(&out.chunk.body);
	frame_table_free(out.table);
}

static void there_and_back(void **state)
{
	(void)state;
	all_tables(look_there_and_back);
}

/* ---- what nobody wrote -------------------------------------------------------------------- */

/* A recording with a snapshot, and behind it a chunk of made-up messages. */
static void append_chunk(FILE *out, const struct wire *body)
{
	uint32_t prefix[2] = {htole32((uint32_t)body->len),
			      htole32((uint32_t)crc32(0, body->data, (uInt)body->len))};

	fwrite(prefix, 1, sizeof(prefix), out);
	fwrite(body->data, 1, body->len, out);
}

/* How many items it has; *refused: it is damaged. */
static int read_all(char *data, size_t len, bool *refused)
{
	FILE *in = fmemopen(data, len, "r");
	struct recording_reader *reader;
	struct recording_item item;
	int items = 0, got;

	assert_int_equal(recording_reader_new(in, "made", &reader), 0);
	while ((got = recording_reader_next(reader, &item)) > 0) {
		items++;
		snapshot_free(item.snapshot);
		inspection_free(item.inspection);
	}
	*refused = got == -EBADMSG;
	assert_true(*refused || !got);
	recording_reader_free(reader);
	fclose(in);
	return items;
}

static void made_up(void **state)
{
	const struct recording_info info = {.host = "box"};
	int taken = 0, refused = 0;
	uint64_t random = 3;

	(void)state;
	for (int i = 0; i < rounds(2000); i++) {
		struct snapshot s = sample_snapshot();
		struct recording_writer *w;
		struct wire made = {0};
		char *data = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&data, &len);
		bool damaged;

		assert_int_equal(recording_writer_new(out, &info, &w), 0);
		assert_int_equal(sample_record(w, &s), 0);
		made_messages(&made, &random);
		append_chunk(out, &made);
		assert_int_equal(fclose(out), 0);
		taken += read_all(data, len, &damaged) > 1;
		refused += damaged;
		recording_writer_free(w);
		wire_free(&made);
		free(data);
	}
	/* Both are tried: it would say nothing if all were refused at their first field. */
	assert_true(taken > rounds(2000) / 20 && refused > rounds(2000) / 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(made_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
