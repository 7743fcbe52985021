/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Who asked for the blocks of a process that is traced. Internal to user/inspect. */
#ifndef MEMLEAKBPF_INSPECT_ORIGINS_H
#define MEMLEAKBPF_INSPECT_ORIGINS_H

#include "user/base/packed.h"
#include "user/heap/reach.h"
#include "user/inspect/inspect.h"

/*
 * Fills in the origins of the groups and of the losses, which have been found. `group_of`: by block. 0 or
 * -ENOMEM.
 */
int origins_find(const struct heap_image *image, const struct reach *reach,
		 const struct packed *group_of, const struct inspect_traced *traced,
		 struct inspection *out);

#endif
