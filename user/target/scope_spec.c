// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/target/scope_spec.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/parse.h"
#include "user/base/util.h"

/* The type at the end: false when there is none of that name. */
static bool scope_parse_type(const char *type, struct scope_tag_spec *tag)
{
	uint64_t bits;

	tag->kind = SCOPE_TAG_NUMBER;
	tag->size = 8;
	if (!*type || !strcmp(type, "int")) {
		tag->is_signed = true;
		return true;
	}
	if (!strcmp(type, "hex")) {
		tag->is_hex = true;
		return true;
	}
	if (!strcmp(type, "str") || !strcmp(type, "string")) {
		tag->kind = SCOPE_TAG_STRING;
		return true;
	}
	tag->is_signed = *type == 's';
	tag->is_hex = *type == 'x';
	if (!strchr("sux", *type) || parse_count(type + 1, 8, 64, &bits) || (bits & (bits - 1)))
		return false;
	tag->size = (uint8_t)(bits / 8);
	return true;
}

/* "argN" or "OFFS(…)" with the sign that must be there; *end is behind it. */
static bool scope_parse_place(const char *text, struct scope_tag_spec *tag, int depth,
			      const char **end)
{
	char *rest;
	long step;

	if (!strncmp(text, "arg", 3)) {
		if (text[3] < '1' || text[3] > '6' || isalnum((unsigned char)text[4]))
			return false;
		tag->arg = (uint8_t)(text[3] - '0');
		*end = text + 4;
		return true;
	}
	if ((*text != '+' && *text != '-') || depth == SCOPE_STEPS)
		return false;
	errno = 0;
	step = strtol(text, &rest, 0);
	if (errno || *rest != '(' || !scope_parse_place(rest + 1, tag, depth + 1, end) ||
	    **end != ')')
		return false;
	++*end;
	/* The innermost comes first. */
	tag->step[tag->steps++] = step;
	return true;
}

static bool scope_parse_tag(const char *text, struct scope_tag_spec *tag)
{
	const char *end;

	if (!strcmp(text, "tid")) {
		tag->kind = SCOPE_TAG_THREAD;
		return true;
	}
	if (!scope_parse_place(text, tag, 0, &end))
		return false;
	if (*end == ':')
		return end[1] && scope_parse_type(end + 1, tag);
	return !*end && scope_parse_type("", tag);
}

/* The last colon that is not one of "::"; NULL: there is none. */
static char *scope_find_colon(char *text)
{
	char *found = NULL;

	for (char *at = text; *at; at++) {
		if (*at == '(')
			break;
		if (at[0] == ':' && at[1] == ':')
			at++;
		else if (*at == ':')
			found = at;
	}
	return found;
}

static int scope_parse_function(char *text, struct scope_spec *out)
{
	char *colon = scope_find_colon(text), *rest = text;
	uint64_t line;

	if (colon) {
		*colon = '\0';
		rest = colon + 1;
		if (!*text || !*rest)
			return -EINVAL;
		if (!parse_count(rest, 1, UINT32_MAX, &line)) {
			out->line = (uint32_t)line;
			rest = text;
		}
	}
	if (!*rest)
		return -EINVAL;
	out->function = strdup(rest);
	if (colon && !out->line)
		out->object = strdup(text);
	return out->function && (!colon || out->line || out->object) ? 0 : -ENOMEM;
}

int scope_spec_parse(const char *text, struct scope_spec *out)
{
	_cleanup_free_ char *copy = strdup(text);
	char *tag;
	int err;

	*out = (struct scope_spec){.text = text};
	if (!copy)
		return -ENOMEM;
	tag = strchr(copy, '#');
	if (tag) {
		*tag = '\0';
		if (!scope_parse_tag(tag + 1, &out->tag))
			return -EINVAL;
	}
	err = scope_parse_function(copy, out);
	if (err)
		scope_spec_release(out);
	return err;
}

void scope_spec_release(struct scope_spec *spec)
{
	free(spec->function);
	free(spec->object);
	*spec = (struct scope_spec){0};
}
