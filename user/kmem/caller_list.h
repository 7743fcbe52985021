/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory by who allocates it, as the kernel itself counts. /proc/vmallocinfo has areas by function.
 * /proc/allocinfo has all of it by line, where the kernel was built for that (Linux 6.10,
 * CONFIG_MEM_ALLOC_PROFILING).
 */
#ifndef MEMLEAKBPF_KMEM_CALLER_LIST_H
#define MEMLEAKBPF_KMEM_CALLER_LIST_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct caller {
	char function[128];
	char module[64]; /* "": the kernel itself */
	char file[128];	 /* "": unknown */
	unsigned line;
	uint64_t blocks, bytes;
};

struct caller_list {
	struct caller *items;
	size_t count, room;
};

/*
 * Areas that are backed by pages of their own, by function; areas of devices' memory and of pages
 * that others own are left out. `page_bytes`: of a page. Replaces what is there. 0 or -ENOMEM.
 */
int caller_list_areas(FILE *file, uint64_t page_bytes, struct caller_list *out);

/* Lines of source that have anything. 0; -EINVAL: a version that we do not know; -ENOMEM. */
int caller_list_sites(FILE *file, struct caller_list *out);

void caller_list_free(struct caller_list *list);

#endif
