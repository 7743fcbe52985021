// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kmem/size_history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "user/analysis/trend_series.h"
#include "user/base/fnv.h"
#include "user/base/util.h"
#include "user/model/id_map.h"

struct size_entry {
	uint64_t key, first, look;
	struct trend_series *series; /* NULL: there was no memory, or no room */
};

struct size_history {
	struct size_entry *items;
	size_t count, room;
	struct id_map places; /* of items, by key */
	uint64_t time_ns, looks;
};

struct size_history *size_history_new(void)
{
	return calloc(1, sizeof(struct size_history));
}

void size_history_free(struct size_history *history)
{
	for (size_t i = 0; history && i < history->count; i++)
		trend_series_free(history->items[i].series);
	if (history) {
		free(history->items);
		id_map_free(&history->places);
	}
	free(history);
}

/* Without memory the map lacks some: they begin anew. */
static void size_history_sweep(struct size_history *history)
{
	size_t kept = 0;

	id_map_free(&history->places);
	for (size_t i = 0; i < history->count; i++) {
		struct size_entry *entry = &history->items[i];

		if (entry->look < history->looks ||
		    id_map_put(&history->places, entry->key, (uint32_t)kept)) {
			trend_series_free(entry->series);
			continue;
		}
		history->items[kept++] = *entry;
	}
	history->count = kept;
}

void size_history_look(struct size_history *history, uint64_t time_ns)
{
	if (history->count >= SIZE_HISTORY_MAX)
		size_history_sweep(history);
	history->time_ns = time_ns;
	history->looks++;
}

static struct size_entry *size_history_find(struct size_history *history, uint64_t key,
					    uint64_t bytes, bool from_zero)
{
	struct size_entry *entry;
	uint32_t place;

	if (id_map_get(&history->places, key, &place))
		return &history->items[place];
	if (!RESERVE_ITEM(history->items, history->count, history->room, 512) ||
	    id_map_put(&history->places, key, (uint32_t)history->count))
		return NULL;
	entry = &history->items[history->count++];
	*entry = (struct size_entry){.key = key, .first = bytes};
	if (from_zero && history->looks > 1)
		entry->first = 0;
	if (history->count <= SIZE_HISTORY_MAX)
		entry->series = trend_series_new();
	return entry;
}

int size_history_add(struct size_history *history, uint64_t key, uint64_t bytes,
		     uint64_t floor_bytes, bool from_zero, struct kernel_size *out)
{
	struct size_entry *entry = size_history_find(history, key, bytes, from_zero);
	int err;

	*out = (struct kernel_size){.bytes = bytes};
	if (!entry)
		return -ENOMEM;
	entry->look = history->looks;
	out->growth = (int64_t)(bytes - entry->first);
	if (!entry->series)
		return -ENOMEM;
	err = trend_add(entry->series, history->time_ns, bytes);
	trend_judge(entry->series, floor_bytes, &out->trend);
	return err;
}

uint64_t size_history_key(const char *kind, const char *name)
{
	return fnv1a(fnv1a(FNV1A_BASIS, kind, strlen(kind) + 1), name, strlen(name));
}
