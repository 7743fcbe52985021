// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/function_name.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "user/base/util.h"

/* Looks past so many brackets that nothing closes: a name that was cut has a few. */
#define NAME_OPEN_MAX 16

static bool name_begins(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static bool name_is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '$' || (unsigned char)c >= 0x80;
}

/*
 * The length of "operator" and its sign, behind which template arguments may come; 0: no such. The
 * longer of two signs comes first.
 */
static size_t name_operator(const char *name, size_t at)
{
	static const char *const signs[] = {
		"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "--", "-=", "++", "+=",
		"*=",  "/=",  "%=",  "^=",  "&&", "&=", "||", "|=", "==", "!=", "[]", "()", "<",
		">",   "-",   "+",   "*",   "/",  "%",	"^",  "&",  "|",  "~",	"!",  "=",  ",",
	};
	const size_t len = strlen("operator");

	if (!name_begins(name + at, "operator") || (at && name_is_word(name[at - 1])))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++) {
		if (name_begins(name + at + len, signs[i]))
			return len + strlen(signs[i]);
	}
	return 0;
}

/* The length of a part of the name that looks like brackets; 0: there is none here. */
static size_t name_solid(const char *name, size_t at)
{
	static const char *const words[] = {"(anonymous namespace)", "{lambda("};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (name_begins(name + at, words[i]) && (!at || !name_is_word(name[at - 1])))
			return strlen(words[i]);
	}
	/* The arguments in "operator<< <char>" stay brackets. */
	return name_operator(name, at);
}

/* The position behind the bracket that closes the one at `at`; 0: none does. */
static size_t name_behind(const char *name, size_t at)
{
	const char open = name[at], close = open == '<' ? '>' : ')';
	size_t depth = 0, solid;

	for (size_t i = at; name[i]; i++) {
		solid = name_solid(name, i);
		if (solid) {
			i += solid - 1;
			continue;
		}
		if (name[i] == open)
			depth++;
		else if (name[i] == close && !(close == '>' && name[i - 1] == '-'))
			depth--;
		if (!depth)
			return i + 1;
	}
	return 0;
}

size_t function_name_scope(const char *name)
{
	size_t start = 0;

	for (size_t i = 0; name[i]; i++) {
		size_t solid = name_solid(name, i);

		if (solid) {
			i += solid - 1;
			continue;
		}
		/* "operator new", "operator bool": the blank is the name's own. */
		if (name[i] == '(' || name_begins(name + i, "operator "))
			return start;
		if (name[i] == '<') {
			size_t end = name_behind(name, i);

			if (!end)
				return 0;
			i = end - 1;
		} else if (name[i] == ' ' && name[i + 1] && name_is_word(name[i + 1])) {
			start = i + 1;
		}
	}
	/* Only a name with parameters has a return type before it. */
	return 0;
}

size_t function_name_length(const char *scope)
{
	size_t i = 0, open = 0;

	while (scope[i]) {
		size_t solid = name_solid(scope, i);

		if (solid) {
			i += solid;
		} else if (scope[i] == '(') {
			break;
		} else if (scope[i] == '<' && open < NAME_OPEN_MAX) {
			size_t end = name_behind(scope, i);

			open += !end;
			i = end ?: i + 1;
		} else {
			i++;
		}
	}
	return i;
}

struct folding {
	char *to;
	size_t used;
};

static void fold_put(struct folding *f, const char *text, size_t len)
{
	if (f->used + len >= FUNCTION_NAME_MAX)
		len = FUNCTION_NAME_MAX - 1 - f->used;
	memcpy(f->to + f->used, text, len);
	f->used += len;
}

/* The length of std::string's long name, up to its closing bracket; 0: something else. */
static size_t fold_string(const char *name, size_t at)
{
	static const char *const words[] = {"basic_string<char,", "basic_string<char>"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (name_begins(name + at, words[i]))
			return name_behind(name, at + strlen("basic_string"));
	}
	return 0;
}

/*
 * Template arguments follow a name, or the sign that ends at `sign`. Rust's "<T as Trait>::f"
 * begins with the bracket.
 */
static bool fold_is_arguments(const char *name, size_t at, size_t sign, bool prose)
{
	if (sign && at - sign <= (name[sign] == ' '))
		return true;
	/* Between words a bracket begins a name: "a block from <lambda>". */
	while (!prose && at && name[at - 1] == ' ')
		at--;
	return at && (name_is_word(name[at - 1]) || strchr("<>=-:", name[at - 1]));
}

/* The length of the inline namespace of std that is written here; 0: none. */
static size_t name_inline_std(const char *name)
{
	static const char *const inlines[] = {"std::__cxx11::", "std::__1::", "std::__ndk1::"};

	for (size_t i = 0; i < ARRAY_SIZE(inlines); i++) {
		if (name_begins(name, inlines[i]))
			return strlen(inlines[i]);
	}
	return 0;
}

/* `prose`: words around the names. */
static bool name_fold_from(struct folding *f, const char *name, bool prose)
{
	bool word = false; /* within one */
	size_t sign = 0;   /* where an operator's has ended; 0: none yet */

	for (size_t i = 0; name[i];) {
		size_t solid = name_solid(name, i), end = 0;

		/* The name may end with the namespace. */
		if (!word && (end = name_inline_std(name + i))) {
			fold_put(f, "std::", 5);
			i += end;
			continue;
		}
		if (!solid && !word)
			end = fold_string(name, i);
		if (end) {
			fold_put(f, "string", 6);
			i = end;
			continue;
		}
		if (solid) {
			fold_put(f, name + i, solid);
			sign = name_operator(name, i) ? i + solid : sign;
			i += solid;
			word = false;
			continue;
		}
		/* "f[abi:cxx11]" tells two functions apart that differ in nothing else. */
		if (name_begins(name + i, "[abi:") && strchr(name + i, ']')) {
			i = (size_t)(strchr(name + i, ']') + 1 - name);
			continue;
		}
		if (name[i] == '<' && i && fold_is_arguments(name, i, sign, prose)) {
			end = name_behind(name, i);
			if (!end)
				return false;
			fold_put(f, "<..>", 4);
			i = end;
			continue;
		}
		word = name_is_word(name[i]);
		fold_put(f, name + i, 1);
		i++;
	}
	f->to[f->used] = '\0';
	return true;
}

char *function_name_fold(char buf[static FUNCTION_NAME_MAX], const char *name)
{
	struct folding f = {.to = buf};

	if (!name_fold_from(&f, name + function_name_scope(name), false))
		snprintf(buf, FUNCTION_NAME_MAX, "%s", name);
	return buf;
}

char *function_name_fold_within(char buf[static FUNCTION_NAME_MAX], const char *text)
{
	struct folding f = {.to = buf};

	if (!name_fold_from(&f, text, true))
		snprintf(buf, FUNCTION_NAME_MAX, "%s", text);
	return buf;
}

char *function_name_cut(char buf[static FUNCTION_NAME_MAX], const char *name)
{
	size_t len;

	function_name_fold(buf, name);
	len = function_name_length(buf);
	/* A lambda's parameters stay, and so does "()". */
	if (buf[len] == '(' && strncmp(buf + len, "()", 2) != 0 && len + 5 < FUNCTION_NAME_MAX) {
		size_t end = name_behind(buf, len);

		if (end && !strchr(buf + end, '('))
			memcpy(buf + len, "(..)", sizeof("(..)"));
	}
	return buf;
}
