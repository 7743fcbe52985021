/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What /sys/kernel/slab says of caches. The kernel merges caches of one size: each name is a link
 * then, and links to one directory are one cache.
 */
#ifndef MEMLEAKBPF_KMEM_SLAB_NAMES_H
#define MEMLEAKBPF_KMEM_SLAB_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SLAB_NAMES_DIRECTORY "/sys/kernel/slab"

struct slab_names;

struct slab_name {
	char *name, *target; /* target: the name of the directory */
	/* of all names of its cache */
	const char **aliases;
	size_t alias_count;
	bool reclaimable;	     /* the kernel takes its memory back when memory is short */
	uint64_t cpu_partial, sheaf; /* objects that each CPU may keep for itself; 0: none */
};

/* NULL when out of memory. Without the directory no name is known. */
struct slab_names *slab_names_read(const char *directory);
void slab_names_free(struct slab_names *names); /* NULL is fine */

/* NULL: nothing is known of it. */
const struct slab_name *slab_names_find(const struct slab_names *names, const char *name);

/*
 * By how many objects the kernel's count of those in use may be too high: what `cpus` processors,
 * and the node, keep for themselves.
 */
uint64_t slab_name_slack(const struct slab_name *name, uint64_t objects_per_slab, unsigned cpus);

#endif
