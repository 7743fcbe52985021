/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Recognises guard sampling's memory (user/guard) in a process, for those who read all of it. */
#ifndef MEMLEAKBPF_PROCESS_GUARD_MEMORY_H
#define MEMLEAKBPF_PROCESS_GUARD_MEMORY_H

#include <stdbool.h>
#include <string.h>

#include "user/process/maps.h"

/* The pool is a private mapping of a file in memory: its name, and its path in /proc/PID/maps. */
#define GUARD_POOL_NAME "memleakbpf-guard-pool"
#define GUARD_POOL_PATH "/memfd:" GUARD_POOL_NAME

/*
 * Is it the shared mapping of that file, which holds former contents of freed blocks? It is none of
 * the program's memory: its pointers keep no block reachable.
 */
static inline bool guard_memory_is_saved(const struct mapping *mapping)
{
	return mapping->shared && !strcmp(mapping->path, GUARD_POOL_PATH);
}

#endif
