// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/runtime/runtime_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A character is up to 3 bytes of UTF-8 where it takes less than 4; and a mark that it goes on. */
#define TEXT_BYTES (3 * RUNTIME_TEXT_BYTES + sizeof("…"))

static char *put_utf8(char *to, uint32_t point)
{
	if (point < 0x80) {
		*to++ = (char)point;
	} else if (point < 0x800) {
		*to++ = (char)(0xc0 | point >> 6);
		*to++ = (char)(0x80 | (point & 63));
	} else if (point < 0x10000) {
		*to++ = (char)(0xe0 | point >> 12);
		*to++ = (char)(0x80 | (point >> 6 & 63));
		*to++ = (char)(0x80 | (point & 63));
	} else if (point <= 0x10ffff) {
		*to++ = (char)(0xf0 | point >> 18);
		*to++ = (char)(0x80 | (point >> 12 & 63));
		*to++ = (char)(0x80 | (point >> 6 & 63));
		*to++ = (char)(0x80 | (point & 63));
	} else {
		*to++ = '?';
	}
	return to;
}

/* NULL: it is no string. */
static char *runtime_text_put(char *to, const struct runtime_text *text)
{
	uint32_t there, point;

	if (text->width != 1 && text->width != 2 && text->width != 4)
		return NULL;
	there = RUNTIME_TEXT_BYTES / text->width;
	for (uint32_t i = 0; i < text->length && i < there; i++) {
		point = 0;
		/* Of this machine's byte order, which is the little-endian one. */
		memcpy(&point, text->bytes + i * text->width, text->width);
		to = put_utf8(to, point ? point : '?');
	}
	return text->length > there ? stpcpy(to, "…") : to;
}

char *runtime_text_name(const struct runtime_text *parts, size_t count)
{
	char *name = malloc(count * TEXT_BYTES + 1), *to = name;

	for (size_t i = 0; to && i < count; i++)
		to = runtime_text_put(to, &parts[i]);
	if (!to || to == name) {
		free(name);
		return NULL;
	}
	*to = '\0';
	return name;
}

const char *runtime_text_copy(const uint8_t *bytes, uint32_t length, uint32_t most,
			      char to[static RUNTIME_COPY_MAX])
{
	size_t size = length < most ? length : most;

	memcpy(to, bytes, size);
	for (size_t i = 0; i < size; i++)
		to[i] = to[i] ? to[i] : '?';
	snprintf(to + size, RUNTIME_COPY_MAX - size, "%s", length > most ? "…" : "");
	return length ? to : NULL;
}
