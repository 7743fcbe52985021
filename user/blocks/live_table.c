// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/blocks/live_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <bpf/bpf.h>

#include "user/base/util.h"

/* Entries of one system call. A bucket's must fit. */
#define BATCH 16384

/*
 * The process that holds the target does not get this memory: the kernel would copy each shared page
 * when it is filled.
 */
static void *live_table_map(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		return NULL;
	madvise(memory, size, MADV_DONTFORK);
	/* Touched before the target is stopped. */
	memset(memory, 0xff, size);
	return memory;
}

static size_t live_table_size(size_t room)
{
	return room * sizeof(struct live_entry);
}

int live_table_reserve(struct live_table *table, uint64_t blocks)
{
	*table = (struct live_table){.room = (size_t)(blocks + blocks / 8 + 1024)};
	table->entries = live_table_map(live_table_size(table->room));
	table->keys = live_table_map(BATCH * sizeof(*table->keys));
	table->values = live_table_map(BATCH * sizeof(*table->values));
	if (table->entries && table->keys && table->values)
		return 0;
	live_table_release(table);
	return -ENOMEM;
}

void live_table_release(struct live_table *table)
{
	if (table->entries)
		munmap(table->entries, live_table_size(table->room));
	if (table->keys)
		munmap(table->keys, BATCH * sizeof(*table->keys));
	if (table->values)
		munmap(table->values, BATCH * sizeof(*table->values));
	*table = (struct live_table){0};
}

int live_table_add(struct live_table *table, const struct live_entry *entry)
{
	if (table->count == table->room) {
		void *grown = mremap(table->entries, live_table_size(table->room),
				     live_table_size(2 * table->room), MREMAP_MAYMOVE);

		if (grown == MAP_FAILED)
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

/* ---- back to a moment --------------------------------------------------------------------- */

static bool live_notes_is_later(const struct live_notes *notes, const struct live_entry *entry)
{
	return (int32_t)(entry->value.time - notes->ticks) > 0;
}

void live_notes_add(struct live_notes *notes, const struct live_entry *entry)
{
	if (live_notes_is_later(notes, entry))
		return;
	if (!RESERVE_ITEM(notes->entries, notes->count, notes->room, 4096)) {
		notes->failed = true;
		return;
	}
	notes->entries[notes->count++] = *entry;
}

void live_notes_release(struct live_notes *notes)
{
	free(notes->entries);
	*notes = (struct live_notes){0};
}

static int live_notes_by_address(const void *a, const void *b)
{
	const struct live_entry *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static void live_notes_sort(struct live_notes *notes)
{
	size_t kept = 0;

	if (notes->count)
		qsort(notes->entries, notes->count, sizeof(*notes->entries), live_notes_by_address);
	for (size_t i = 0; i < notes->count; i++) {
		if (!kept || notes->entries[kept - 1].address != notes->entries[i].address)
			notes->entries[kept++] = notes->entries[i];
	}
	notes->count = kept;
}

static bool live_notes_have(const struct live_notes *notes, const struct live_entry *entry)
{
	return notes->count && bsearch(entry, notes->entries, notes->count, sizeof(*notes->entries),
				       live_notes_by_address);
}

int live_table_turn_back(struct live_table *table, struct live_notes *notes)
{
	size_t kept = 0;

	if (notes->failed)
		return -ENOMEM;
	live_notes_sort(notes);
	/* A block is in both when it was read before it was freed, or while it was resized. */
	for (size_t i = 0; i < table->count; i++) {
		const struct live_entry entry = table->entries[i];

		if (!live_notes_is_later(notes, &entry) && !live_notes_have(notes, &entry))
			table->entries[kept++] = entry;
	}
	table->count = kept;
	for (size_t i = 0; i < notes->count; i++) {
		if (live_table_add(table, &notes->entries[i]))
			return -ENOMEM;
	}
	return 0;
}
