// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/trace/spawn.h"

#include <stdlib.h>

#include "user/base/hash.h"
#include "user/base/util.h"

struct spawn {
	pid_t pid;
	uint32_t parent;
	uint64_t time_ns;
	bool settled;
	struct image *image; /* NULL: no exec yet */
	UT_hash_handle hh;
};

struct spawn_table {
	struct spawn *spawns;
};

struct spawn_table *spawn_table_new(void)
{
	return calloc(1, sizeof(struct spawn_table));
}

static struct spawn *spawn_find(const struct spawn_table *table, pid_t pid)
{
	struct spawn *spawn;

	HASH_FIND(hh, table->spawns, &pid, sizeof(pid), spawn);
	return spawn;
}

void spawn_table_add(struct spawn_table *table, pid_t pid, uint32_t parent, uint64_t time_ns)
{
	struct spawn *spawn;

	/* A pid that is used again: the exit of the process before was lost. */
	image_free(spawn_table_take(table, pid));
	spawn = calloc(1, sizeof(*spawn));
	if (!spawn)
		return;
	spawn->pid = pid;
	spawn->parent = parent;
	spawn->time_ns = time_ns;
	HASH_ADD(hh, table->spawns, pid, sizeof(spawn->pid), spawn);
	if (!spawn->hh.tbl)
		free(spawn);
}

uint32_t spawn_table_parent(const struct spawn_table *table, pid_t pid)
{
	const struct spawn *spawn = spawn_find(table, pid);

	return spawn ? spawn->parent : 0;
}

pid_t spawn_table_unsettled(const struct spawn_table *table, uint64_t since_ns)
{
	const struct spawn *spawn;

	for (spawn = table->spawns; spawn; spawn = spawn->hh.next) {
		if (!spawn->settled && !spawn->image && spawn->time_ns <= since_ns)
			return spawn->pid;
	}
	return 0;
}

void spawn_table_postpone(struct spawn_table *table, pid_t pid, uint64_t time_ns)
{
	struct spawn *spawn = spawn_find(table, pid);

	if (spawn)
		spawn->time_ns = time_ns;
}

void spawn_table_settle(struct spawn_table *table, pid_t pid)
{
	struct spawn *spawn = spawn_find(table, pid);

	if (spawn)
		spawn->settled = true;
}

pid_t spawn_table_of(const struct spawn_table *table, uint32_t parent)
{
	const struct spawn *spawn;

	for (spawn = table->spawns; spawn; spawn = spawn->hh.next) {
		if (spawn->parent == parent)
			return spawn->pid;
	}
	return 0;
}

bool spawn_table_is_unsettled(const struct spawn_table *table, pid_t pid)
{
	const struct spawn *spawn = spawn_find(table, pid);

	return spawn && !spawn->image && !spawn->settled;
}

bool spawn_table_shares(const struct spawn_table *table, pid_t pid)
{
	const struct spawn *spawn = spawn_find(table, pid);

	return spawn && !spawn->image;
}

bool spawn_table_has(const struct spawn_table *table, pid_t pid)
{
	return spawn_find(table, pid);
}

void spawn_table_map(struct spawn_table *table, struct object_cache *objects,
		     const struct mapwatch_record *record)
{
	struct spawn *spawn = spawn_find(table, record->pid);

	if (!spawn)
		return;
	if (record->exec) {
		image_free(spawn->image);
		spawn->image = image_new_empty(record->pid, objects);
	} else if (spawn->image) {
		image_add(spawn->image, &record->mapping);
	}
}

struct image *spawn_table_take(struct spawn_table *table, pid_t pid)
{
	struct spawn *spawn = spawn_find(table, pid);
	struct image *image;

	if (!spawn)
		return NULL;
	image = spawn->image;
	HASH_DEL(table->spawns, spawn);
	free(spawn);
	return image;
}

void spawn_table_free(struct spawn_table *table)
{
	struct spawn *spawn, *next;

	if (!table)
		return;
	HASH_ITER (hh, table->spawns, spawn, next)
		image_free(spawn_table_take(table, spawn->pid));
	free(table);
}
