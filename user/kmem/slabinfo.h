/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The caches of objects by /proc/slabinfo (slabinfo(5)), which only root may read. */
#ifndef MEMLEAKBPF_KMEM_SLABINFO_H
#define MEMLEAKBPF_KMEM_SLABINFO_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define SLABINFO_NAME 64

struct slabinfo_cache {
	char name[SLABINFO_NAME];
	/*
	 * Objects in use. Free objects of slabs that a CPU keeps for itself count as in use: by
	 * how many it may be wrong says slab_names_slack().
	 */
	uint64_t active;
	uint64_t object_bytes, objects_per_slab, pages_per_slab, slabs;
};

struct slabinfo {
	struct slabinfo_cache *caches;
	size_t count, room;
};

/* Replaces what is there. 0; -EINVAL: a version that we do not know; -ENOMEM. */
int slabinfo_parse(FILE *file, struct slabinfo *out);
void slabinfo_free(struct slabinfo *info);

#endif
