/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The lines of a JavaScript source, as V8 counts them (String::CalculateLineEnds()). */
#ifndef MEMLEAKBPF_RUNTIME_V8_LINE_H
#define MEMLEAKBPF_RUNTIME_V8_LINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct v8_lines {
	uint32_t *begins; /* of all but the first: the characters that they begin with */
	size_t count, room;
	uint32_t at; /* characters so far */
	bool after_cr;
};

/* Takes the next `count` characters, of `width` bytes each (1 or 2). False: out of memory. */
bool v8_lines_add(struct v8_lines *lines, const void *characters, size_t count, unsigned width);
void v8_lines_free(struct v8_lines *lines);

/* In which line character number `at` is, from 1 on; 0: it is not in what was added. */
uint32_t v8_lines_find(const struct v8_lines *lines, uint32_t at);

#endif
