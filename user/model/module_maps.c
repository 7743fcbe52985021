// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/module_maps.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct module_maps *module_maps_new(const struct module_map *items, size_t count)
{
	size_t bytes = sizeof(struct module_maps) + count * sizeof(*items);
	struct module_maps *maps;
	char *at;

	for (size_t i = 0; i < count; i++)
		bytes += strlen(items[i].path) + 1 + items[i].build_id_len;
	maps = malloc(bytes);
	if (!maps)
		return NULL;
	maps->count = count;
	at = (char *)&maps->items[count];
	for (size_t i = 0; i < count; i++) {
		struct module_map *map = &maps->items[i];

		*map = items[i];
		map->path = at;
		at = stpcpy(at, items[i].path) + 1;
		if (!map->build_id)
			continue;
		map->build_id = (const uint8_t *)at;
		memcpy(at, items[i].build_id, map->build_id_len);
		at += map->build_id_len;
	}
	return maps;
}

const struct module_map *module_maps_find(const struct module_maps *maps, const char *path,
					  const uint8_t *build_id, size_t build_id_len,
					  uint64_t vaddr)
{
	for (size_t i = 0; maps && path && i < maps->count; i++) {
		const struct module_map *map = &maps->items[i];

		if (vaddr < map->vaddr || vaddr - map->vaddr >= map->end - map->start ||
		    strcmp(map->path, path))
			continue;
		if (!build_id || !map->build_id ||
		    (build_id_len == map->build_id_len &&
		     !memcmp(build_id, map->build_id, build_id_len)))
			return map;
	}
	return NULL;
}
