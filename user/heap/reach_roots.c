// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

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

enum reach_root reach_root_of(const struct heap_image *image, const struct memory_region *region)
{
	const struct mapping *m = region->mapping;

	if (m && memory_image_has_stack(image->memory, m))
		return REACH_STACK;
	return m && !m->shared && (m->ino || walker_is_data(image, region)) ? REACH_DATA
									    : REACH_MEMORY;
}
