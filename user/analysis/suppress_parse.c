// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Parses the two formats of suppression files; suppress.h says where they are described. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/analysis/suppress_rule.h"
#include "user/base/log.h"
#include "user/base/parse.h"
#include "user/base/util.h"
#include "user/model/verdict.h"

#define MAX_LOCATIONS 256 /* of one suppression; no stack has more frames that could differ */
#define MAX_RULES     100000

/* A file that is being read. */
struct source {
	const char *file; /* for messages */
	bool builtin;
	const char *at, *end;
	unsigned number;  /* of the current line */
	const char *line; /* without blanks around it; not ended by NUL */
	size_t len;
};

static bool parse_is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

/* Moves to the next line that is neither empty nor a comment. False at the end. */
static bool parse_next_line(struct source *s)
{
	while (s->at < s->end) {
		const char *newline = memchr(s->at, '\n', (size_t)(s->end - s->at));
		const char *stop = newline ? newline : s->end;
		const char *start = s->at;

		s->at = newline ? newline + 1 : s->end;
		s->number++;
		while (start < stop && parse_is_blank(*start))
			start++;
		while (stop > start && parse_is_blank(stop[-1]))
			stop--;
		if (start == stop || *start == '#')
			continue;
		s->line = start;
		s->len = (size_t)(stop - start);
		return true;
	}
	return false;
}

static bool parse_line_is(const struct source *s, const char *text)
{
	return s->len == strlen(text) && !memcmp(s->line, text, s->len);
}

/* The rest of the line behind the prefix, NULL when it does not begin so. */
static const char *parse_after(const struct source *s, const char *prefix, size_t *len)
{
	size_t skip = strlen(prefix);

	if (s->len < skip || memcmp(s->line, prefix, skip) != 0)
		return NULL;
	*len = s->len - skip;
	return s->line + skip;
}

static int parse_complain(const struct source *s, const char *what)
{
	log_error("%s:%u: %s", s->file, s->number, what);
	return -EINVAL;
}

static int parse_complain_end(const struct source *s, unsigned began)
{
	log_error("%s:%u: the file ends in the middle of this suppression; '}' is missing", s->file,
		  began);
	return -EINVAL;
}

static int parse_out_of_memory(const struct source *s)
{
	return log_errno(ENOMEM, "reading suppressions from %s", s->file);
}

/* Takes the rule over, also on failure. */
static int parse_add_rule(struct rule_list *list, struct rule *rule, const struct source *s)
{
	struct rule *grown = NULL;

	if (list->count < MAX_RULES)
		grown = reallocarray(list->items, list->count + 1, sizeof(*grown));
	else
		log_error("%s:%u: more than %d suppressions", s->file, s->number, MAX_RULES);
	if (!grown) {
		rule_release(rule);
		return list->count < MAX_RULES ? parse_out_of_memory(s) : -EINVAL;
	}
	list->items = grown;
	grown[list->count++] = *rule;
	return 0;
}

/* ---- LeakSanitizer ------------------------------------------------------------------------ */

static int parse_patterns(struct rule_list *list, struct source *s)
{
	do {
		struct rule rule = {
			.pattern = true, .line = s->number, .classes = RULE_ALL_CLASSES};
		size_t len;
		const char *pattern = parse_after(s, "leak:", &len);
		int err;

		if (!pattern)
			return parse_complain(s, "expected leak:PATTERN, as in the lines before");
		if (!len)
			return parse_complain(
				s, "a pattern must follow leak: (leak:* for everything)");
		rule.name = strndup(pattern, len);
		if (!rule.name)
			return parse_out_of_memory(s);
		err = parse_add_rule(list, &rule, s);
		if (err)
			return err;
	} while (parse_next_line(s));
	return 0;
}

/* ---- Valgrind ----------------------------------------------------------------------------- */

