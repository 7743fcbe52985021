/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Writes JSON (RFC 8259) as it goes, without a copy of the document in memory. A library's tree of
 * objects was measured against it: a report of 20,000 stacks, 73 MB of JSON, took 980 MB and 3.2 s
 * with json-c, and takes 171 MB and 2.4 s so; the 4.3 million values of the page of -f html for
 * 20,000 stacks and 500 snapshots would be 370 MB and 0.6 s more than the 134 MB and 1 s that all of
 * it takes.
 *
 * Whoever calls it sees to it that what is begun is ended, and that a member has a key and an
 * element of an array has none (NULL). Failed writes are the stream's: see ferror(3).
 */
#ifndef MEMLEAKBPF_BASE_JSON_WRITER_H
#define MEMLEAKBPF_BASE_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum json_place {
	JSON_ALONE,
	/* Within a script element of an HTML page: no '<' is written as it is. */
	JSON_IN_PAGE,
};

struct json {
	FILE *out;
	enum json_place place;
	bool failed; /* for the caller: something is missing for want of memory */
	/* private */
	bool line;
	unsigned depth;		 /* of what is open, 63 at most */
	uint64_t arrays, filled; /* a bit each */
};

void json_begin(struct json *json, FILE *out, enum json_place place);

void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_end(struct json *json); /* of the innermost object or array */

void json_number(struct json *json, const char *key, uint64_t value);
void json_signed(struct json *json, const char *key, int64_t value);
void json_bool(struct json *json, const char *key, bool value);
void json_null(struct json *json, const char *key);
/* With as many digits as it takes to read the same number; a point or an exponent always. */
void json_double(struct json *json, const char *key, double value);
void json_fixed(struct json *json, const char *key, double value, int decimals);

/*
 * Nothing when the text is NULL. It may hold any bytes: what is no UTF-8 becomes U+FFFD, as the
 * Unicode standard advises (chapter 3.9), and what text_is_harmful() an escape (\uXXXX).
 */
void json_text(struct json *json, const char *key, const char *text);
/* Its first `len` bytes; nothing in the string must end there in the midst of a character. */
void json_text_part(struct json *json, const char *key, const char *text, size_t len);
/* Bytes as hexadecimal digits, in a string. */
void json_hex(struct json *json, const char *key, const void *bytes, size_t len);

/* What comes next begins on a line of its own. */
void json_line(struct json *json);

#endif
