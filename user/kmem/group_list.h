/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the kernel has charged to control groups for memory of its own (cgroups(7)). */
#ifndef MEMLEAKBPF_KMEM_GROUP_LIST_H
#define MEMLEAKBPF_KMEM_GROUP_LIST_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define GROUPS_MAX 4096 /* groups with a line of their own; others are left out */

struct group {
	char *path;	/* from the hierarchy's root, which is "/" */
	uint64_t id;	/* the inode of its directory: what the programs call it */
	uint64_t bytes; /* without the groups below it */
};

struct group_list {
	struct group *items;
	size_t count, room;
	size_t left_out;
};

/*
 * Walks the memory controller's hierarchy. Replaces what is there. Without one the list is empty.
 * 0 or -ENOMEM.
 */
int group_list_read(struct group_list *list);
void group_list_free(struct group_list *list);

/* NULL: there is no such group. */
const struct group *group_list_find(const struct group_list *list, uint64_t id);

/* Of memory.stat (version 2), in bytes: for group_list_read() and tests. 0 where it has nothing. */
uint64_t group_stat_kernel(FILE *file);

/* The hierarchy of this directory; for tests. `version`: 1, 2. */
int group_list_walk(struct group_list *list, const char *root, int version);

#endif
