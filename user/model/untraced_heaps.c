// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/untraced_heaps.h"

#include "user/base/util.h"

static const struct {
	const char *name, *text;
} heaps[] = {
	[UNTRACED_JAVA] = {"java", "Java's own heap"},
	[UNTRACED_V8] = {"v8", "V8's own heap"},
	[UNTRACED_GO] = {"go", "Go's own heap"},
};
_Static_assert(ARRAY_SIZE(heaps) == UNTRACED_HEAPS, "a name for each");

const char *untraced_heap_text(enum untraced_heap kind)
{
	return heaps[kind].text;
}

const char *untraced_heap_name(enum untraced_heap kind)
{
	return heaps[kind].name;
}
