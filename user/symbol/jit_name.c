// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/symbol/jit_name.h"

#include <stdbool.h>
#include <string.h>

#include "user/base/util.h"

#define ANONYMOUS "(anonymous)"

struct jit_text {
	const char *at;
	size_t len;
};

/* Of a literal, where it is made and in tables of them. */
#define JIT_TEXTS(literal)                     \
	{                                      \
		(literal), sizeof(literal) - 1 \
	}
#define JIT_TEXT(literal) ((struct jit_text)JIT_TEXTS(literal))

static bool jit_begins(struct jit_text text, struct jit_text prefix)
{
	return text.len >= prefix.len && !memcmp(text.at, prefix.at, prefix.len);
}

static bool jit_ends(struct jit_text text, struct jit_text suffix)
{
	return text.len >= suffix.len &&
	       !memcmp(text.at + text.len - suffix.len, suffix.at, suffix.len);
}

static bool jit_is(struct jit_text text, struct jit_text whole)
{
	return text.len == whole.len && jit_begins(text, whole);
}

static struct jit_text jit_from(struct jit_text text, size_t skip)
{
	return (struct jit_text){text.at + skip, text.len - skip};
}

static struct jit_text jit_until(struct jit_text text, const char *end)
{
	return (struct jit_text){text.at, (size_t)(end - text.at)};
}

static void jit_set_function(struct jit_name *out, enum frame_kind kind, struct jit_text function)
{
	out->kind = kind;
	out->function = function.at;
	out->function_len = function.len;
}

static void jit_set_file(struct jit_name *out, struct jit_text file)
{
	out->file = file.len ? file.at : NULL;
	out->file_len = file.len;
}

/* ---- CPython ------------------------------------------------------------------------------ */

static bool jit_parse_python(struct jit_text name, struct jit_name *out)
{
	const struct jit_text prefix = JIT_TEXT("py::");
	const char *colon;

	if (!jit_begins(name, prefix))
		return false;
	name = jit_from(name, prefix.len);
	/* No qualified name has a colon, and a path may. */
	colon = memchr(name.at, ':', name.len);
	if (!colon || colon == name.at)
		return false;
	jit_set_function(out, FRAME_KIND_PYTHON, jit_until(name, colon));
	jit_set_file(out, jit_from(name, (size_t)(colon + 1 - name.at)));
	return true;
}

/* ---- V8 ----------------------------------------------------------------------------------- */

/* Takes ":123" off the end. */
static bool jit_take_number(struct jit_text *text, uint32_t *number)
{
	uint64_t value = 0, unit = 1;
	size_t len = text->len;

	while (len && text->at[len - 1] >= '0' && text->at[len - 1] <= '9' && unit < 10000000000) {
		value += unit * (uint64_t)(text->at[--len] - '0');
		unit *= 10;
	}
	if (len == text->len || len < 2 || text->at[len - 1] != ':' || value > UINT32_MAX)
		return false;
	text->len = len - 1;
	*number = (uint32_t)value;
	return true;
}

/*
 * Where the script begins in "FUNCTION SCRIPT". Functions ("get size") and paths may have spaces.
 * The beginning of a path or a URL tells it.
 */
static size_t jit_find_script(struct jit_text text)
{
	static const struct jit_text begins[] = {JIT_TEXTS(" /"),      JIT_TEXTS(" node:"),
						 JIT_TEXTS(" file:"),  JIT_TEXTS(" http:"),
						 JIT_TEXTS(" https:"), JIT_TEXTS(" wasm:")};
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < text.len; i++) {
		if (text.at[i] != ' ')
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(begins); k++) {
			if (jit_begins(jit_from(text, i), begins[k]))
				return i;
		}
		last = i;
	}
	return last;
}

/* "*tick leak.js:8:26"; the column is left out in old ones. */
static void jit_parse_script(struct jit_text text, struct jit_name *out)
{
	struct jit_text anonymous = JIT_TEXT(ANONYMOUS), file;
	uint32_t last = 0, line = 0;
	bool numbered;
	size_t space;

	if (text.len && memchr("*~^+-'", text.at[0], 6))
		text = jit_from(text, 1);
	space = jit_find_script(text);
	if (space == SIZE_MAX) {
		jit_set_function(out, FRAME_KIND_JAVASCRIPT, text.len ? text : anonymous);
		return;
	}
	jit_set_function(out, FRAME_KIND_JAVASCRIPT,
			 space ? jit_until(text, text.at + space) : anonymous);
	file = jit_from(text, space + 1);
	numbered = jit_take_number(&file, &last);
	if (numbered && !jit_take_number(&file, &line))
		line = last;
	jit_set_file(out, file);
	out->line = line;
}

