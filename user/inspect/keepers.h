/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who keeps the free memory: what is free in a unit that the allocator can give back only whole is charged to the blocks
 * in that unit, in equal parts. docs/inspect.md has the rules. Internal to user/inspect.
 */
#ifndef MEMLEAKBPF_INSPECT_KEEPERS_H
#define MEMLEAKBPF_INSPECT_KEEPERS_H

#include "user/heap/heap_image.h"
#include "user/inspect/hanging.h"
#include "user/inspect/inspect.h"
#include "user/model/inspection.h"

/*
 * Fills in the keepers, and what the allocators have that is kept. The inventory, which has the units, is that of the
 * allocators in `out`. `traced`: NULL, nobody has watched it; else by stack, too, but not of samples. 0 or -ENOMEM.
 */
int keepers_find(const struct heap_image *image, const struct inventory *inventory,
		 struct hanging_kinds *kinds, const struct inspect_traced *traced,
		 struct inspection *out);

/* What would give memory back, once the keepers are known. 0 or -ENOMEM. */
int helps_find(const struct inventory *inventory, struct inspection *out);

#endif