/* "definite,possible" to bits. 0 for anything else; also for "none", with *none. */
static unsigned parse_classes(const char *text, size_t len, bool *none)
{
	unsigned classes = 0;

	*none = false;
	while (len && parse_is_blank(*text)) {
		text++;
		len--;
	}
	if (len == 3 && !memcmp(text, "all", 3))
		return RULE_ALL_CLASSES;
	if (len == 4 && !memcmp(text, "none", 4)) {
		*none = true;
		return 0;
	}
	for (;;) {
		const char *comma = memchr(text, ',', len);
		size_t word = comma ? (size_t)(comma - text) : len;
		unsigned bit = 0;

		for (int i = 0; i < VERDICT_CLASSES; i++) {
			const char *name = verdict_class_name((enum verdict_class)i);

			if (strlen(name) == word && !memcmp(name, text, word))
				bit = 1u << i;
		}
		if (!bit)
			return 0;
		classes |= bit;
		if (!comma)
			return classes;
		text += word + 1;
		len -= word + 1;
	}
}

/* "src:FILE:LINE" or "src:FILE": cuts the number off. */
static void parse_cut_line_number(struct rule_location *location)
{
	char *colon = strrchr(location->pattern, ':');
	uint64_t number;

	if (!colon || parse_count(colon + 1, 1, UINT32_MAX, &number))
		return;
	*colon = '\0';
	location->lineno = (unsigned)number;
}

/* "fun:NAME in libc", in the built-in ones. */
static void parse_cut_library(struct rule_location *location)
{
	static const char in[] = " in libc";
	size_t len = strlen(location->pattern);

	if (len <= strlen(in) || strcmp(location->pattern + len - strlen(in), in) != 0)
		return;
	location->pattern[len - strlen(in)] = '\0';
	location->in_libc = true;
}

static int parse_add_location(struct rule *rule, const struct source *s)
{
	static const struct {
		const char *prefix;
		enum location_kind kind;
	} kinds[] = {
		{"fun:", LOCATION_FUNCTION}, {"obj:", LOCATION_OBJECT}, {"src:", LOCATION_SOURCE}};
	struct rule_location location = {.kind = LOCATION_ANY}, *grown;
	const char *pattern = NULL;
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_SIZE(kinds) && !pattern; i++) {
		pattern = parse_after(s, kinds[i].prefix, &len);
		location.kind = pattern ? kinds[i].kind : LOCATION_ANY;
	}
	if (!pattern && !parse_line_is(s, "..."))
		return parse_complain(s, "expected fun:, obj:, src:, ... or }");
	if (pattern && !len)
		return parse_complain(s, "a name must follow");
	if (rule->location_count >= MAX_LOCATIONS)
		return parse_complain(s, "too many lines in one suppression");
	grown = reallocarray(rule->locations, rule->location_count + 1, sizeof(*grown));
	if (!grown)
		return parse_out_of_memory(s);
	rule->locations = grown;
	if (pattern) {
		location.pattern = strndup(pattern, len);
		if (!location.pattern)
			return parse_out_of_memory(s);
		if (location.kind == LOCATION_SOURCE)
			parse_cut_line_number(&location);
		if (location.kind == LOCATION_FUNCTION && s->builtin)
			parse_cut_library(&location);
	}
	grown[rule->location_count++] = location;
	return 0;
}

enum error_kind {
	ERROR_LEAK,
	ERROR_FREE,
	ERROR_ACCESS, /* of any size */
	ERROR_OTHER,
};

/* Reads "tool,tool:Kind". */
static enum error_kind parse_kind(const struct source *s, const char *colon)
{
	static const char tool[] = "Memcheck";
	size_t len = s->len - (size_t)(colon + 1 - s->line);
	bool ours = false;

	for (const char *at = s->line; at < colon;) {
		const char *comma = memchr(at, ',', (size_t)(colon - at));
		const char *stop = comma ? comma : colon;

		ours |= (size_t)(stop - at) == strlen(tool) && !memcmp(at, tool, strlen(tool));
		at = stop + 1;
	}
	if (ours && len == 4 && !memcmp(colon + 1, "Leak", len))
		return ERROR_LEAK;
	if (ours && len == 4 && !memcmp(colon + 1, "Free", len))
		return ERROR_FREE;
	if (ours && len > 4 && !memcmp(colon + 1, "Addr", 4))
		return ERROR_ACCESS;
	return ERROR_OTHER;
}

