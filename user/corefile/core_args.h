/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The arguments of a core's program. Internal to user/corefile. */
#ifndef MEMLEAKBPF_COREFILE_CORE_ARGS_H
#define MEMLEAKBPF_COREFILE_CORE_ARGS_H

#include "user/corefile/core_parts.h"

/*
 * Reads the arguments as they are on the program's stack, where the kernel put them.
 * NULL-terminated, in one allocation, free(). NULL when they are not in the core, or out of memory.
 */
char **core_args_read(const struct core_notes *notes, const struct core_segments *segments);

#endif
