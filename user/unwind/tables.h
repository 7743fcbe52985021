/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The unwind tables of objects in the word space: built once per object, and shared by all that map
 * it. Unused tables are kept for a while. Nobody maps them between a command's preparation and its
 * exec, nor between one child and the next. Private to user/unwind.
 */
#ifndef MEMLEAKBPF_UNWIND_TABLES_H
#define MEMLEAKBPF_UNWIND_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "user/base/hash.h"
#include "user/process/object.h"
#include "user/unwind/pages.h"
#include "user/unwind/publish.h"

/*
 * So many tables without users are kept; the oldest go first. Rows take about 5 bytes, and each
 * object has a descriptor open.
 */
#define TABLES_IDLE_OBJECTS 128
#define TABLES_IDLE_ROWS    4000000

/* One executable segment of an object, in the word space. */
struct table_segment {
	uint64_t offset, size; /* of the file */
	uint64_t delta;	       /* unwind_object_segment.delta */
	struct unwind_pages pages;
};

/* An object's tables. */
struct table_entry {
	uint64_t id; /* object_id(): the key */
	size_t refs; /* sets and holders that mention it */
	/* a reference, so that no other file gets its inode meanwhile */
	struct object *object;
	struct unwind_object_key key;
	bool announced; /* to put_object */
	struct table_segment *segments;
	size_t count, rows;
	struct table_entry *idle_before, *idle_after; /* while refs is 0 */
	UT_hash_handle hh;
};

struct unwind_tables;

/* `backend` and `space` must outlive the tables. NULL when out of memory. */
struct unwind_tables *unwind_tables_new(const struct unwind_backend *backend,
					struct unwind_space *space);
void unwind_tables_free(struct unwind_tables *tables); /* NULL is fine */

/*
 * Returns a new reference to an object's tables, and builds them if this is the first. An
 * unreadable object has no rows. 0, -ENOMEM, -ENOSPC or -E2BIG, not logged.
 */
int unwind_tables_get(struct unwind_tables *tables, struct object *object,
		      struct table_entry **out);
void unwind_tables_unref(struct unwind_tables *tables, struct table_entry *entry);

/*
 * Does space wait for the walks in progress to end? Once they have, unwind_tables_reclaim() frees
 * it.
 */
bool unwind_tables_leaving(const struct unwind_tables *tables);
void unwind_tables_reclaim(struct unwind_tables *tables);

/* Fills in objects, rows, rules and build_ns. */
void unwind_tables_stats(const struct unwind_tables *tables, struct unwind_publisher_stats *out);

#endif
