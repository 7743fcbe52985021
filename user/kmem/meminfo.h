/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The kernel's own memory by /proc/meminfo (proc(5)). */
#ifndef MEMLEAKBPF_KMEM_MEMINFO_H
#define MEMLEAKBPF_KMEM_MEMINFO_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum meminfo_pool {
	MEMINFO_SLAB_UNRECLAIMABLE,
	MEMINFO_SLAB_RECLAIMABLE,
	MEMINFO_VMALLOC, /* with VMAP_STACK the kernel stacks are in it */
	MEMINFO_PERCPU,
	MEMINFO_KERNEL_STACKS,
	MEMINFO_PAGE_TABLES,
	MEMINFO_SECONDARY_PAGE_TABLES,
	MEMINFO_BOUNCE,
	/* in no line: pages that drivers and others have allocated for themselves */
	MEMINFO_UNNAMED,
	MEMINFO_POOLS,
};

struct meminfo {
	uint64_t bytes[MEMINFO_POOLS];
	bool known[MEMINFO_POOLS]; /* this kernel has the line */
};

/* 0; -EINVAL: it is no such file. */
int meminfo_parse(FILE *file, struct meminfo *out);

const char *meminfo_name(enum meminfo_pool pool);  /* for programs */
const char *meminfo_title(enum meminfo_pool pool); /* for people */

#endif
