// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/inspect/inspect_source.h"

#include <stdlib.h>

void inspect_source_release(struct inspect_source *source)
{
	memory_image_free(source->memory);
	free(source->cmdline);
	free(source->core);
	core_file_free(source->core_file);
	if (!source->objects_lent)
		object_cache_free(source->objects);
	*source = (struct inspect_source){0};
}
