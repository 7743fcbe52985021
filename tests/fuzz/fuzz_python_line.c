// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libFuzzer: a code object's table of lines that is garbage. The first four bytes are its first line.
 */
#include "tests/fuzz/fuzz.h"

#include "bpf/python_abi.h"
#include "user/symbol/python_line.h"

/* An entry, of a byte at least, is for 8 units at most. */
#define UNITS_OF_A_BYTE 8
/* Of how many units of a table: each is a walk from its beginning. */
#define ASKED 512

/* What is there of a table that was cut tells the line of the whole one, or none. */
static void ask(const uint8_t *whole, size_t size, const uint8_t *part, size_t part_size,
		int32_t first_line, int64_t unit)
{
	uint32_t line = python_line(whole, size, first_line, unit);
	uint32_t of_part = python_line(part, part_size, first_line, unit);

	MUST(line <= INT32_MAX);
	if (unit < 0) {
		MUST(line == (first_line > 0 ? (uint32_t)first_line : 0));
		MUST(of_part == line);
	} else {
		MUST(!of_part || of_part == line);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int32_t first_line;
	int64_t units, step;
	uint8_t *whole, *part;
	size_t part_size;

	if (size < sizeof(first_line))
		return 0;
	memcpy(&first_line, data, sizeof(first_line));
	data += sizeof(first_line);
	size -= sizeof(first_line);
	/* As much as is ever sent of one. */
	if (size > PYTHON_TABLE_BYTES)
		size = PYTHON_TABLE_BYTES;
	part_size = size / 2;
	/* Each in memory of exactly its size, so that nothing is read behind it. */
	whole = malloc(size ?: 1);
	part = malloc(part_size ?: 1);
	if (!whole || !part)
		abort();
	memcpy(whole, data, size);
	memcpy(part, data, part_size);

	units = (int64_t)size * UNITS_OF_A_BYTE;
	step = units / ASKED + 1;
	for (int64_t unit = -1; unit < units; unit += step)
		ask(whole, size, part, part_size, first_line, unit);
	ask(whole, size, part, part_size, first_line, INT64_MIN);
	MUST(!python_line(whole, size, first_line, units));
	MUST(!python_line(whole, size, first_line, INT64_MAX));
	free(whole);
	free(part);
	return 0;
}
