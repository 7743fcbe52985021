// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/base/json_writer.h"

#include <inttypes.h>
#include <math.h>
#include <stdio_ext.h>
#include <string.h>

#include "user/base/text.h"

void json_begin(struct json *json, FILE *out, enum json_place place)
{
	*json = (struct json){.out = out, .place = place};
	/* One thread writes; a lock for each character would take most of the time. */
	__fsetlocking(out, FSETLOCKING_BYCALLER);
}

/* ASCII characters that are written as they are. */
static bool json_is_plain(const struct json *json, unsigned char c)
{
	if (c < 0x20 || c >= 0x7f || c == '"' || c == '\\')
		return false;
	return json->place == JSON_ALONE || c != '<';
}

static void json_put_escape(const struct json *json, uint32_t c)
{
	static const char letters[] = "\bb\ff\nn\rr\tt\"\"\\\\";

	for (const char *at = letters; json->place == JSON_ALONE && *at; at += 2) {
		if ((uint32_t)*at == c) {
			putc('\\', json->out);
			putc(at[1], json->out);
			return;
		}
	}
	fprintf(json->out, "\\u%04" PRIx32, c);
}

static void json_put_string(const struct json *json, const char *text, size_t len)
{
	static const struct text_rules rules[] = {
		[JSON_ALONE] = {.invalid = "\xef\xbf\xbd"},
		[JSON_IN_PAGE] = {.invalid = "\\ufffd"},
	};
	const char *end = text + len;

	putc('"', json->out);
	while (text < end) {
		const char *start = text;

		while (text < end && json_is_plain(json, (unsigned char)*text))
			text++;
		fwrite(start, 1, (size_t)(text - start), json->out);
		if (text < end && (unsigned char)*text < 0x80) {
			json_put_escape(json, (unsigned char)*text++);
		} else if (text < end) {
			struct text_piece piece = text_next(&text, &rules[json->place]);

			/*
			 * JSON readers get the character as it was; a terminal that shows the line
			 * does not.
			 */
			if (text_is_harmful(piece.point))
				json_put_escape(json, piece.point);
			else
				fwrite(piece.bytes, 1, piece.len, json->out);
		}
	}
	putc('"', json->out);
}

/* What stands before a value. */
static void json_put_key(struct json *json, const char *key)
{
	uint64_t bit = 1ull << json->depth;

	if (json->filled & bit)
		putc(',', json->out);
	json->filled |= bit;
	if (json->line)
		putc('\n', json->out);
	json->line = false;
	if (!key)
		return;
	json_put_string(json, key, strlen(key));
	putc(':', json->out);
}

static void json_open(struct json *json, const char *key, bool array)
{
	uint64_t bit;

	json_put_key(json, key);
	putc(array ? '[' : '{', json->out);
	bit = 1ull << ++json->depth;
	json->filled &= ~bit;
	json->arrays = array ? json->arrays | bit : json->arrays & ~bit;
}

void json_object(struct json *json, const char *key)
{
	json_open(json, key, false);
}

void json_array(struct json *json, const char *key)
{
	json_open(json, key, true);
}

void json_end(struct json *json)
{
	putc(json->arrays & 1ull << json->depth-- ? ']' : '}', json->out);
}

/* Writes decimal digits without fprintf(3), which would take most of a large document's time. */
static void json_put_digits(const struct json *json, uint64_t value)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + value % 10);
	while (value /= 10);
	fwrite(digits + at, 1, sizeof(digits) - at, json->out);
}

void json_number(struct json *json, const char *key, uint64_t value)
{
	json_put_key(json, key);
	json_put_digits(json, value);
}

void json_signed(struct json *json, const char *key, int64_t value)
{
	json_put_key(json, key);
	if (value < 0)
		putc('-', json->out);
	json_put_digits(json, value < 0 ? -(uint64_t)value : (uint64_t)value);
}

void json_bool(struct json *json, const char *key, bool value)
{
	json_put_key(json, key);
	fputs(value ? "true" : "false", json->out);
}

void json_null(struct json *json, const char *key)
{
	json_put_key(json, key);
	fputs("null", json->out);
}

/* JSON has no such numbers; the words are JavaScript's, and some readers know them. */
static bool json_put_no_number(const struct json *json, double value)
{
	if (isnan(value))
		fputs("NaN", json->out);
	else if (isinf(value))
		fputs(value > 0 ? "Infinity" : "-Infinity", json->out);
	return !isfinite(value);
}

void json_double(struct json *json, const char *key, double value)
{
	char text[40];

	json_put_key(json, key);
	if (json_put_no_number(json, value))
		return;
	snprintf(text, sizeof(text), "%.17g", value);
	fprintf(json->out, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

void json_fixed(struct json *json, const char *key, double value, int decimals)
{
	json_put_key(json, key);
	if (!json_put_no_number(json, value))
		fprintf(json->out, "%.*f", decimals, value);
}

void json_text(struct json *json, const char *key, const char *text)
{
	if (text)
		json_text_part(json, key, text, strlen(text));
}

void json_text_part(struct json *json, const char *key, const char *text, size_t len)
{
	json_put_key(json, key);
	json_put_string(json, text, len);
}

void json_hex(struct json *json, const char *key, const void *bytes, size_t len)
{
	json_put_key(json, key);
	putc('"', json->out);
	for (size_t i = 0; i < len; i++)
		fprintf(json->out, "%02x", ((const unsigned char *)bytes)[i]);
	putc('"', json->out);
}

void json_line(struct json *json)
{
	json->line = true;
}
