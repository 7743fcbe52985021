/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef MEMLEAKBPF_SYMBOL_PYTHON_LINE_H
#define MEMLEAKBPF_SYMBOL_PYTHON_LINE_H

#include <stddef.h>
#include <stdint.h>

/*
 * The line of an instruction by a code object's location table, as CPython has it from 3.11 on
 * (Objects/locations.md in its sources), of which the first `size` bytes are there. `unit` is the instruction's
 * number in units of two bytes; -1: before the first. 0: it has none, or the table does not go so
 * far. The table may be anything.
 */
uint32_t python_line(const uint8_t *table, size_t size, int32_t first_line, int64_t unit);

#endif
