// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/inspection.h"

#include <stdlib.h>

#include "user/base/util.h"

const char *memory_part_name(enum memory_part part)
{
	static const char *const names[] = {
		[MEMORY_IN_USE] = "in_use",
		[MEMORY_SLACK] = "slack",
		[MEMORY_FREE] = "allocator_free",
		[MEMORY_BOOKS] = "allocator_books",
		[MEMORY_UNBELIEVED] = "unbelieved",
		[MEMORY_STACKS] = "stacks",
		[MEMORY_ANONYMOUS] = "other_anonymous",
		[MEMORY_FILE_PRIVATE] = "file_private",
		[MEMORY_REST] = "rest",
	};

	_Static_assert(ARRAY_SIZE(names) == MEMORY_PARTS, "a name for each part");
	return (unsigned)part < MEMORY_PARTS ? names[part] : "?";
}

const char *group_kind_name(enum group_kind kind)
{
	static const char *const names[] = {
		[GROUP_CLASS] = "class", [GROUP_PYTHON] = "python", [GROUP_TYPE] = "type",
		[GROUP_TEXT] = "text",	 [GROUP_SIZE] = "size",
	};

	_Static_assert(ARRAY_SIZE(names) == GROUP_KINDS, "a name for each kind");
	return (unsigned)kind < GROUP_KINDS ? names[kind] : "?";
}

void inspection_free(struct inspection *inspection)
{
	if (!inspection)
		return;
	for (size_t i = 0; i < inspection->mapping_count; i++) {
		free(inspection->mappings[i].name);
		free(inspection->mappings[i].held_by);
	}
	for (size_t i = 0; i < inspection->group_count; i++) {
		free(inspection->groups[i].name);
		free(inspection->groups[i].module);
		free(inspection->groups[i].held_by);
		free(inspection->groups[i].contents);
	}
	free(inspection->mappings);
	free(inspection->groups);
	free(inspection->losses);
	free(inspection->allocators);
	free(inspection->core);
	free((void *)inspection->cmdline);
	free(inspection);
}
