// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/otlp_tables.h"

#include <stdlib.h>
#include <string.h>

#include "user/base/hash.h"
#include "user/export/render.h"

/* KeyValueAndUnit */
enum attribute_field { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2 };
/* Link: a trace and a span, which no sample has. */
enum link_field { LINK_TRACE = 1, LINK_SPAN = 2 };

struct otlp_row {
	uint8_t *content;
	size_t len;
	uint32_t index;
	UT_hash_handle hh;
};

static void otlp_row_free(struct otlp_row *row)
{
	free(row->content);
	free(row);
}

void otlp_tables_init(struct otlp_tables *tables)
{
	static const uint8_t nothing[16];
	struct wire message = {0};

	*tables = (struct otlp_tables){0};
	for (enum otlp_table table = OTLP_MAPPINGS; table < OTLP_TABLES; table++) {
		if (table == OTLP_LINKS) {
			wire_bytes(&message, LINK_TRACE, nothing, 16);
			wire_bytes(&message, LINK_SPAN, nothing, 8);
		}
		otlp_row(tables, table, &message);
		wire_reset(&message);
	}
	wire_free(&message);
}

void otlp_tables_release(struct otlp_tables *tables)
{
	for (int table = 0; table < OTLP_TABLES; table++) {
		struct otlp_row *row, *next;

		HASH_ITER (hh, tables->rows[table], row, next) {
			HASH_DEL(tables->rows[table], row);
			otlp_row_free(row);
		}
	}
	wire_free(&tables->scratch);
}

static struct otlp_row *otlp_row_new(const struct wire *message, uint32_t index)
{
	struct otlp_row *row = calloc(1, sizeof(*row));

	if (!row)
		return NULL;
	row->len = message->len;
	row->index = index;
	row->content = malloc(row->len + 1);
	if (!row->content) {
		free(row);
		return NULL;
	}
	if (row->len)
		memcpy(row->content, message->data, row->len);
	return row;
}

uint32_t otlp_row(struct otlp_tables *tables, enum otlp_table table, const struct wire *message)
{
	struct otlp_row *row = NULL;

	if (message->failed)
		tables->failed = true;
	if (tables->failed)
		return 0;
	if (message->len)
		HASH_FIND(hh, tables->rows[table], message->data, message->len, row);
	else if (tables->counts[table])
		return 0; /* an empty message is row 0 */
	if (row)
		return row->index;
	row = otlp_row_new(message, tables->counts[table]);
	if (row)
		HASH_ADD_KEYPTR(hh, tables->rows[table], row->content, row->len, row);
	if (!row || !row->hh.tbl) {
		if (row)
			otlp_row_free(row);
		tables->failed = true;
		return 0;
	}
	tables->counts[table]++;
	return row->index;
}

uint32_t otlp_string(struct otlp_tables *tables, const char *text)
{
	struct wire *scratch = &tables->scratch;
	struct wire_reader reader;
	struct wire_field field;

	if (!text || !*text)
		return 0;
	/* As a field first: what readers refuse is replaced there. The row is its content. */
	wire_reset(scratch);
	wire_put_name(scratch, OTLP_STRINGS, text);
	reader = (struct wire_reader){scratch->data, scratch->data + scratch->len};
	if (scratch->failed || wire_next(&reader, &field) != 1) {
		tables->failed = true;
		return 0;
	}
	return otlp_row(
		tables, OTLP_STRINGS,
		&(struct wire){.data = (uint8_t *)field.body.at, .len = wire_left(&field.body)});
}

uint32_t otlp_attribute(struct otlp_tables *tables, const char *key, const char *text)
{
	uint32_t key_index = otlp_string(tables, key), index;
	struct wire message = {0};
	size_t mark;

	otlp_uint(&message, ATTRIBUTE_KEY, key_index);
	mark = wire_open(&message, ATTRIBUTE_VALUE);
	wire_put_name(&message, ANY_VALUE_STRING, text);
	wire_close(&message, mark);
	index = otlp_row(tables, OTLP_ATTRIBUTES, &message);
	wire_free(&message);
	return index;
}

void otlp_tables_put(struct otlp_tables *tables, struct wire *out, unsigned field)
{
	size_t mark = wire_open(out, field);

	for (enum otlp_table table = OTLP_MAPPINGS; table < OTLP_TABLES; table++) {
		struct otlp_row *row, *next;

		HASH_ITER (hh, tables->rows[table], row, next)
			wire_bytes(out, table, row->content, row->len);
	}
	wire_close(out, mark);
	if (tables->failed)
		out->failed = true;
}

void otlp_uint(struct wire *out, unsigned field, uint64_t value)
{
	if (value)
		wire_uint(out, field, value);
}
