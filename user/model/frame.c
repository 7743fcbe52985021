// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/frame.h"

#include <string.h>

#include "user/base/util.h"

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

	return frame_begins(frame->function, functions, ARRAY_SIZE(functions)) ||
	       frame_begins(frame->module, modules, ARRAY_SIZE(modules));
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
