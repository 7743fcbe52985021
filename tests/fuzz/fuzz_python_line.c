// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libFuzzer: a code object's table of lines that is garbage. The first four bytes are its first line.
 */
#include "tests/fuzz/fuzz.h"

#include "bpf/runtime/python_abi.h"
#include "user/base/util.h"
#include "user/runtime/python/python_line.h"

/* An entry of one byte at least is for 8 units at most, and one of two bytes for 127. */
#define UNITS_OF_A_BYTE 64
/* Of how many units of a table: each is a walk from its beginning. */
#define ASKED 512

/* The kinds of tables. */
static const uint32_t versions[] = {0x03080000, 0x030a0000, 0x030b02f0};

/* What is there of a table that was cut tells the line of the whole one, or none. */
static void ask(const struct python_table *whole, const struct python_table *part, uint32_t version,
		int32_t first_line, int64_t unit)
{
	uint32_t line = python_line(whole, version, first_line, unit);
	uint32_t of_part = python_line(part, version, first_line, unit);

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
	struct python_table of_whole = {.whole = true}, of_part = {0};
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

	of_whole.bytes = whole;
	of_whole.size = size;
	of_part.bytes = part;
	of_part.size = part_size;
	units = (int64_t)size * UNITS_OF_A_BYTE;
	step = units / ASKED + 1;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		for (int64_t unit = -1; unit < units; unit += step)
			ask(&of_whole, &of_part, versions[i], first_line, unit);
		ask(&of_whole, &of_part, versions[i], first_line, INT64_MIN);
		/* Before 3.10 the last line goes on to the end of the code. */
		MUST(!python_line(versions[i] < 0x030a0000 ? &of_part : &of_whole, versions[i],
				  first_line, units));
		MUST(!python_line(&of_whole, versions[i], first_line, INT64_MAX));
	}
	free(whole);
	free(part);
	return 0;
}
