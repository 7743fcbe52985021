/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Where a process's executable code was mapped. Some formats want addresses: this list makes one of
 * a frame's place in its module.
 */
#ifndef MEMLEAKBPF_MODEL_MODULE_MAPS_H
#define MEMLEAKBPF_MODEL_MODULE_MAPS_H

#include <stddef.h>
#include <stdint.h>

struct module_map {
	uint64_t start, end; /* addresses */
	uint64_t offset;     /* bytes into the file */
	uint64_t vaddr;	     /* the module's link-time address of `start` */
	const char *path;
	const uint8_t *build_id; /* NULL: none */
	size_t build_id_len;
};

struct module_maps {
	size_t count;
	struct module_map items[]; /* by address */
};

/* Copies the list, strings included, into one block: free(). NULL when out of memory. */
struct module_maps *module_maps_new(const struct module_map *items, size_t count);

/*
 * Finds the map with that path that covers a link-time address; NULL: none. The build id must
 * agree, when both have one. `maps` may be NULL.
 */
const struct module_map *module_maps_find(const struct module_maps *maps, const char *path,
					  const uint8_t *build_id, size_t build_id_len,
					  uint64_t vaddr);

#endif
