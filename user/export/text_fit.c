// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/export/text_fit.h"

#include <stdbool.h>
#include <string.h>

#include "user/base/text.h"
#include "user/base/util.h"

#define MAX_INDENT 16 /* text that begins farther to the right would have too little room */
#define HANGING	   4  /* columns by which what goes on is behind the other lines of an indent */

/* Where the character number `at` of cleaned text begins. */
static const char *text_at(const char *text, size_t at)
{
	while (at-- && *text)
		utf8_next(&text);
	return text;
}

size_t text_shorten(char buf[static TEXT_FIT_MAX], const char *text, size_t width)
{
	size_t wide, head, tail;
	const char *rest;

	text_copy(buf, TEXT_FIT_MAX, text, SIZE_MAX, &text_for_terminal);
	wide = text_put_name(NULL, buf);
	if (wide <= width)
		return wide;
	if (width < 5) { /* "a..b" says nothing */
		buf[text_at(buf, width) - buf] = '\0';
		return width;
	}
	/* What tells names apart is mostly at their ends. */
	tail = (width - 2) / 2 + (width - 2) % 2;
	head = width - 2 - tail;
	rest = text_at(buf, wide - tail);
	memmove(buf + (text_at(buf, head) - buf) + 2, rest, strlen(rest) + 1);
	memcpy(buf + (text_at(buf, head) - buf), "..", 2);
	return width;
}

size_t path_shorten(char buf[static TEXT_FIT_MAX], const char *path, size_t width)
{
	char whole[TEXT_FIT_MAX];
	size_t len, first;
	const char *tail = NULL;

	text_copy(whole, sizeof(whole), path, SIZE_MAX, &text_for_terminal);
	len = text_put_name(NULL, whole);
	/* The first directory, and as many of the last ones as there is room for. */
	first = 1 + strcspn(whole + (*whole ? 1 : 0), "/");
	if (len > width && strchr(whole, '/')) {
		size_t head = text_put_name(NULL, (whole[0] ? whole : "")) -
			      text_put_name(NULL, whole + first);

		for (const char *slash = strchr(whole + first, '/'); slash && !tail;
		     slash = strchr(slash + 1, '/')) {
			if (head + 3 + text_put_name(NULL, slash) <= width)
				tail = slash;
		}
	}
	if (tail) {
		snprintf(buf, TEXT_FIT_MAX, "%.*s/..%s", (int)first, whole, tail);
		return text_put_name(NULL, buf);
	}
	/* The file's own name before any directory. */
	tail = strrchr(whole, '/');
	if (len <= width || !tail || !tail[1])
		return text_shorten(buf, path, width);
	if (text_put_name(NULL, tail) + 2 > width)
		return text_shorten(buf, tail + 1, width);
	snprintf(buf, TEXT_FIT_MAX, "..%s", tail);
	return text_put_name(NULL, buf);
}

/* ---- lines -------------------------------------------------------------------------------- */

/* An escape sequence of ours (ECMA-48: SGR) at *c is passed over. */
static bool wrap_skip_escape(const char **c, const char *end)
{
	if (**c != '\033')
		return false;
	while (*c < end && **c != 'm')
		++*c;
	*c += *c < end;
	return true;
}

static size_t wrap_width(const char *line, const char *end)
{
	size_t width = 0;

	while (line < end) {
		if (wrap_skip_escape(&line, end))
			continue;
		utf8_next(&line);
		width++;
	}
	return width;
}

/* Where what is broken off a line begins. */
static size_t wrap_indent(const char *line, const char *end)
{
	size_t blanks, word, gap, escapes = 0;
	const char *c = line;

	while (wrap_skip_escape(&c, end))
		;
	escapes = (size_t)(c - line);
	line += escapes;
	blanks = strspn(line, " ");
	if (blanks)
		return (blanks < MAX_INDENT ? blanks : MAX_INDENT) + HANGING;
	word = strcspn(line, " \n");
	gap = line + word < end ? strspn(line + word, " ") : 0;
	/* "#1  " is a label, too. */
	if ((gap >= 2 || *line == '#') && word + gap <= MAX_INDENT)
		return word + gap;
	return 2;
}

static bool wrap_is_suppression(const char *line, const char *end)
{
	static const char *const words[] = {"leak:", "fun:", "obj:", "src:"};

	while (line < end && *line == ' ')
		line++;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!strncmp(line, words[i], strlen(words[i])))
			return true;
	}
	return false;
}

/* A figure and its unit are one word: "12.0 KiB", "99.7 %". */
static bool wrap_is_unit(const char *word)
{
	static const char *const units[] = {"%", "B", "KiB", "MiB", "GiB", "TiB"};
	size_t len = strcspn(word, " ,;)\n\033");

	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strlen(units[i]) == len && !strncmp(word, units[i], len))
			return true;
	}
	return false;
}

/* Behind this sign a name that is wider than a line can go on in the next one. */
static bool wrap_is_joint(const char *c)
{
	return *c == ',' || *c == '(' || (*c == ':' && c[-1] == ':');
}

/*
 * What begins the next line: behind the last blank that is not beyond `width`; where the first word is too wide, behind
 * a sign in it, or behind the next blank.
 */
static const char *wrap_break(const char *line, const char *end, size_t width, size_t indent)
{
	const char *blank = NULL, *joint = NULL;
	size_t at = 0;

	for (const char *c = line; c < end;) {
		if (wrap_skip_escape(&c, end))
			continue;
		if (at > width && (blank || joint))
			break;
		if (*c == ' ' && at > indent && c[1] != ' ' && !wrap_is_unit(c + 1))
			blank = c + 1;
		else if (at > indent && at < width && wrap_is_joint(c))
			joint = c + 1;
		utf8_next(&c);
		at++;
	}
	return blank ?: joint;
}

static void wrap_line(FILE *out, const char *line, const char *end, size_t width)
{
	size_t indent = wrap_indent(line, end), used = indent;

	if (wrap_is_suppression(line, end)) {
		fwrite(line, 1, (size_t)(end - line), out);
		return;
	}
	while (wrap_width(line, end) > width) {
		const char *at = wrap_break(line, end, width, used), *stop = at;

		if (!at)
			break;
		while (stop > line && stop[-1] == ' ')
			stop--;
		fwrite(line, 1, (size_t)(stop - line), out);
		fprintf(out, "\n%*s", (int)indent, "");
		line = at;
		/* What follows has the indent in front of it already. */
		width = width > indent && used ? width - indent : width;
		used = 0;
	}
	fwrite(line, 1, (size_t)(end - line), out);
}

void text_wrap(FILE *out, const char *text, size_t width)
{
	while (*text) {
		const char *end = strchrnul(text, '\n');

		if (width < 2 * MAX_INDENT)
			fwrite(text, 1, (size_t)(end - text), out);
		else
			wrap_line(out, text, end, width);
		if (*end)
			fputc('\n', out);
		text = end + (*end != '\0');
	}
}
