// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/live_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <bpf/bpf.h>

/* Entries of one system call. A bucket's must fit. */
#define BATCH 16384

int live_table_reserve(struct live_table *table, uint64_t blocks)
{
	*table = (struct live_table){.room = (size_t)(blocks + blocks / 8 + 1024)};
	table->entries = malloc(table->room * sizeof(*table->entries));
	table->keys = malloc(BATCH * sizeof(*table->keys));
	table->values = malloc(BATCH * sizeof(*table->values));
	if (!table->entries || !table->keys || !table->values) {
		live_table_release(table);
		return -ENOMEM;
	}
	/* Not zeros: the compiler may turn that into calloc(), which touches nothing. */
	memset(table->entries, 0xff, table->room * sizeof(*table->entries));
	memset(table->keys, 0xff, BATCH * sizeof(*table->keys));
	memset(table->values, 0xff, BATCH * sizeof(*table->values));
	return 0;
}

void live_table_release(struct live_table *table)
{
	free(table->entries);
	free(table->keys);
	free(table->values);
	*table = (struct live_table){0};
}

int live_table_add(struct live_table *table, const struct live_entry *entry)
{
	if (table->count == table->room) {
		struct live_entry *grown =
			reallocarray(table->entries, 2 * table->room, sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		table->entries = grown;
		table->room *= 2;
	}
	table->entries[table->count++] = *entry;
	return 0;
}

int live_table_read(struct live_table *table, int map_fd, uint32_t target_id)
{
	LIBBPF_OPTS(bpf_map_batch_opts, opts);
	uint32_t batch = 0;
	bool more = false;
	int err;

	do {
		uint32_t count = BATCH;

		err = bpf_map_lookup_batch(map_fd, more ? &batch : NULL, &batch, table->keys,
					   table->values, &count, &opts);
		if (err && err != -ENOENT)
			return err;
		more = true;
		for (uint32_t i = 0; i < count; i++) {
			const struct live_entry entry = {table->keys[i].address, table->values[i]};

			if (table->keys[i].target_id == target_id && live_table_add(table, &entry))
				return -ENOMEM;
		}
	} while (!err);
	return 0;
}
