// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/model/id_map.h"

#include <errno.h>
#include <stdlib.h>

#define FIRST_ROOM 8 /* files may claim any number of targets, which have some each */

void id_map_free(struct id_map *map)
{
	free(map->entries);
	*map = (struct id_map){0};
}

/* Finds the key's entry, or the free one where it belongs. There is always a free one. */
static struct id_map_entry *id_map_place_of(const struct id_map *map, uint64_t key)
{
	size_t i = (size_t)id_map_mix(key) & (map->room - 1);

	while (map->entries[i].used && map->entries[i].key != key)
		i = (i + 1) & (map->room - 1);
	return &map->entries[i];
}

bool id_map_get(const struct id_map *map, uint64_t key, uint32_t *value)
{
	const struct id_map_entry *entry;

	if (!map->count)
		return false;
	entry = id_map_place_of(map, key);
	if (entry->used)
		*value = entry->value;
	return entry->used;
}

static int id_map_grow(struct id_map *map)
{
	struct id_map larger = {.count = map->count,
				.room = map->room ? 2 * map->room : FIRST_ROOM};

	larger.entries = calloc(larger.room, sizeof(*larger.entries));
	if (!larger.entries)
		return -ENOMEM;
	for (size_t i = 0; i < map->room; i++) {
		if (map->entries[i].used)
			*id_map_place_of(&larger, map->entries[i].key) = map->entries[i];
	}
	free(map->entries);
	*map = larger;
	return 0;
}

int id_map_put(struct id_map *map, uint64_t key, uint32_t value)
{
	struct id_map_entry *entry;

	/* At most two thirds full. */
	if (map->count * 3 >= map->room * 2 && id_map_grow(map))
		return -ENOMEM;
	entry = id_map_place_of(map, key);
	map->count += !entry->used;
	*entry = (struct id_map_entry){key, value, true};
	return 0;
}
