/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where a process's memory is. Internal to user/inspect. */
#ifndef MEMLEAKBPF_INSPECT_MEMORY_PARTS_H
#define MEMLEAKBPF_INSPECT_MEMORY_PARTS_H

#include "user/heap/heap_image.h"
#include "user/inspect/inspect_source.h"
#include "user/model/inspection.h"

/*
 * Fills in the parts, the allocators and the mappings that none of them has. The image has been walked,
 * with an inventory that knows what it covers of each region. 0 or -ENOMEM.
 */
int memory_parts_find(const struct heap_image *image, const struct inspect_source *source,
		      struct inspection *out);

#endif