static bool jit_parse_v8(struct jit_text name, struct jit_name *out)
{
	static const struct jit_text code[] = {JIT_TEXTS("JS:"), JIT_TEXTS("LazyCompile:"),
					       JIT_TEXTS("Function:"), JIT_TEXTS("Script:"),
					       JIT_TEXTS("Eval:")};
	static const struct jit_text own[] = {JIT_TEXTS("RegExp:"), JIT_TEXTS("Builtin:"),
					      JIT_TEXTS("BytecodeHandler:")};

	for (size_t i = 0; i < ARRAY_SIZE(code); i++) {
		struct jit_text rest;

		if (!jit_begins(name, code[i]))
			continue;
		rest = jit_from(name, code[i].len);
		/* Words that others may use: V8 always has its mark behind them. */
		if (i >= 2 && (!rest.len || !memchr("*~^+-'", rest.at[0], 6)))
			return false;
		jit_parse_script(rest, out);
		return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		if (jit_begins(name, own[i])) {
			jit_set_function(out, FRAME_KIND_JAVASCRIPT, name);
			return true;
		}
	}
	return false;
}

/* ---- HotSpot ------------------------------------------------------------------------------ */

/* Java's identifiers may have any letters: what is no punctuation but these. */
static bool jit_is_java_word(struct jit_text text)
{
	for (size_t i = 0; i < text.len; i++) {
		unsigned char c = (unsigned char)text.at[i];
		bool letter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';

		if (!letter && c < 0x80 && !(c >= '0' && c <= '9') && !strchr("._$<>[]/+-", c))
			return false;
	}
	return text.len != 0;
}

/* "int W$In.f(java.util.Map, int[])": the function is "W$In.f", as a stack trace of Java's has it. */
static bool jit_parse_external_name(struct jit_text name, struct jit_name *out)
{
	const char *space = memchr(name.at, ' ', name.len), *paren;
	struct jit_text method;

	if (!space || !jit_ends(name, JIT_TEXT(")")) || !jit_is_java_word(jit_until(name, space)))
		return false;
	method = jit_from(name, (size_t)(space + 1 - name.at));
	paren = memchr(method.at, '(', method.len);
	if (!paren)
		return false;
	method = jit_until(method, paren);
	if (!jit_is_java_word(method) || !memchr(method.at, '.', method.len))
		return false;
	jit_set_function(out, FRAME_KIND_JAVA, method);
	return true;
}

static bool jit_parse_java(struct jit_text name, struct jit_name *out)
{
	static const struct jit_text own[] = {JIT_TEXTS("Interpreter"),
					      JIT_TEXTS("I2C/C2I adapters")};
	const struct jit_text stubs = JIT_TEXT("StubRoutines (");
	const char *semicolon;

	for (size_t i = 0; i < ARRAY_SIZE(own); i++) {
		if (jit_is(name, own[i])) {
			jit_set_function(out, FRAME_KIND_JAVA, name);
			return true;
		}
	}
	if (jit_begins(name, stubs)) {
		jit_set_function(out, FRAME_KIND_JAVA, name);
		return true;
	}
	/* The descriptor of a class. */
	semicolon = memchr(name.at, ';', name.len);
	if (name.at[0] == 'L' && semicolon &&
	    jit_begins(jit_from(name, (size_t)(semicolon - name.at)), JIT_TEXT(";::")) &&
	    jit_is_java_word(jit_until(name, semicolon))) {
		jit_set_function(out, FRAME_KIND_JAVA, name);
		return true;
	}
	return jit_parse_external_name(name, out);
}

/* ---- .NET --------------------------------------------------------------------------------- */

static bool jit_parse_dotnet(struct jit_text name, struct jit_name *out)
{
	static const struct jit_text tiers[] = {
		JIT_TEXTS("[PreJIT]"),		 JIT_TEXTS("[MinOptJitted]"),
		JIT_TEXTS("[QuickJitted]"),	 JIT_TEXTS("[Optimized]"),
		JIT_TEXTS("[OptimizedTier1]"),	 JIT_TEXTS("[OptimizedTier1OSR]"),
		JIT_TEXTS("[InstrumentedTier]"), JIT_TEXTS("[InstrumentedTierOptimized]"),
		JIT_TEXTS("[Unknown]"),
	};

	for (size_t i = 0; i < ARRAY_SIZE(tiers); i++) {
		struct jit_text method = {name.at, name.len - tiers[i].len};

		if (!jit_ends(name, tiers[i]) || !memmem(method.at, method.len, "::", 2))
			continue;
		while (method.len && method.at[method.len - 1] == ' ')
			method.len--;
		jit_set_function(out, FRAME_KIND_DOTNET, method);
		return true;
	}
	return false;
}

struct jit_name jit_name_parse(const char *name, size_t len)
{
	const struct jit_text text = {name, len};
	struct jit_name out = {.kind = FRAME_KIND_JIT, .function = name, .function_len = len};

	if (len && !jit_parse_python(text, &out) && !jit_parse_v8(text, &out) &&
	    !jit_parse_dotnet(text, &out))
		jit_parse_java(text, &out);
	return out;
}