static int parse_skip_rule(struct rule_list *list, struct source *s, unsigned began)
{
	list->other_kinds++;
	while (parse_next_line(s)) {
		if (parse_line_is(s, "}"))
			return 0;
	}
	return parse_complain_end(s, began);
}

/* The lines behind the kind, to the closing brace. */
static int parse_locations(struct rule *rule, struct source *s)
{
	bool named = false;

	for (bool first = true; parse_next_line(s); first = false) {
		size_t len;
		const char *classes = parse_after(s, "match-leak-kinds:", &len);
		int err;

		if (parse_line_is(s, "}")) {
			for (size_t i = 0; i < rule->location_count; i++)
				named |= rule->locations[i].kind != LOCATION_ANY;
			return named ? 0
				     : parse_complain(s,
						      "expected at least one line of fun:, obj: or "
						      "src: before the end");
		}
		if (first && classes && !rule->frees && !rule->accesses) {
			bool none;

			rule->classes = parse_classes(classes, len, &none);
			if (!rule->classes && !none)
				return parse_complain(s,
						      "expected kinds out of definite, indirect, "
						      "possible, reachable, all, none");
			continue;
		}
		err = parse_add_location(rule, s);
		if (err)
			return err;
	}
	return parse_complain_end(s, rule->line);
}

/* Parses the lines behind the opening brace. *keep: it is one of ours. */
static int parse_block(struct rule_list *list, struct source *s, struct rule *rule, bool *keep)
{
	enum error_kind kind;
	const char *colon;

	if (!parse_next_line(s))
		return parse_complain_end(s, rule->line);
	if (parse_line_is(s, "}"))
		return parse_complain(s, "expected the suppression's name");
	rule->name = strndup(s->line, s->len);
	if (!rule->name)
		return parse_out_of_memory(s);
	if (!parse_next_line(s))
		return parse_complain_end(s, rule->line);
	colon = memchr(s->line, ':', s->len);
	if (!colon)
		return parse_complain(s, "expected TOOL:KIND, e.g. Memcheck:Leak");
	kind = parse_kind(s, colon);
	if (kind == ERROR_OTHER)
		return parse_skip_rule(list, s, rule->line);
	rule->frees = kind == ERROR_FREE;
	rule->accesses = kind == ERROR_ACCESS;
	*keep = true;
	return parse_locations(rule, s);
}

static int parse_blocks(struct rule_list *list, struct source *s)
{
	do {
		struct rule rule = {.line = s->number, .classes = RULE_ALL_CLASSES};
		bool keep = false;
		int err;

		if (!parse_line_is(s, "{"))
			return parse_complain(s, "expected '{', the beginning of a suppression");
		err = parse_block(list, s, &rule, &keep);
		if (err || !keep)
			rule_release(&rule);
		else
			err = parse_add_rule(list, &rule, s);
		if (err)
			return err;
	} while (parse_next_line(s));
	return 0;
}

int rules_parse(struct rule_list *list, const char *file, const char *text, size_t len)
{
	struct source s = {.file = file ? file : "(built in)",
			   .builtin = !file,
			   .at = text,
			   .end = text + len};
	size_t ignored;

	if (memchr(text, '\0', len)) {
		log_error("%s: not a text file (it holds a zero byte)", s.file);
		return -EINVAL;
	}
	if (!parse_next_line(&s))
		return 0;
	if (parse_line_is(&s, "{"))
		return parse_blocks(list, &s);
	if (parse_after(&s, "leak:", &ignored))
		return parse_patterns(list, &s);
	return parse_complain(&s, "expected leak:PATTERN (LeakSanitizer's suppressions) or '{' "
				  "(Valgrind's)");
}
