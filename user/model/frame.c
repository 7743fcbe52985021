// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/frame.h"

#include <stdio.h>
#include <string.h>

#include "user/base/util.h"

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
		if (!strncmp(text, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

bool frame_is_operator_new(const struct frame *frame)
{
	static const char *const functions[] = {"operator new"};

	return frame_begins(frame->function, functions, ARRAY_SIZE(functions));
}

/* On the way to very many allocations: its name says nothing of this one. */
static bool frame_is_library(const struct frame *frame)
{
	static const char *const functions[] = {"std::", "__gnu_cxx::", "void std::"};
	static const char *const modules[] = {"libc.so", "libc-", "libstdc++.so", "libc++", "ld-"};

	return frame->kind == FRAME_KIND_NATIVE &&
	       (frame_begins(frame->function, functions, ARRAY_SIZE(functions)) ||
		frame_begins(frame->module, modules, ARRAY_SIZE(modules)));
}

size_t frames_allocating(const struct frame *const *frames, size_t count, enum allocating which)
{
	for (size_t i = 1; frames && i < count; i++) {
		const struct frame *frame = frames[i];

		if (!frame->function || (which >= ALLOCATING_NEW && frame_is_operator_new(frame)) ||
		    (which >= ALLOCATING_PROGRAM && frame_is_library(frame)))
			continue;
		return i;
	}
	return 0;
}
