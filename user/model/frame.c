// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/frame.h"

#include <stdio.h>
#include <string.h>

#include "user/base/util.h"
#include "user/model/function_name.h"

const char *frame_kind_name(enum frame_kind kind)
{
	static const char *const names[] = {
		[FRAME_KIND_NATIVE] = "native", [FRAME_KIND_JIT] = "jit",
		[FRAME_KIND_PYTHON] = "python", [FRAME_KIND_JAVASCRIPT] = "javascript",
		[FRAME_KIND_JAVA] = "java",	[FRAME_KIND_GO] = "go",
		[FRAME_KIND_RUBY] = "ruby",	[FRAME_KIND_PHP] = "php",
		[FRAME_KIND_PERL] = "perl",	[FRAME_KIND_DOTNET] = "dotnet",
		[FRAME_KIND_ARENA] = "arena",
	};

	_Static_assert(ARRAY_SIZE(names) == FRAME_KINDS, "a name for every kind");
	return names[kind];
}

bool frame_in_object(const struct frame *frame)
{
	return frame->kind == FRAME_KIND_NATIVE || frame->kind == FRAME_KIND_GO;
}

bool frame_is_code(const struct frame *frame)
{
	return frame_in_object(frame) || frame->module_offset;
}

struct frame frame_managed(enum frame_kind kind, const char *function, const char *file,
			   uint32_t line)
{
	/* Node's own scripts are in no file. */
	bool path = file && strncmp(file, "node:", 5) != 0;
	const char *slash = path ? strrchr(file, '/') : NULL;

	return (struct frame){
		.kind = kind,
		.function = function,
		.module = slash && slash[1] ? slash + 1 : file,
		.module_path = file,
		.file = file,
		.line = file ? line : 0,
	};
}

char *frame_where(const struct frame *frame, char buf[static FRAME_WHERE_MAX])
{
	const char *kind = frame_kind_name(frame->kind);

	if (frame->kind == FRAME_KIND_NATIVE)
		snprintf(buf, FRAME_WHERE_MAX, "%s", frame->module ?: "");
	else if (frame_in_object(frame) && frame->module)
		snprintf(buf, FRAME_WHERE_MAX, "%.4095s, %s", frame->module, kind);
	else
		snprintf(buf, FRAME_WHERE_MAX, "%s", kind);
	return buf;
}

char *frame_runtime(const struct frame *frame, char buf[static FRAME_RUNTIME_MAX])
{
	if (frame_in_object(frame))
		return NULL;
	snprintf(buf, FRAME_RUNTIME_MAX, "[%s]", frame_kind_name(frame->kind));
	return buf;
}

