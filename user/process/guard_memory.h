/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What guard sampling (user/guard) has in a process, for who reads all of its memory. */
#ifndef MEMLEAKBPF_PROCESS_GUARD_MEMORY_H
#define MEMLEAKBPF_PROCESS_GUARD_MEMORY_H

#include <stdbool.h>
#include <string.h>

#include "user/process/maps.h"

/* The file in memory that the pool is a private mapping of, and as /proc/PID/maps shows it. */
#define GUARD_POOL_NAME "memleakbpf-guard-pool"
#define GUARD_POOL_PATH "/memfd:" GUARD_POOL_NAME

/*
 * The shared mapping of that file: what freed blocks have been. It is none of the program's memory,
 * and what it points to may be lost all the same.
 */
static inline bool guard_memory_is_saved(const struct mapping *mapping)
{
	return mapping->shared && !strcmp(mapping->path, GUARD_POOL_PATH);
}

#endif
