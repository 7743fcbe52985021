/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Blocks that are alike. Internal to user/inspect. */
#ifndef MEMLEAKBPF_INSPECT_GROUPS_H
#define MEMLEAKBPF_INSPECT_GROUPS_H

#include "user/heap/reach.h"
#include "user/model/inspection.h"

/*
 * Fills in the groups, in no order, and which group each block is in: *group_of, which the caller
 * frees. 0 or -ENOMEM.
 */
int groups_find(const struct heap_image *image, const struct reach *reach, struct inspection *out,
		uint32_t **group_of);

#endif
