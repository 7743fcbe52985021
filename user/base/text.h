/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text that others wrote: names of programs, functions and files may hold any bytes, such as escape
 * sequences of a terminal. This is the only place that decodes and cleans them.
 */
#ifndef MEMLEAKBPF_BASE_TEXT_H
#define MEMLEAKBPF_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define UTF8_INVALID UINT32_MAX

/*
 * Returns the code point at *text, and moves *text behind it; 0 at the end of the string, where
 * *text stays. Bytes that are no UTF-8 come out as UTF8_INVALID, one byte at a time. RFC 3629
 * counts overlong forms, surrogates and all above U+10FFFF among them.
 */
uint32_t utf8_next(const char **text);

/*
 * Is the character harmful, though well-formed? These are: control characters, DEL, U+0080 to
 * U+009F (some terminals obey them), bidirectional controls, line and paragraph separators.
 */
bool text_is_harmful(uint32_t point);

/* Which characters a text must not hold at its destination, and what replaces them. */
struct text_rules {
	const char *special;	    /* ASCII characters; NULL: none */
	const char *const *instead; /* one for each character of `special` */
	/* replaces what is text_is_harmful() and not in `special`; NULL: all of these stay */
	const char *harmful;
	const char *invalid; /* replaces a byte that is no UTF-8; NULL: it stays */
};

/* For people at a terminal: '?' replaces what is harmful and what is no UTF-8. */
extern const struct text_rules text_for_terminal;

/* One character, cleaned: `len` bytes, which need not end with a NUL. */
struct text_piece {
	const char *bytes;
	size_t len;
	uint32_t point; /* of the character itself, or UTF8_INVALID */
};

/* Cleans the next character of the text, which must not be at its end; moves *text on. */
struct text_piece text_next(const char **text, const struct text_rules *rules);

/* Writes the text, cleaned. Returns its number of characters; without `out` writes nothing. */
size_t text_put(FILE *out, const char *text, const struct text_rules *rules);

/* text_put() for the terminal. */
size_t text_put_name(FILE *out, const char *name);

/*
 * Copies the first `len` bytes of the text, cleaned; a NUL ends it earlier. Cuts the copy at a
 * character's start where `size` bytes, the NUL included, are not enough. Returns the copy's
 * length. `to` may be `text` if the rules put no more than one byte in a character's place.
 */
size_t text_copy(char *to, size_t size, const char *text, size_t len,
		 const struct text_rules *rules);

/* Copies a list of strings that ends with NULL, for text_list_free(); NULL when out of memory. */
char **text_list_copy(char *const *list);
void text_list_free(char *const *list); /* NULL is fine */

#endif
