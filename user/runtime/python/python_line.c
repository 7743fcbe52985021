// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/python/python_line.h"

#include <stdbool.h>

/* What an entry's first byte says of the rest. */
enum location_code {
	LOCATION_ONE_LINE0 = 10, /* to 12: so many lines on; two columns follow, a byte each */
	LOCATION_ONE_LINE2 = 12,
	LOCATION_NO_COLUMNS,
	LOCATION_LONG,
	LOCATION_NONE,
};

/* Of code. */
#define UNIT_BYTES 2
/* In place of a number of lines: this code has none. */
#define RANGE_WITHOUT_LINE (-128)

struct location_reader {
	const uint8_t *at, *end;
	bool failed; /* the table ends in the middle of an entry, or it is none */
};

static uint32_t line_number(int64_t line)
{
	return line > 0 && line <= INT32_MAX ? (uint32_t)line : 0;
}

static uint64_t location_varint(struct location_reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 36; shift += 6) {
		uint8_t byte;

		if (r->at == r->end)
			break;
		byte = *r->at++;
		value |= (uint64_t)(byte & 63) << shift;
		if (!(byte & 64))
			return value;
	}
	r->failed = true;
	return 0;
}

static int64_t location_signed(struct location_reader *r)
{
	uint64_t value = location_varint(r);

	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static void location_skip(struct location_reader *r, size_t bytes)
{
	if ((size_t)(r->end - r->at) < bytes)
		r->failed = true;
	else
		r->at += bytes;
}

/* How many lines on the entry is; what follows of it is passed over. */
static int64_t location_step(struct location_reader *r, unsigned code)
{
	int64_t step = 0;

	if (code == LOCATION_NONE)
		return 0;
	if (code == LOCATION_LONG || code == LOCATION_NO_COLUMNS)
		step = location_signed(r);
	else if (code >= LOCATION_ONE_LINE0)
		step = code - LOCATION_ONE_LINE0;
	if (code == LOCATION_LONG) {
		for (int i = 0; i < 3; i++)
			location_varint(r);
	} else if (code != LOCATION_NO_COLUMNS) {
		location_skip(r, code >= LOCATION_ONE_LINE0 ? 2 : 1);
	}
	return step;
}

/* Objects/locations.md of CPython 3.11 and later. */
static uint32_t line_by_locations(const struct python_table *table, int64_t line, int64_t unit)
{
	struct location_reader r = {.at = table->bytes, .end = table->bytes + table->size};

	while (r.at != r.end) {
		uint8_t byte = *r.at++;
		unsigned code = byte >> 3 & 15;

		/* The first byte of an entry has this bit, and no other byte. */
		if (!(byte & 0x80))
			return 0;
		line += location_step(&r, code);
		unit -= (byte & 7) + 1;
		if (r.failed)
			return 0;
		if (unit < 0)
			return code != LOCATION_NONE ? line_number(line) : 0;
	}
	return 0;
}

/* Of 3.10, Objects/lnotab_notes.txt: how many bytes of code, and how many lines on they are. */
static uint32_t line_by_ranges(const struct python_table *table, int64_t line, int64_t unit)
{
	int64_t left = unit * UNIT_BYTES;

	for (size_t i = 0; i + 1 < table->size; i += 2) {
		int8_t step = (int8_t)table->bytes[i + 1];

		if (step != RANGE_WITHOUT_LINE)
			line += step;
		left -= table->bytes[i];
		if (left < 0)
			return step != RANGE_WITHOUT_LINE ? line_number(line) : 0;
	}
	return 0;
}

/* Of 3.8 and 3.9, the same file: how many bytes of code further on so many lines are added. */
static uint32_t line_by_steps(const struct python_table *table, int64_t line, int64_t unit)
{
	int64_t left = unit * UNIT_BYTES;

	for (size_t i = 0; i + 1 < table->size; i += 2) {
		left -= table->bytes[i];
		if (left < 0)
			return line_number(line);
		line += (int8_t)table->bytes[i + 1];
	}
	return table->whole ? line_number(line) : 0;
}

uint32_t python_line(const struct python_table *table, uint32_t version, int32_t first_line,
		     int64_t unit)
{
	if (unit < 0)
		return line_number(first_line);
	if (unit > INT32_MAX)
		return 0;
	if (version >> 16 >= 0x30b)
		return line_by_locations(table, first_line, unit);
	return version >> 16 == 0x30a ? line_by_ranges(table, first_line, unit)
				      : line_by_steps(table, first_line, unit);
}
