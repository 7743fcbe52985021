/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A core's memory as an image. Internal to user/corefile. */
#ifndef MEMLEAKBPF_COREFILE_CORE_IMAGE_H
#define MEMLEAKBPF_COREFILE_CORE_IMAGE_H

#include "user/corefile/core_parts.h"
#include "user/process/memory_image.h"

/* Fills in regions and data of an image that has its maps. Returns as core_file_take_memory(). */
int core_image_fill(struct memory_image *image, const struct core_notes *notes,
		    const struct core_segments *segments, struct core_facts *facts,
		    char reason[static REASON_MAX]);

#endif
