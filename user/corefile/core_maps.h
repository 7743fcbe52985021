/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The mappings of a core's process, as /proc/PID/maps would show them. Internal to user/corefile. */
#ifndef MEMLEAKBPF_COREFILE_CORE_MAPS_H
#define MEMLEAKBPF_COREFILE_CORE_MAPS_H

#include "user/corefile/core_parts.h"
#include "user/process/maps.h"

/*
 * 0 and *out, or -ENOMEM. Files have the device and inode of the same file here, else numbers of
 * their own. A core has no names: they are inferred ([heap], [stack], guards of stacks, shared
 * memory).
 */
int core_maps_new(const struct core_notes *notes, const struct core_segments *segments,
		  struct maps **out);

#endif
