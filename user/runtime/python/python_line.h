/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_RUNTIME_PYTHON_LINE_H
#define MEMLEAKBPF_RUNTIME_PYTHON_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The beginning of a code object's table of lines, or the whole of it. It may be anything. */
struct python_table {
	const uint8_t *bytes;
	size_t size;
	bool whole;
};

/*
 * The line of an instruction by the table, as CPython of that version (sys.hexversion) has it. `unit` is
 * the instruction's number in units of two bytes; -1: before the first. 0: it has none, or the table does
 * not go so far.
 */
uint32_t python_line(const struct python_table *table, uint32_t version, int32_t first_line,
		     int64_t unit);

#endif
