// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/symbol/function_match.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "user/base/util.h"
#include "user/symbol/symbol.h"

struct function_pattern {
	bool glob, with_parameters;
	/* an identifier that is in every mangled name that can match; empty: there is none */
	char *identifier;
	char text[]; /* without needless spaces */
};

static bool function_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$';
}

/* Takes out the spaces but those between words: "foo (int, char *)" is "foo(int,char*)". */
static void function_squeeze(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (*from != ' ' ||
		    (to > text && function_is_word(to[-1]) && function_is_word(from[1])))
			*to++ = *from;
	}
	*to = '\0';
}

/* Where the parameters begin; the text's end when it has none. "operator()" is a name. */
static size_t function_name_end(const char *text)
{
	size_t i = 0;
	int depth = 0;

	while (text[i]) {
		if (!strncmp(text + i, "operator()", 10)) {
			i += 10;
			continue;
		}
		if (!strncmp(text + i, "(anonymous namespace)", 21)) {
			i += 21;
			continue;
		}
		if (!strncmp(text + i, "operator", 8) && strchr("<>-", text[i + 8])) {
			i += 8 + strspn(text + i + 8, "<>=-");
			continue;
		}
		depth += text[i] == '<';
		depth -= text[i] == '>' && depth > 0;
		if (text[i] == '(' && !depth)
			return i;
		i++;
	}
	return i;
}

/* Templates have their return type in front of their names. */
static size_t function_name_start(const char *text, size_t end)
{
	const char *op = memmem(text, end, "operator", 8);
	size_t stop = op ? (size_t)(op - text) : end, start = 0;
	int depth = 0;

	for (size_t i = 0; i < stop; i++) {
		if (!strncmp(text + i, "(anonymous namespace)", 21)) {
			i += 20;
			continue;
		}
		depth += text[i] == '<' || text[i] == '(';
		depth -= (text[i] == '>' || text[i] == ')') && depth > 0;
		if (text[i] == ' ' && !depth)
			start = i + 1;
	}
	return start;
}

struct function_pattern *function_pattern_new(const char *text)
{
	size_t size = strlen(text) + 1, end, begin;
	struct function_pattern *pattern = calloc(1, sizeof(*pattern) + size);

	if (!pattern)
		return NULL;
	memcpy(pattern->text, text, size);
	function_squeeze(pattern->text);
	end = function_name_end(pattern->text);
	pattern->with_parameters = pattern->text[end] == '(';
	/* A '*' within parentheses is a pointer. */
	pattern->glob = memchr(pattern->text, '*', end) || memchr(pattern->text, '?', end) ||
			memchr(pattern->text, '[', end);
	while (end && !function_is_word(pattern->text[end - 1]))
		end--;
	begin = end;
	while (begin && function_is_word(pattern->text[begin - 1]))
		begin--;
	if (pattern->glob || strchr(pattern->text, '<') || strstr(pattern->text, "operator") ||
	    strchr(pattern->text, '~'))
		end = begin;
	pattern->identifier = strndup(pattern->text + begin, end - begin);
	if (!pattern->identifier) {
		free(pattern);
		return NULL;
	}
	return pattern;
}

void function_pattern_free(struct function_pattern *pattern)
{
	if (!pattern)
		return;
	free(pattern->identifier);
	free(pattern);
}

bool function_pattern_is_glob(const struct function_pattern *pattern)
{
	return pattern->glob;
}

static bool function_text_matches(const struct function_pattern *pattern, const char *text)
{
	size_t want = strlen(pattern->text), len = strlen(text);

	if (pattern->glob)
		return !fnmatch(pattern->text, text, 0);
	if (len < want || strcmp(text + len - want, pattern->text) != 0)
		return false;
	return len == want || (len - want >= 2 && !strncmp(text + len - want - 2, "::", 2));
}

/* Matches without the arguments of the function's own template, when the pattern has none. */
static bool function_template_matches(const struct function_pattern *pattern, char *text)
{
	size_t len = strlen(text);
	int depth = 0;

	if (!len || text[len - 1] != '>' || strchr(pattern->text, '<') || strstr(text, "operator"))
		return false;
	while (len) {
		len--;
		depth += text[len] == '>';
		depth -= text[len] == '<';
		if (!depth)
			break;
	}
	text[len] = '\0';
	return len && function_text_matches(pattern, text);
}

/* "foo.isra.0" is foo with other parameters. "foo.part.0" and "foo.cold" are pieces of it: 0. */
static size_t function_clone_of(const char *name, size_t len)
{
	static const char *const whole[] = {".isra.", ".constprop.", ".lto_priv.", ".llvm."};
	size_t best = len;

	for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
		const char *at = memmem(name, len, whole[i], strlen(whole[i]));

		if (at && (size_t)(at - name) < best)
			best = (size_t)(at - name);
	}
	return memmem(name, len, ".part.", 6) || memmem(name, len, ".cold", 5) ? 0 : best;
}

static bool function_demangled_matches(const struct function_pattern *pattern, char *demangled)
{
	size_t end, start;
	char *abi;

	while ((abi = strstr(demangled, "[abi:"))) {
		char *close = strchr(abi, ']');

		if (!close)
			break;
		memmove(abi, close + 1, strlen(close + 1) + 1);
	}
	function_squeeze(demangled);
	end = function_name_end(demangled);
	start = function_name_start(demangled, end);
	if (!pattern->with_parameters)
		demangled[end] = '\0';
	return function_text_matches(pattern, demangled + start) ||
	       function_template_matches(pattern, demangled + start);
}

bool function_matches(const struct function_pattern *pattern, const char *name, size_t len,
		      char **shown)
{
	_cleanup_free_ char *raw = NULL, *demangled = NULL, *copy = NULL;
	bool mangled = len > 2 && (!strncmp(name, "_Z", 2) || !strncmp(name, "_R", 2));
	size_t whole = function_clone_of(name, len), want = strlen(pattern->identifier);

	/* Most names are another function's: one look shows that. */
	if (!pattern->glob && want && !memmem(name, len, pattern->identifier, want))
		return false;
	raw = whole ? strndup(name, whole) : NULL;
	if (!raw)
		return false;
	if (pattern->glob ? !fnmatch(pattern->text, raw, 0) : !strcmp(pattern->text, raw)) {
		*shown = mangled ? symbol_demangle(raw) ?: strdup(raw) : strdup(raw);
		return true;
	}
	demangled = mangled ? symbol_demangle(raw) : NULL;
	copy = demangled ? strdup(demangled) : NULL;
	if (!copy || !function_demangled_matches(pattern, copy))
		return false;
	*shown = strdup(demangled);
	return true;
}
