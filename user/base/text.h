/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Text that others wrote: names of programs, functions and files may hold any bytes, escape
 * sequences of a terminal for one. Decoded and cleaned here, and nowhere else.
 */
#ifndef MEMLEAKBPF_BASE_TEXT_H
#define MEMLEAKBPF_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define UTF8_INVALID UINT32_MAX

/*
 * The code point at *text, which is moved behind it; 0 at the end of the string, where it stays.
 * Bytes that are no UTF-8 (RFC 3629: overlong forms, surrogates and anything above U+10FFFF
 * included) come out as UTF8_INVALID, one byte at a time.
 */
uint32_t utf8_next(const char **text);

/*
 * Well-formed, and still not for everybody's eyes: control characters, DEL, U+0080 to U+009F (some
 * terminals obey them), bidirectional controls, line and paragraph separators.
 */
bool text_is_harmful(uint32_t point);

/* What a text must not hold where it goes, and what comes instead. */
struct text_rules {
	const char *special;	    /* ASCII characters; NULL: none */
	const char *const *instead; /* one for each character of `special` */
	/* instead of what text_is_harmful() and is not in `special`; NULL: all of these stay */
	const char *harmful;
	const char *invalid; /* instead of a byte that is no UTF-8; NULL: it stays */
};

/* For people at a terminal: every harm and what is no UTF-8 becomes '?'. */
extern const struct text_rules text_for_terminal;

/* What stands for one character: `len` bytes, which need not end with a NUL. */
struct text_piece {
	const char *bytes;
	size_t len;
	uint32_t point; /* of the character itself, or UTF8_INVALID */
};

/* The next character of the text, which must not be at its end, cleaned; *text is moved on. */
struct text_piece text_next(const char **text, const struct text_rules *rules);

/* Writes the text, cleaned. Returns how many characters that are; without `out` only that. */
size_t text_put(FILE *out, const char *text, const struct text_rules *rules);

/* text_put() for the terminal. */
size_t text_put_name(FILE *out, const char *name);

/*
 * Copies the first `len` bytes of the text (a NUL ends it earlier), cleaned, and cut at a
 * character's start where `size` bytes with the NUL at the end are not enough. Returns the copy's
 * length. With rules that put no more than one byte in a character's place `to` may be `text`.
 */
size_t text_copy(char *to, size_t size, const char *text, size_t len,
		 const struct text_rules *rules);

/*
 * A copy of a list of strings that ends with NULL, for text_list_free(); NULL when out of memory.
 */
char **text_list_copy(char *const *list);
void text_list_free(char *const *list); /* NULL is fine */

#endif