static bool frame_begins(const char *text, const char *const *prefixes, size_t count)
{
	for (size_t i = 0; text && i < count; i++) {
		if (*text == *prefixes[i] && !strncmp(text, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

bool frame_is_operator_new(const struct frame *frame)
{
	static const char *const functions[] = {"operator new"};

	return frame_begins(frame->function, functions, ARRAY_SIZE(functions));
}

/* "_R…" (RFC 2603), or "…17h<16 hex digits>E" before, with what a compiler puts behind (".llvm.7"). */
static bool frame_is_rust_symbol(const char *symbol)
{
	const char *hash = symbol;

	if (!strncmp(symbol, "_R", 2))
		return true;
	while ((hash = strstr(hash, "17h")) != NULL) {
		hash += 3;
		if (strspn(hash, "0123456789abcdef") == 16 && hash[16] == 'E' &&
		    (!hash[17] || hash[17] == '.'))
			return true;
	}
	return false;
}

/* An inlined call has no mangled name. Debug information names it, and has the file as well. */
static bool frame_is_rust(const struct frame *frame)
{
	size_t len = frame->file ? strlen(frame->file) : 0;

	return (frame->symbol && frame_is_rust_symbol(frame->symbol)) ||
	       (len > 3 && !strcmp(frame->file + len - 3, ".rs"));
}

/*
 * Finds, in "<Type as Trait>::f" from "Type" on, where the trait begins; NULL: "<Type>::f". *len:
 * the type's length.
 */
static const char *frame_rust_trait(const char *type, size_t *len)
{
	static const char as[] = " as ";
	int depth = 1;

	for (*len = 0; type[*len]; ++*len) {
		const char *at = type + *len;

		if (depth == 1 && !strncmp(at, as, strlen(as)))
			return at + strlen(as);
		depth += *at == '<';
		/* The '>' of "fn() -> T" is no bracket. */
		depth -= *at == '>' && (!*len || at[-1] != '-');
		if (!depth)
			break;
	}
	return NULL;
}

/*
 * A function belongs to its type's crate. If no crate defines the type (T, u8, [T], a tuple), it
 * belongs to its trait's crate; without a trait it is the libraries' own.
 */
static bool frame_rust_name_is_library(const char *name)
{
	static const char *const crates[] = {"alloc::", "core::", "std::", "hashbrown::"};
	static const char *const references[] = {"&", "*", "mut ", "const ", "dyn "};

	while (*name == '<') {
		size_t len;
		const char *trait = frame_rust_trait(++name, &len);
		bool of_crate = *name != '[' && *name != '(' && memmem(name, len, "::", 2);

		for (size_t i = 0; of_crate && i < ARRAY_SIZE(references); i++) {
			if (!strncmp(name, references[i], strlen(references[i])))
				name += strlen(references[i]);
		}
		if (of_crate)
			continue;
		if (!trait)
			return true;
		name = trait;
	}
	return frame_begins(name, crates, ARRAY_SIZE(crates));
}

/*
 * Is it in Rust's own libraries, with which every program is linked: "alloc::vec",
 * "<alloc::vec::Vec<T> as"?
 */
static bool frame_is_rust_library(const struct frame *frame)
{
	static const char *const functions[] = {"__rust_", "__rdl_", "__rg_"};

	if (frame_begins(frame->function, functions, ARRAY_SIZE(functions)))
		return true;
	return frame->function && frame_is_rust(frame) &&
	       frame_rust_name_is_library(frame->function);
}

bool frame_is_library(const struct frame *frame)
{
	static const char *const functions[] = {"std::", "__gnu_cxx::", "__cxxabiv1::", "_start",
						"__libc_start"};
	static const char *const modules[] = {"libc.so", "libc-", "libstdc++.so", "libc++", "ld-"};
	const char *name = frame->function;

	if (frame->kind != FRAME_KIND_NATIVE)
		return false;
	return frame_begins(name ? name + function_name_scope(name) : NULL, functions,
			    ARRAY_SIZE(functions)) ||
	       frame_begins(frame->module, modules, ARRAY_SIZE(modules)) ||
	       frame_is_rust_library(frame);
}

bool frame_is_wrapper(const struct frame *frame)
{
	static const char *const words[] = {"malloc", "calloc",	  "realloc", "zalloc",	"palloc",
					    "talloc", "memalign", "strdup",  "strndup", "memdup"};
	const char *name = frame->function, *last;
	size_t len;

	if (!name || frame->kind != FRAME_KIND_NATIVE)
		return false;
	name += function_name_scope(name);
	len = function_name_length(name);
	/* The name itself, without its class. */
	last = memrchr(name, ':', len);
	len -= last ? (size_t)(last + 1 - name) : 0;
	name = last ? last + 1 : name;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const char *found = strcasestr(name, words[i]);

		if (found && found < name + len)
			return true;
	}
	return false;
}

size_t frames_allocating(const struct frame *const *frames, size_t count, enum allocating which)
{
	for (size_t i = 1; frames && i < count; i++) {
		const struct frame *frame = frames[i];

		if (!frame->function || (which == ALLOCATING_PROGRAM &&
					 (frame_is_operator_new(frame) || frame_is_library(frame))))
			continue;
		return i;
	}
	return 0;
}
