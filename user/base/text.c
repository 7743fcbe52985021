// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/base/text.h"

#include <stdlib.h>
#include <string.h>

const struct text_rules text_for_terminal = {.harmful = "?", .invalid = "?"};

/* Decodes the first code point of `len` bytes, more than 0; *used is how many it takes. */
static uint32_t utf8_decode(const char *text, size_t len, size_t *used)
{
	const unsigned char *c = (const unsigned char *)text;
	uint32_t point, min;
	size_t bytes;

	*used = 1;
	if (*c < 0x80)
		return *c;
	if (*c >= 0xc2 && *c <= 0xdf) {
		bytes = 2;
		min = 0x80;
		point = *c & 0x1f;
	} else if ((*c & 0xf0) == 0xe0) {
		bytes = 3;
		min = 0x800;
		point = *c & 0x0f;
	} else if (*c >= 0xf0 && *c <= 0xf4) {
		bytes = 4;
		min = 0x10000;
		point = *c & 0x07;
	} else {
		return UTF8_INVALID;
	}
	for (size_t i = 1; i < bytes; i++) {
		/* Stops at a terminating NUL, too: it is no continuation byte. */
		if (i >= len || (c[i] & 0xc0) != 0x80)
			return UTF8_INVALID;
		point = point << 6 | (c[i] & 0x3f);
	}
	if (point < min || point > 0x10ffff || (point >= 0xd800 && point <= 0xdfff))
		return UTF8_INVALID;
	*used = bytes;
	return point;
}

uint32_t utf8_next(const char **text)
{
	size_t used;
	uint32_t point = utf8_decode(*text, SIZE_MAX, &used);

	*text += point ? used : 0;
	return point;
}

bool text_is_harmful(uint32_t point)
{
	if (point < 0x20 || (point >= 0x7f && point < 0xa0))
		return true;
	return point == 0x200e || point == 0x200f || (point >= 0x2028 && point <= 0x202e) ||
	       (point >= 0x2066 && point <= 0x2069);
}

static struct text_piece text_clean(const char *text, size_t len, const struct text_rules *rules,
				    size_t *used)
{
	struct text_piece piece = {.bytes = text, .point = utf8_decode(text, len, used)};
	const char *instead = NULL, *special = NULL;

	if (rules->special && piece.point && piece.point < 0x80)
		special = strchr(rules->special, (int)piece.point);
	if (special)
		instead = rules->instead[special - rules->special];
	else if (piece.point == UTF8_INVALID)
		instead = rules->invalid;
	else if (text_is_harmful(piece.point))
		instead = rules->harmful;
	if (instead)
		piece.bytes = instead;
	piece.len = instead ? strlen(instead) : *used;
	return piece;
}

struct text_piece text_next(const char **text, const struct text_rules *rules)
{
	size_t used;
	struct text_piece piece = text_clean(*text, SIZE_MAX, rules, &used);

	*text += used;
	return piece;
}

/* How many bytes from here on are printable ASCII that stays? Most names are nothing else. */
static size_t text_plain_length(const char *text, const struct text_rules *rules)
{
	const char *special = rules->special ?: "";
	size_t len = 0;

	for (; text[len] >= ' ' && text[len] <= '~'; len++) {
		for (const char *s = special; *s; s++) {
			if (*s == text[len])
				return len;
		}
	}
	return len;
}

size_t text_put(FILE *out, const char *text, const struct text_rules *rules)
{
	size_t width = 0;

	while (*text) {
		size_t plain = text_plain_length(text, rules);
		struct text_piece piece = {.bytes = text, .len = plain};

		text += plain;
		width += plain;
		if (!plain) {
			piece = text_next(&text, rules);
			width++;
		}
		if (out)
			fwrite(piece.bytes, 1, piece.len, out);
	}
	return width;
}

size_t text_put_name(FILE *out, const char *name)
{
	return text_put(out, name, &text_for_terminal);
}

size_t text_copy(char *to, size_t size, const char *text, size_t len,
		 const struct text_rules *rules)
{
	size_t written = 0, used;

	for (size_t at = 0; at < len && text[at]; at += used) {
		struct text_piece piece = text_clean(text + at, len - at, rules, &used);

		if (written + piece.len >= size)
			break;
		memmove(to + written, piece.bytes, piece.len);
		written += piece.len;
	}
	to[written] = '\0';
	return written;
}

char **text_list_copy(char *const *list)
{
	size_t count = 0;
	char **copy;

	while (list[count])
		count++;
	copy = calloc(count + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < count; i++) {
		copy[i] = strdup(list[i]);
		if (!copy[i]) {
			text_list_free(copy);
			return NULL;
		}
	}
	return copy;
}

void text_list_free(char *const *list)
{
	for (char *const *each = list; each && *each; each++)
		free(*each);
	free((void *)list);
}
