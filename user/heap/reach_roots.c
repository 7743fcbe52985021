// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "user/base/util.h"
#include "user/heap/reach_internal.h"
#include "user/heap/walker.h"

bool reach_may_be_heap(const struct heap_image *image, const struct memory_region *region)
{
	const struct mapping *m = region->mapping;

	/* Variables are none, but [heap] may lie right behind them. */
	return !image->all_known && m && m->write && !m->ino &&
	       !memory_image_has_stack(image->memory, m) &&
	       (!walker_is_data(image, region) || !strcmp(m->path, "[heap]"));
}

/* The C library, or what loads programs. */
static bool reach_is_library(const struct heap_image *image, const struct mapping *m)
{
	static const char *const names[] = {"libc.so", "libc-", "libc.musl-", "ld-linux",
					    "ld-musl"};
	const struct mapping *file = m;
	const char *name;

	if (!m->ino && m->start)
		file = maps_find(image->memory->maps, m->start - 1);
	if (!file || !file->ino)
		return false;
	name = strrchr(file->path, '/');
	name = name ? name + 1 : file->path;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	}
	return false;
}

enum reach_root reach_root_of(const struct heap_image *image, const struct memory_region *region)
{
	const struct mapping *m = region->mapping;

	if (m && memory_image_has_stack(image->memory, m))
		return REACH_STACK;
	if (!m || m->shared || !(m->ino || walker_is_data(image, region)))
		return REACH_MEMORY;
	return reach_is_library(image, m) ? REACH_LIBRARY : REACH_DATA;
}
