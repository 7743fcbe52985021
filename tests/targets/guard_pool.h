/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What guard sampling has mapped into this process, as the process itself sees it. */
#ifndef MEMLEAKBPF_TESTS_GUARD_POOL_H
#define MEMLEAKBPF_TESTS_GUARD_POOL_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "user/guard/guard_layout.h"

#define POOL_MAPPING "/memfd:memleakbpf-guard-pool "
#define CODE_MAPPING "/memfd:memleakbpf-guard "

/* Where the first mapping of that name begins, and where it ends; 0: there is none. Allocates. */
static inline uintptr_t mapping_of(const char *name, uintptr_t *end)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long start, to, found = 0;
	char line[512];

	while (maps && !found && fgets(line, sizeof(line), maps)) {
		if (strstr(line, name) && sscanf(line, "%lx-%lx", &start, &to) == 2) {
			found = start;
			*end = to;
		}
	}
	if (maps)
		fclose(maps);
	return found;
}

#endif
