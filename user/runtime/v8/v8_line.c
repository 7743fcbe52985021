// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/v8/v8_line.h"

#include <stdlib.h>
#include <string.h>

static bool v8_lines_begin(struct v8_lines *lines, uint32_t at)
{
	if (lines->count == lines->room) {
		size_t room = lines->room ? 2 * lines->room : 256;
		uint32_t *grown = reallocarray(lines->begins, room, sizeof(*grown));

		if (!grown)
			return false;
		lines->begins = grown;
		lines->room = room;
	}
	lines->begins[lines->count++] = at;
	return true;
}

static bool v8_lines_take(struct v8_lines *lines, uint16_t c)
{
	bool ends = c == '\n' || c == 0x2028 || c == 0x2029;

	/* CR LF ends one line. */
	if (lines->after_cr && c != '\n' && !v8_lines_begin(lines, lines->at))
		return false;
	lines->after_cr = c == '\r';
	lines->at++;
	return !ends || v8_lines_begin(lines, lines->at);
}

bool v8_lines_add(struct v8_lines *lines, const void *characters, size_t count, unsigned width)
{
	const uint8_t *bytes = characters;

	for (size_t i = 0; i < count; i++) {
		uint16_t c = bytes[i * width];

		if (width == 2)
			memcpy(&c, bytes + 2 * i, 2);
		if (!v8_lines_take(lines, c))
			return false;
	}
	return true;
}

void v8_lines_free(struct v8_lines *lines)
{
	free(lines->begins);
	*lines = (struct v8_lines){0};
}

uint32_t v8_lines_find(const struct v8_lines *lines, uint32_t at)
{
	size_t low = 0, high = lines->count;

	if (at >= lines->at)
		return 0;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (lines->begins[middle] <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return (uint32_t)low + 1;
}
